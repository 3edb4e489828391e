"""Writers by the ending of a path.

Enters: a path, an open binary file, and the table whose rows will come. Leaves: a `Writer`.
"""

from pathlib import Path
from typing import BinaryIO

from treemend.files.batches import Source, Writer
from treemend.files.kinds import kind_of

__all__ = ["open_writer"]

_MEMBER = "rows"


def open_writer(
    path: str,
    file: BinaryIO,
    names: tuple[str, ...],
    *,
    named: bool = True,
    like: Source | None = None,
    delimiter: str | None = None,
) -> Writer:
    """Return a writer for a file of the kind that the path says.

    Parameters
    ----------
    path : str
        The final path; ``-`` is CSV.
    file : binary file
        Where the bytes go; closing it is up to the caller.
    names : tuple of str
        Columns.
    named : bool
        Whether the columns have names; otherwise texts get no header.
    like : Source, optional
        The file whose header, types and metadata are kept, where the kinds agree.
    delimiter : str, optional
        Between the cells of texts, if it is not the usual one.
    """
    kind = kind_of(path, delimiter)
    if kind.family == "text":
        from treemend.files.text_reading import TextSource
        from treemend.files.text_writing import TextWriter

        header = like.header_line if isinstance(like, TextSource) and like.delimiter == kind.delimiter else None
        return TextWriter(file, names if named else None, kind.delimiter, header)
    if kind.family in ("parquet", "feather"):
        from treemend.files.arrow import ArrowSource, ArrowWriter

        return ArrowWriter(file, kind.family, names, like.schema if isinstance(like, ArrowSource) else None)
    from treemend.files.arrays import NpyWriter, NpzWriter

    if kind.family == "npy":
        return NpyWriter(file)
    return NpzWriter(file, Path(path).absolute().parent, _MEMBER)
