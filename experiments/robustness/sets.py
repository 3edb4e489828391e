"""The sets of the proof, and how their attributes lie.

Enters: a name and the data folder. Leaves: the rows; `experiments.robustness.cases` scales them.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments import datasets

__all__ = ["SUBJECTS", "Subject", "load_rows", "obtainable", "read_arrays"]


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
    )
}


def load_rows(subject: Subject, folder: Path) -> NDArray[np.float64]:
    """Return all rows of a set, or raise `experiments.datasets.MissingDataError`."""
    if subject.file == "digits":
        from sklearn.datasets import load_digits

        return np.asarray(load_digits().data, dtype=np.float64)
    if subject.file in datasets.TITLES:
        return datasets.load(subject.file, folder).X
    return np.asarray(read_arrays(subject.file, folder)["X"], dtype=np.float64)


def obtainable(names: Iterable[str], folder: Path) -> list[str]:
    """Return the names of `SUBJECTS` that can be had, and say on stderr which cannot."""
    found = []
    for name in names:
        try:
            load_rows(SUBJECTS[name], folder)
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
