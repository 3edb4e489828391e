"""Imputation: what most likely stood in a gap, and how sure that is (method, sections 6 and 10).

Enters: suspect rows, their gaps, the reference. Leaves: values, their spread, draws. ``donors`` does it the published
way and its kin, with single donors or their mean; ``reconstruction`` is the default; ``filling`` is the one way in.
"""

from treemend.imputation.filling import DONORS, IMPUTATIONS, Filled, Filler, fill
from treemend.imputation.reconstruction import Reconstruction, learn_reconstruction

__all__ = ["DONORS", "IMPUTATIONS", "Filled", "Filler", "Reconstruction", "fill", "learn_reconstruction"]
