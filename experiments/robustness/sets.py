"""The sets of the proof: where their rows are, how their columns lie, and which were set aside.

The sets of `HELD_OUT` were set aside before `Mender` was written; the earlier package was measured on them, and a
prototype of the method on some (Digit1 and Glass at least), so that they are not quite unseen. The usual run leaves
them out, ``--held-out`` runs only them, once, at the end.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.recording import Row, do_all
from experiments.robustness.settings import Settings

__all__ = ["HELD_OUT", "SUBJECTS", "Subject", "load_labels", "load_rows", "measure_sets", "obtainable"]
__all__ += ["read_arrays"]

HELD_OUT = ("bci", "twonorm", "g241n", "digit1", "glass", "nab_nyc_taxi")
"""Names of files in the data folder."""


@dataclass(frozen=True)
class Subject:
    """A set as it is judged.

    Attributes
    ----------
    name, title : str
    file : str
        Name of the set in the data folder, or "digits", which scikit-learn bundles.
    grid : tuple of int, optional
        Height and width, for images that lose squares and not stretches.
    most_reference : int
        Largest number of reference rows.
    splits : int
        How often rows are drawn. Single rows rule the mean of a set where a kind changes next to nothing in them, so
        every set has several, and those with few test rows more.
    """

    name: str
    title: str
    file: str
    grid: tuple[int, int] | None = None
    most_reference: int = 1000
    splits: int = 3


# The place of a set in this list is part of the seed of its splits: new sets are added at the end.
SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("digits", "Digits, stretches", "digits"),
        Subject("digits_squares", "Digits, squares", "digits", (8, 8)),
        Subject("image", "Image", "image"),
        Subject("svmguide3", "Svmguide3", "svmguide3"),
        Subject("wdbc", "Breast cancer", "wdbc"),
        Subject("spambase", "Spam", "spambase"),
        Subject("sonar", "Sonar", "sonar", splits=5),
        Subject("bci", "BCI", "bci"),
        Subject("digit1", "Digit1", "digit1"),
        Subject("g241c", "G241c", "g241c"),
        Subject("tecator", "Tecator", "tecator", splits=5),
        Subject("gas_drift", "Gas drift", "gas_drift"),
        Subject("ringnorm", "Ringnorm", "ringnorm"),
        Subject("twonorm", "Twonorm", "twonorm"),
        Subject("usps01", "USPS 0-1, squares", "usps01", (16, 16), 1500),
        Subject("g241n", "G241n", "g241n"),
        Subject("glass", "Glass spectra", "glass", splits=5),
        Subject("nab_nyc_taxi", "Taxi days", "nab_nyc_taxi", splits=5),
        Subject("nab_machine", "Machine temperature days", "nab_machine_temperature_system_failure", splits=5),
    )
}
STRETCHES = tuple(name for name, subject in SUBJECTS.items() if not subject.grid and name != "nab_machine")
"""Sets whose rows are sequences; machine temperature has too few days to promise anything."""


def load_rows(subject: Subject, folder: Path) -> NDArray[np.float64]:
    """Return the rows of a set that are taken for clean, or raise `experiments.datasets.MissingDataError`.

    Spectra taken after the detector was cleaned, and days with a labelled anomaly, are left out.
    """
    if subject.file == "digits":
        from sklearn.datasets import load_digits

        return np.asarray(load_digits().data, dtype=np.float64)
    if subject.file in datasets.TITLES:
        return datasets.load(subject.file, folder).X
    arrays = read_arrays(subject.file, folder)
    rows = np.asarray(arrays["X"], dtype=np.float64)
    if subject.file == "glass":
        return rows[np.asarray(arrays["y"]) == 0]
    if "mask" in arrays:
        return rows[~np.asarray(arrays["mask"], dtype=bool).any(axis=1)]
    return rows


def load_labels(subject: Subject, folder: Path) -> NDArray[np.int64]:
    """Return the classes of the rows of a set that has any."""
    if subject.file == "digits":
        from sklearn.datasets import load_digits

        return np.asarray(load_digits().target)
    return datasets.load(subject.file, folder).y


def measure_sets(
    question: str,
    settings: Settings,
    names: Iterable[str],
    piece: Callable[..., Iterable[Row]],
    splits: int | None = None,
) -> None:
    """Do a piece of work for each set that can be had, and for each split if there are any; leave the rows as CSV."""
    found = obtainable(("digits",) if settings.quick else names, settings)
    pieces = {name: partial(piece, name, settings) for name in found}
    if splits is not None:
        chosen = settings.splits(splits)
        pieces = {f"{name} {split}": partial(piece, name, split, settings) for name in found for split in chosen}
    do_all(question, settings, pieces)


def obtainable(names: Iterable[str], settings: Settings) -> list[str]:
    """Return the names of `SUBJECTS` to run: held-out ones or the others; say on stderr which cannot be had."""
    found = []
    for name in names:
        if (SUBJECTS[name].file in HELD_OUT) != settings.held_out or (settings.sets and name not in settings.sets):
            continue
        try:
            load_rows(SUBJECTS[name], settings.data)
        except datasets.MissingDataError as missing:
            print(missing, file=sys.stderr)
        else:
            found.append(name)
    return found


def read_arrays(file: str, folder: Path) -> dict[str, NDArray[np.generic]]:
    """Return all arrays of a file of the data folder."""
    path = folder / f"{file}.npz"
    if not path.exists():
        raise datasets.MissingDataError(
            f"{file} is missing: there is no {path.name} in the data folder. Save it as {path.name} with an array X "
            "(rows x attributes), and name its folder by --data or TREEMEND_DATA."
        )
    with np.load(path) as arrays:
        return dict(arrays)
