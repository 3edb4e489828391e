"""The reference rows, wherever they are kept, and every question that may be asked of them.

Enters: clean rows. Leaves: a `Reference`. All stages after this one ask it, and none of them knows whether the rows lie
in this process (`HeldReference`) or in several places (`ShardedReference`). ``questions`` says what can be asked,
``held`` answers from memory, ``shard`` for a stretch of the rows, ``sharded`` merges the answers of all; ``missing``
measures rows with holes, ``unit`` takes rows to the scales of the context.
"""

from treemend.reference.held import HeldReference, HeldRows
from treemend.reference.questions import Means, Reference, Rows
from treemend.reference.shard import RawShard
from treemend.reference.sharded import Crew, ShardedReference, ShardedRows
from treemend.reference.unit import UnitLayout

__all__ = [
    "Crew",
    "HeldReference",
    "HeldRows",
    "Means",
    "RawShard",
    "Reference",
    "Rows",
    "ShardedReference",
    "ShardedRows",
    "UnitLayout",
]
