"""A reference that is not all clean."""

from treemend.mender.pipeline import fit_model as fit_contaminated

__all__ = ["fit_contaminated"]
