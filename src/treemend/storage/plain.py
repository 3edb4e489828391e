"""Plain values as JSON that tells tuples from lists, and keeps dictionaries with any plain key and odd floats.

Enters: None, booleans, numbers, texts, lists, tuples, dictionaries and NumPy's kinds of them. Leaves: a JSON node; or
from a node the value, where NumPy's scalars have become Python's and its arrays lists.
"""

import math
from typing import Any

import numpy as np

from treemend.exceptions import ModelFileError

__all__ = ["from_plain", "to_plain"]

_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_plain(value: Any, where: str) -> Any:
    """Return a JSON node for a plain value.

    Examples
    --------
    >>> to_plain({"shape": (16, 16), "rate": np.float64(0.5)}, "parameters")
    {'dict': [['shape', {'tuple': [16, 16]}], ['rate', 0.5]]}
    """
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufUO":
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value if value is None or type(value) in (bool, int, str) else _base(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item, where) for item in value]}
    if isinstance(value, list):
        return [to_plain(item, where) for item in value]
    if isinstance(value, dict):
        return {"dict": [[to_plain(key, where), to_plain(item, where)] for key, item in value.items()]}
    raise ModelFileError(
        f"{where} holds a {type(value).__name__}, which a model file cannot keep: only None, booleans, numbers, texts, "
        "lists, tuples and dictionaries can be. Give such a value and fit again."
    )


def from_plain(node: Any, where: str) -> Any:
    """Return the value of a node that `to_plain` made; refuse any other."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [from_plain(item, where) for item in node]
    if isinstance(node, dict) and len(node) == 1:
        ((mark, content),) = node.items()
        if mark == "float" and isinstance(content, str) and content in _ODD_FLOATS:
            return _ODD_FLOATS[content]
        if mark == "tuple" and isinstance(content, list):
            return tuple(from_plain(item, where) for item in content)
        if mark == "dict" and isinstance(content, list):
            return _dictionary(content, where)
    raise ModelFileError(f"{where} holds something that is no plain value.")


def _dictionary(pairs: list[Any], where: str) -> dict[Any, Any]:
    built = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ModelFileError(f"{where} holds a dictionary whose entries are no pairs.")
        key = from_plain(pair[0], where)
        try:
            built[key] = from_plain(pair[1], where)
        except TypeError:
            raise ModelFileError(f"{where} holds a dictionary with a key that cannot be one.") from None
    return built


def _base(value: Any) -> Any:
    """Return a subclass's value as its plain base: texts and integers only, booleans have no subclass."""
    return str(value) if isinstance(value, str) else int(value)
