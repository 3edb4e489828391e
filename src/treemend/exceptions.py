"""What can go wrong, as one small tree.

::

    TreemendError
    ├── InputError        (ValueError)  the rows cannot be used as they are
    │   └── ColumnsError                the columns are not those of the reference
    └── ParameterError    (ValueError)  a parameter is out of range, of the wrong type, or clashes

Every message says what is wrong, where, what was expected, what was found, and what to do next. All but the root are
also `ValueError`, so that code written for scikit-learn catches them.
"""

__all__ = ["ColumnsError", "InputError", "ParameterError", "TreemendError"]


class TreemendError(Exception):
    """The root of all errors that treemend raises on purpose."""


class InputError(TreemendError, ValueError):
    """The rows given cannot be used as they are."""


class ColumnsError(InputError):
    """The columns given are not those the reference had."""


class ParameterError(TreemendError, ValueError):
    """A parameter is out of range, of the wrong type, or clashes with another."""
