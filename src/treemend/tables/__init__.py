"""The door: tables of any kind come in, plain float arrays go on, repaired tables of the same kind come out.

Enters: NumPy arrays, nested lists, pandas, polars or pyarrow tables. Leaves: a `Table` (float64 values, checked, the
caller's object untouched) and, at the end, `Table.rebuilt`. Nothing behind this room knows what a data frame is.
"""

from treemend.tables.checks import check_finite, check_not_infinite, check_range, describe_cells
from treemend.tables.columns import columns_difference
from treemend.tables.reading import Table, attributes_only, read_table
from treemend.tables.scaling import Scaling, learn_scaling

__all__ = [
    "Scaling",
    "Table",
    "attributes_only",
    "check_finite",
    "check_not_infinite",
    "check_range",
    "columns_difference",
    "describe_cells",
    "learn_scaling",
    "read_table",
]
