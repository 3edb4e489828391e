"""Schemas: what a stored value is, how it becomes JSON and arrays, and what a file must look like to become it again.

Enters: a value and its `Schema`. Leaves: a JSON node and named arrays; or, from a node and the types and shapes of the
arrays in a file, first a verdict and only then the value. ``leaves`` has the schemas of single values, ``branches``
those made of others.

Sizes have names: every array whose schema says ``"rows"`` must have as many, or the file is refused.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from treemend.exceptions import ModelFileError

__all__ = ["ArrayHeader", "Arrays", "Contents", "Schema", "checked", "encoded", "require"]

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ArrayHeader:
    """What a file says of an array before it is read."""

    dtype: str
    shape: tuple[int, ...]


@dataclass
class Contents:
    """The arrays a file says it has, and what was learnt from them so far."""

    headers: Mapping[str, ArrayHeader]
    sizes: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def settle(self, shape: tuple[int, ...], sizes: tuple[str, ...], where: str) -> None:
        """Hold a shape against the named sizes; the first array with a name settles it."""
        require(len(shape) == len(sizes), where, f"must have {len(sizes)} dimensions, has shape {shape}")
        for size, name in zip(shape, sizes, strict=True):
            known = self.sizes.setdefault(name, size)
            require(size == known, where, f"has {size} {name}, where {known} were expected")


class Schema(ABC):
    """What a value is."""

    @abstractmethod
    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a JSON node for the value, and put its arrays beside."""

    @abstractmethod
    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Refuse a node, or arrays, that cannot be such a value."""

    @abstractmethod
    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the value of a checked node."""


def encoded(value: Any, schema: Schema) -> tuple[Any, Arrays]:
    """Turn a value into a JSON node and named arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from treemend.storage import Array, Fields, Number
    >>> encoded({"a": 1.5, "b": np.zeros(2)}, Fields({"a": Number(), "b": Array("float64", ("rows",))}))
    ({'a': 1.5, 'b': {'array': 'b'}}, {'b': array([0., 0.])})
    """
    arrays: Arrays = {}
    return schema.encode(value, "", arrays), arrays


def checked(node: Any, headers: Mapping[str, ArrayHeader], schema: Schema) -> dict[str, int]:
    """Hold a node and the headers of a file's arrays against a schema; return the named sizes."""
    contents = Contents(headers)
    schema.check(node, "", contents)
    spare = sorted(set(headers) - contents.used)
    require(not spare, "the file", f"has arrays that do not belong there: {', '.join(spare[:5])}")
    return contents.sizes


def require(good: bool, where: str, complaint: str) -> None:
    """Refuse the file unless all is good."""
    if not good:
        raise ModelFileError(f"{where or 'the document'} {complaint}.")
