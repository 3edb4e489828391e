"""Checks of single parameters: a `ParameterError` names the parameter, what it must be and what it was."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from treemend.exceptions import ParameterError


def check_count(name: str, value: Any, *, least: int) -> None:
    """Refuse anything but an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be an integer of at least {least}, got {value!r}.")


def check_share(name: str, value: Any, *, zero: bool) -> None:
    """Refuse anything but a number in [0, 1], or in (0, 1] where ``zero`` is not allowed."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (value == 0 and not zero):
        interval = "between 0 and 1" if zero else "above 0 and at most 1"
        raise ParameterError(f"{name} must be a number {interval}, got {value!r}.")


def check_names(name: str, value: Any) -> None:
    """Refuse anything but a list or tuple of different names."""
    try:
        names = isinstance(value, list | tuple) and len(set(value)) == len(value)
    except TypeError:  # One of them cannot be a name, such as a list.
        names = False
    if not names:
        raise ParameterError(f"{name} must be a list or tuple of different column names, got {value!r}.")


def check_choice(name: str, value: Any, choices: Sequence[object]) -> None:
    """Refuse anything but one of the choices."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be True or False, got {value!r}.")
