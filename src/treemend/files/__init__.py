"""Tables in files: read in batches, and written so that what was not replaced stays as it was.

::

    paths -- formats -- csv (lines), arrow, npy -- Batch -- values to look at, rows as they stood
                                                     |
    path  -- formats -- writers ------- write(batch, filled, mask)

``table`` makes one table of several files, chooses columns by ``recognition`` and opens writers. Everything but NPZ is
read and written in batches; the same table can be read more than once, and untouched bytes of text files stay.
"""

from treemend.files.batch import Batch
from treemend.files.formats import STANDARD_STREAM, ReadOptions, format_of
from treemend.files.recognition import Column
from treemend.files.table import (
    ColumnChoice,
    FileTable,
    Writer,
    any_matches,
    choose_columns,
    files_of,
    match_columns,
    open_table,
    open_writer,
)

__all__ = [
    "STANDARD_STREAM",
    "Batch",
    "Column",
    "ColumnChoice",
    "FileTable",
    "ReadOptions",
    "Writer",
    "any_matches",
    "choose_columns",
    "files_of",
    "format_of",
    "match_columns",
    "open_table",
    "open_writer",
]
