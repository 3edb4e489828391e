"""What can go wrong, as one small tree.

Every message says what is wrong, where, what was expected, what was found, and what to do next. Errors of what was
given are also `ValueError`, so that code written for scikit-learn catches them.
"""


class TreemendError(Exception):
    """The root of all errors that treemend raises on purpose."""


class InputError(TreemendError, ValueError):
    """The rows given cannot be used as they are."""


class ColumnsError(InputError):
    """The columns given are not those the reference had."""


class ParameterError(TreemendError, ValueError):
    """A parameter is out of range, of the wrong type, or clashes with another."""


class ModelFileError(TreemendError, ValueError):
    """A model file is damaged, of another version or not a model at all, or an estimator cannot be kept in one."""


class OutputError(TreemendError):
    """A file cannot be written as asked: it exists, its folder does not, or the disk is full."""
