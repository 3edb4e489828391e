"""Storage: nested values in one file that cannot execute anything.

Enters: records (dataclasses), arrays, numbers, texts and tuples, with a schema that says what is what. Leaves: a
safetensors file, and the same values again. Nothing is pickled: what a file can bring to life is what the schema lists.

The way through: ``schema`` turns values into a JSON document and named arrays, and back; ``container`` puts both into a
safetensors file with a format version and checksums. On reading, the whole document and the types and shapes of all
arrays are held against the schema before the first array is made.
"""

from treemend.storage.branches import Fields, OneOf, Optional, Record, Series
from treemend.storage.container import Stored, read, write
from treemend.storage.leaves import Array, Integers, Number, Plain, Text
from treemend.storage.schema import Schema, checked, encoded

__all__ = [
    "Array",
    "Fields",
    "Integers",
    "Number",
    "OneOf",
    "Optional",
    "Plain",
    "Record",
    "Schema",
    "Series",
    "Stored",
    "Text",
    "checked",
    "encoded",
    "read",
    "write",
]
