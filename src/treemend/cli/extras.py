"""Packages that only some commands need.

Enters: the name of a package. Leaves: nothing, or an error with the next step, before any work begins.
"""

import importlib.util

from treemend.exceptions import ParameterError

__all__ = ["need"]


def need(package: str, purpose: str, extra: str) -> None:
    """Refuse to begin if a package is missing."""
    if importlib.util.find_spec(package) is None:
        raise ParameterError(f"{purpose} needs {package}, which is missing. pip install 'treemend[{extra}]'.")
