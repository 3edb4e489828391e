"""Learning: a judge of rows, from a model file, from clean rows, or from the suspect table itself.

Enters: tables in files, parameters. Leaves: a `Judge`. Reference rows are held in memory; where a limit is given, a
random sample of them.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.cli.talking import Talk
from treemend.exceptions import ColumnsError, InputError
from treemend.files import FileTable
from treemend.mender import Mended, TreeMender
from treemend.tables import columns_difference, read_table

__all__ = ["Judge", "Judged", "OwnRows", "from_table_itself", "learnt", "model_columns", "read_reference"]

OWN_REFERENCE_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Judged:
    """What was found in rows: repaired values and the mask, both rows x columns looked at."""

    filled: NDArray[np.float64]
    mask: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of the suspect table that are its reference too: each was judged by the others."""

    rows: NDArray[np.int64]
    judged: Judged


@dataclass(frozen=True, eq=False)
class Judge:
    """A mender, the names under which it knows columns, and rows that it must not judge itself."""

    mender: TreeMender
    names: tuple[str, ...] | None
    own: OwnRows | None = field(default=None)

    def judge(self, values: NDArray[np.float64], first: int) -> Judged:
        """Judge rows, of which the first is row ``first`` of the table."""
        judged = _as_arrays(self.mender.mend(named_rows(values, self.names)))
        if self.own is None:
            return judged
        begin, end = np.searchsorted(self.own.rows, [first, first + len(values)])
        places = self.own.rows[begin:end] - first
        judged.filled[places] = self.own.judged.filled[begin:end]
        judged.mask[places] = self.own.judged.mask[begin:end]
        return judged


def learnt(
    parameters: dict[str, Any], values: NDArray[np.float64], names: tuple[str, ...] | None, talk: Talk
) -> TreeMender:
    """Fit a mender to reference rows; what it warns of is said."""
    with _said(talk):
        return TreeMender(**parameters).fit(named_rows(values, names))


@contextmanager
def _said(talk: Talk) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        talk.say(f"note: {warning.message}")


def from_table_itself(
    parameters: dict[str, Any],
    values: NDArray[np.float64],
    rows: NDArray[np.int64],
    names: tuple[str, ...] | None,
    talk: Talk,
) -> Judge:
    """Take rows of the suspect table as the reference, each judged by the others."""
    given: dict[str, Any] = {"clean_reference": True, "incomplete_reference": "drop"} | parameters
    with _said(talk):
        mender = TreeMender(**given)
        mended = mender.fit_mend(named_rows(values, names))
    return Judge(mender, names, OwnRows(rows, _as_arrays(mended)))


def read_reference(
    table: FileTable, chosen: tuple[int, ...], limit: int | None, talk: Talk
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read reference rows, or a random sample of at most ``limit`` of them, in the order of the table.

    Returns
    -------
    values : ndarray, rows x chosen columns
    rows : ndarray of int
        Which rows of the table these are.
    """
    rng = np.random.default_rng(0)
    kept: list[NDArray[np.float64]] = []
    places = np.empty(0, dtype=np.int64)
    sample = np.empty((0, len(chosen)))
    n_rows = 0
    with talk.progress(f"reading {table.label}") as tell:
        for batch, share in table.batches(chosen):
            ranks = np.arange(n_rows, n_rows + len(batch.values))
            if limit is None:
                kept.append(batch.values)
                places = np.concatenate([places, ranks])
            else:
                sample, places = _sampled(sample, places, batch.values, ranks, limit, rng)
            n_rows += len(batch.values)
            tell(share, n_rows)
    if n_rows == 0:
        raise InputError(f"{table.label} has no rows. Give a table with rows.")
    if limit is None:
        return np.concatenate(kept), places
    if n_rows > limit:
        talk.say(f"{table.label}: a random {limit} of {n_rows} rows serve as the reference")
    order = np.argsort(places)
    return sample[order], places[order]


def model_columns(mender: TreeMender, table: FileTable, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return where the model's columns stand in a table, in the order of the model."""
    expected = getattr(mender, "feature_names_in_", None)
    if expected is not None and table.named:
        place = {name: position for position, name in enumerate(table.names)}
        missing = [name for name in expected if name not in place]
        if missing:
            difference = columns_difference(missing, []).replace("\n", "; ")
            raise ColumnsError(f"{table.label} does not have the columns of the model: {difference}.")
        return tuple(place[name] for name in expected)
    chosen = wanted if wanted is not None else tuple(range(len(table.names)))
    if len(chosen) != mender.n_features_in_:
        raise ColumnsError(
            f"{table.label}: {len(chosen)} columns are to be looked at, and the model was learnt from "
            f"{mender.n_features_in_}. Choose with --columns."
        )
    return chosen


def named_rows(values: NDArray[np.float64], names: tuple[str, ...] | None) -> Any:
    """Return rows as a table with column names, or as an array where there are none."""
    if names is None:
        return values
    import pyarrow

    return pyarrow.table(dict(zip(names, np.ascontiguousarray(values.T), strict=True)))


def _as_arrays(mended: Mended) -> Judged:
    return Judged(read_table(mended.repaired).values, read_table(mended.mask).values.astype(bool))


def _sampled(
    sample: NDArray[np.float64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    ranks: NDArray[np.int64],
    limit: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Go on with a sample in which every row so far is equally likely."""
    free = max(0, limit - len(sample))
    sample = np.concatenate([sample, values[:free]])
    places = np.concatenate([places, ranks[:free]])
    seats = rng.integers(0, ranks[free:] + 1)
    for late in np.flatnonzero(seats < limit):
        sample[seats[late]] = values[free + late]
        places[seats[late]] = ranks[free + late]
    return sample, places
