"""The reference rows, wherever they are kept, and every question that may be asked of them.

Enters: clean rows. Leaves: a `Reference`. All stages after this one ask it, and none of them knows whether the rows lie
in this process (`HeldReference`) or elsewhere. ``questions`` says what can be asked, ``held`` answers from memory,
``missing`` measures rows with holes, ``unit`` takes rows to the scales of the context.
"""

from treemend.reference.held import HeldReference, HeldRows
from treemend.reference.missing import observed_distances
from treemend.reference.questions import Reference, Rows
from treemend.reference.unit import UnitLayout

__all__ = ["HeldReference", "HeldRows", "Reference", "Rows", "UnitLayout", "observed_distances"]
