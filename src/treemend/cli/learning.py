"""Learning: a judge of rows, from a model file, from clean rows, or from the suspect table itself.

Enters: tables in files, parameters. Leaves: a `Judge`. Reference rows are held in memory; where a limit is given, a
random sample of them. Rows with missing values are no reference rows: they are refused, or left out.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.cli.talking import Talk
from treemend.exceptions import ColumnsError, InputError
from treemend.files import FileTable
from treemend.mender import Mended, TreeMender
from treemend.mender.one_table import OWN_REFERENCE, mend_among
from treemend.progress import silenced
from treemend.report.plain import counted
from treemend.tables import columns_difference

__all__ = ["Judge", "from_table_itself", "learnt", "model_columns", "names_of", "read_reference"]

OWN_REFERENCE_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Judge:
    """Who judges rows.

    Attributes
    ----------
    mender : TreeMender
    names : tuple of str or None
        The names under which it knows columns.
    own : ndarray of int or None
        Rows of the suspect table that are the mender's reference too, in its order: each is judged by the others.
    """

    mender: TreeMender
    names: tuple[str, ...] | None
    own: NDArray[np.int64] | None = None

    def judge(self, values: NDArray[np.float64], first: int) -> Mended:
        """Judge rows, of which the first is row ``first`` of the table."""
        rows = named_rows(values, self.names)
        # The command line's own bar tells how far the whole table is.
        with silenced():
            if self.own is None:
                return self.mender.mend(rows)
            begin, end = np.searchsorted(self.own, [first, first + len(values)])
            places = np.full(len(values), -1)
            places[self.own[begin:end] - first] = np.arange(begin, end)
            return mend_among(self.mender, rows, places)


def learnt(
    parameters: dict[str, Any], values: NDArray[np.float64], names: tuple[str, ...] | None, talk: Talk
) -> TreeMender:
    """Fit a mender to reference rows; what it warns of is said."""
    with _said(talk), silenced(talk.quiet):
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
    """Take rows of the suspect table as the reference, as `treemend.mend` does: corrupted ones are set aside."""
    mender = learnt(OWN_REFERENCE | parameters, values, names, talk)
    if len(mender.set_aside_):
        aside = counted(len(mender.set_aside_), "reference row")
        talk.say(f"set aside, since they look overwritten: {aside} of {len(rows):,}")
    return Judge(mender, names, np.delete(rows, mender.set_aside_))


def read_reference(
    table: FileTable, chosen: tuple[int, ...], limit: int | None, talk: Talk, *, drop_incomplete: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read reference rows, or a random sample of at most ``limit`` of them, in the order of the table.

    Rows with missing values are left out with ``drop_incomplete``, and an `InputError` without.

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
    names = tuple(table.names[column] for column in chosen)
    n_rows = n_complete = 0
    with talk.progress(f"reading {table.label}") as tell:
        for batch, share in table.batches(chosen):
            if not drop_incomplete:
                batch.check_complete(names)
            complete = np.flatnonzero(~np.isnan(batch.values).any(axis=1))
            values, ranks = batch.values[complete], n_rows + complete
            if limit is None:
                kept.append(values)
                places = np.concatenate([places, ranks])
            else:
                sample, places = _sampled(sample, places, values, ranks, n_complete, limit, rng)
            n_rows += len(batch.values)
            n_complete += len(values)
            tell(share, n_rows)
    if n_complete == 0:
        without = " without missing values" if n_rows else ""
        raise InputError(f"{table.label} has no rows{without}. Give a table with such rows.")
    if n_complete < n_rows:
        talk.say(
            f"{table.label}: left out of the reference, since values are missing: {counted(n_rows - n_complete, 'row')}"
        )
    if limit is None:
        return np.concatenate(kept), places
    if n_complete > limit:
        talk.say(f"{table.label}: a random {limit:,} of {n_complete:,} rows serve as the reference")
    order = np.argsort(places)
    return sample[order], places[order]


def model_columns(mender: TreeMender, table: FileTable, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return where the model's columns stand in a table, in the order of the model."""
    expected = getattr(mender, "feature_names_in_", None)
    if expected is not None and table.named:
        place = {name: position for position, name in enumerate(table.names)}
        missing = [name for name in expected if name not in place]
        if missing:
            names = columns_difference(missing, []).removeprefix("- missing: ")
            raise ColumnsError(
                f"{table.label} does not have all columns of the model; missing: {names}. Rename its columns, or fit a "
                "model to rows of its kind."
            )
        return tuple(place[name] for name in expected)
    chosen = wanted if wanted is not None else tuple(range(len(table.names)))
    if len(chosen) != mender.n_features_in_:
        raise ColumnsError(
            f"{table.label}: {len(chosen)} columns are to be looked at, and the model was learnt from "
            f"{mender.n_features_in_}. Choose with --columns."
        )
    return chosen


def names_of(mender: TreeMender) -> tuple[str, ...] | None:
    """Return the names under which a mender knows columns, if it does."""
    names = getattr(mender, "feature_names_in_", None)
    return None if names is None else tuple(names)


def named_rows(values: NDArray[np.float64], names: tuple[str, ...] | None) -> Any:
    """Return rows as a table with column names, or as an array where there are none."""
    if names is None:
        return values
    import pyarrow

    return pyarrow.table(dict(zip(names, np.ascontiguousarray(values.T), strict=True)))


def _sampled(
    sample: NDArray[np.float64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    ranks: NDArray[np.int64],
    n_before: int,
    limit: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Go on with a sample in which every row so far, of which there were ``n_before``, is equally likely."""
    free = max(0, limit - len(sample))
    sample = np.concatenate([sample, values[:free]])
    places = np.concatenate([places, ranks[:free]])
    seats = rng.integers(0, n_before + np.arange(free, len(values)) + 1)
    for late in np.flatnonzero(seats < limit):
        sample[seats[late]] = values[free + late]
        places[seats[late]] = ranks[free + late]
    return sample, places
