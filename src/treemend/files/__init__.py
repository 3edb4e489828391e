"""Files of rows: tables on disk, read in batches, and written so that what was not repaired stays as it was.

Enters: paths (CSV, TSV, Parquet, Feather, NPY, NPZ by their ending; ``-`` is CSV on standard input or output). Leaves:
`Batch`es of numbers with the rows as they stood in the file; and files in which only repaired cells differ.

The way through: ``kinds`` tells what a path is; ``text``, ``arrow`` and ``arrays`` each read one family and write any;
``tables`` makes one table of several files and chooses columns. No file is ever held as a whole.
"""

from treemend.files.batches import Batch, Rows, Source, Writer
from treemend.files.kinds import Kind, kind_of
from treemend.files.tables import FileTable, any_matches, choose_columns, files_of, open_table
from treemend.files.writing import open_writer

__all__ = [
    "Batch",
    "FileTable",
    "Kind",
    "Rows",
    "Source",
    "Writer",
    "any_matches",
    "choose_columns",
    "files_of",
    "kind_of",
    "open_table",
    "open_writer",
]
