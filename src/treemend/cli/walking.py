"""The walk over a table: every batch is judged, written, and gathered for the summary.

Enters: a table in files, a `Judge`, open outputs. Leaves: rows in the outputs, and the summary of all of them, which is
the report's: counts, the map, and the worst rows by file and line, in memory that does not grow with the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, overload

import numpy as np

from treemend.cli.learning import Judge
from treemend.cli.talking import Talk
from treemend.files import Batch, FileTable, Writer, open_writer
from treemend.files.arrays import ArrayRows
from treemend.report import Findings, Gathering

__all__ = ["Targets", "walk"]


@dataclass(frozen=True)
class Targets:
    """What is to be written."""

    output: str | None = None
    mask: str | None = None
    summary: str | None = None
    report: str | None = None
    force: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """All outputs, the repaired rows first."""
        return tuple(path for path in (self.output, self.mask, self.summary, self.report) if path)


def walk(
    table: FileTable,
    chosen: tuple[int, ...],
    judge: Judge,
    targets: Targets,
    files: dict[str, BinaryIO],
    delimiter: str | None,
    talk: Talk,
) -> dict[str, Any]:
    """Send all batches through the judge and on into the files, and return the report's summary."""
    names = tuple(table.names[column] for column in chosen) if table.named else judge.names
    repaired, masks = _writers(table, chosen, targets, files, delimiter)
    in_detail = bool(targets.summary or targets.report)
    gathering = Gathering(repaired=targets.output is not None)
    n_rows = 0
    doing = "mending" if targets.output else "checking"
    with talk.progress(f"{doing} {table.label}") as tell:
        for batch, share in table.batches(chosen):
            no_rows = len(batch.values) == 0
            found = (
                _nothing(judge, names) if no_rows else judge.judge(batch.values, n_rows).findings(in_detail=in_detail)
            )
            if repaired:
                repaired.write(batch.rows, chosen, found.after, found.mask | found.only_missing)
            if masks:
                nothing = np.zeros((len(found.mask), 0))
                masks.write(ArrayRows(found.mask), (), nothing, nothing.astype(bool))
            if no_rows:
                continue
            gathering.add(replace(found, names=names, row_ids=_Places(batch)))
            n_rows += len(found.mask)
            tell(share, n_rows)
    for writer in (repaired, masks):
        if writer:
            writer.close()
    if n_rows == 0:
        gathering.add(_nothing(judge, names))
    return gathering.summary()


def _writers(
    table: FileTable,
    chosen: tuple[int, ...],
    targets: Targets,
    files: dict[str, BinaryIO],
    delimiter: str | None,
) -> tuple[Writer | None, Writer | None]:
    """Return writers for the repaired rows and for the mask, where these are asked for."""
    repaired = masks = None
    if targets.output:
        repaired = open_writer(
            targets.output,
            files[targets.output],
            table.names,
            named=table.named,
            like=table.sources[0],
            delimiter=delimiter,
        )
    if targets.mask:
        names = tuple(table.names[column] for column in chosen)
        masks = open_writer(targets.mask, files[targets.mask], names, named=table.named, delimiter=delimiter)
    return repaired, masks


def _nothing(judge: Judge, names: tuple[str, ...] | None) -> Findings:
    """Return what is found in a table without rows."""
    none = np.empty((0, judge.mender.n_features_in_))
    return Findings(before=none, after=none, mask=none.astype(bool), tree=judge.mender.tree_, names=names)


class _Places(Sequence[str]):
    """Where the rows of a batch stand, by file and line, told only of those that are asked for."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return len(self._batch.values)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self._batch.place(index) for index in range(*row.indices(len(self)))]
        return self._batch.place(int(row))
