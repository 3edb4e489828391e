"""The sets of the paper: found in a data folder, bundled with scikit-learn, or generated.

Enters: the name of a set and a folder. Leaves: a `Dataset` with every attribute scaled to [0, 1]. A set that can be had
in none of the three ways raises `MissingDataError`, which says where it can be had; nothing is ever downloaded.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TABLE_1_SETS",
    "TITLES",
    "Dataset",
    "MissingDataError",
    "available",
    "data_folder",
    "load",
    "without_repeated_rows",
]

TITLES = {
    "image": "Image",
    "ringnorm": "Ringnorm",
    "twonorm": "Twonorm",
    "svmguide3": "Svmguide3",
    "wdbc": "Breast cancer",
    "spambase": "Spam",
    "sonar": "Sonar",
    "bci": "BCI",
    "digit1": "Digit1",
    "g241c": "G241c",
    "g241n": "G241n",
    "usps01": "USPS 0-1",
}

TABLE_1_SETS = tuple(name for name in TITLES if name != "usps01")

_BENCHMARK = "the benchmark page of the book Semi-Supervised Learning (Chapelle, Schoelkopf, Zien; MIT Press 2006)"
_WHERE = {
    "image": "UCI image segmentation (OpenML: segment), cut into two classes as in Raetsch's benchmark collection",
    "svmguide3": "the LIBSVM data page, svmguide3 followed by svmguide3.t (OpenML: svmguide3)",
    "spambase": "UCI (OpenML: spambase)",
    "sonar": "UCI (OpenML: sonar)",
    "bci": _BENCHMARK,
    "digit1": _BENCHMARK,
    "g241c": _BENCHMARK,
    "g241n": _BENCHMARK,
    "usps01": "zip.train and zip.test of The Elements of Statistical Learning (OpenML: USPS), digits 0 and 1 only",
}
_GENERATED_ROWS = 7400


class MissingDataError(FileNotFoundError):
    """A set is neither in the data folder nor bundled nor generated."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A set of two classes: attributes in [0, 1], labels -1 and +1, and where it came from."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    origin: str

    @property
    def title(self) -> str:
        """The name as the paper writes it."""
        return TITLES[self.name]


def data_folder(given: str | Path | None = None) -> Path:
    """Return the folder given, or the one in ``TREEMEND_DATA``, or ``../shared/data`` beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(given or os.environ.get("TREEMEND_DATA") or beside)


def available(name: str, folder: Path) -> bool:
    """Tell whether a set can be had without a download."""
    return (folder / f"{name}.npz").exists() or name in _SUBSTITUTES


def load(name: str, folder: Path) -> Dataset:
    """Return a set, or raise `MissingDataError` with a message that says from where it can be had.

    Parameters
    ----------
    name : str
        One of the keys of `TITLES`.
    folder : Path
        Where ``<name>.npz`` with arrays ``X`` and ``y`` is looked for first.
    """
    path = folder / f"{name}.npz"
    if path.exists():
        with np.load(path) as arrays:
            return _dataset(name, arrays["X"], arrays["y"], "data folder")
    if name in _SUBSTITUTES:
        return _SUBSTITUTES[name]()
    raise MissingDataError(
        f"{TITLES[name]} is missing: there is no {path.name} in the data folder, and it is neither bundled with "
        f"scikit-learn nor generated. It can be had from {_WHERE[name]}. Save it as {path.name} with arrays X (rows x "
        "attributes) and y (two labels), and name its folder by --data or TREEMEND_DATA."
    )


def without_repeated_rows(dataset: Dataset) -> Dataset:
    """Return the set with every row once, in the order of first appearance."""
    rows = np.column_stack([dataset.X, dataset.y])
    _, first = np.unique(rows, axis=0, return_index=True)
    kept = np.sort(first)
    return Dataset(dataset.name, dataset.X[kept], dataset.y[kept], dataset.origin)


def _dataset(name: str, X: NDArray[np.floating], y: NDArray[np.generic], origin: str) -> Dataset:
    values = np.asarray(X, dtype=np.float64)
    lowest = values.min(axis=0)
    width = np.ptp(values, axis=0)
    scaled = (values - lowest) / np.where(width > 0, width, 1.0)
    return Dataset(name, scaled, np.where(np.asarray(y) == np.max(y), 1, -1), origin)


def _breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return _dataset("wdbc", X, y, "bundled with scikit-learn")


def _ringnorm() -> Dataset:
    """Breiman's ringnorm: a wide Gaussian around the origin, and a unit one beside it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, _GENERATED_ROWS)
    normal = rng.normal(size=(_GENERATED_ROWS, 20))
    X = np.where(y[:, None] == 0, 2 * normal, normal + 2 / np.sqrt(20))
    return _dataset("ringnorm", X, y, "generated")


def _twonorm() -> Dataset:
    """Breiman's twonorm: two unit Gaussians at opposite points."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, _GENERATED_ROWS)
    X = rng.normal(size=(_GENERATED_ROWS, 20)) + np.where(y[:, None] == 0, -1, 1) * 2 / np.sqrt(20)
    return _dataset("twonorm", X, y, "generated")


_SUBSTITUTES: dict[str, Callable[[], Dataset]] = {
    "wdbc": _breast_cancer,
    "ringnorm": _ringnorm,
    "twonorm": _twonorm,
}
