"""Refinement: what the tree search cannot see, and where exactly it is (method, section 10).

Enters: clean reference rows and suspect rows on [0, 1] scales, attributes in layout order. Leaves: for each row the
evidence of four explanations of its most suspicious stretch (`EXPLANATIONS`: broad noise, a stretch of another row, a
common shift, values that stand still), a verdict with a promised rate, and the stretch with its borders refined.

The search asks whether a stretch looks unusual by itself; here every stretch is judged *given the rest of its row*. The
way through: ``coordinates`` describes rows, ``mixture`` says what clean ones look like, ``windows`` which stretches
are weighed, ``scan`` and ``frozen`` weigh them, ``context`` holds it together and weighs the reference rows honestly,
``evidence`` sets the threshold, ``stretches`` draws what was found.
"""

from treemend.refinement.context import (
    EXPLANATIONS,
    CleanEvidence,
    Context,
    Weighed,
    learn_context,
    row_densities,
    weigh,
)
from treemend.refinement.evidence import Tails, conformal_threshold, learn_tails
from treemend.refinement.stretches import find_stretches

__all__ = [
    "EXPLANATIONS",
    "CleanEvidence",
    "Context",
    "Tails",
    "Weighed",
    "conformal_threshold",
    "find_stretches",
    "learn_context",
    "learn_tails",
    "row_densities",
    "weigh",
]
