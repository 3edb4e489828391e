"""Schemas of single values: arrays, numbers, texts, plain parameters.

Enters and leaves: see `treemend.storage.schema`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.storage.plain import from_plain, to_plain
from treemend.storage.schema import Arrays, Contents, Schema, require

__all__ = ["Array", "Integers", "Number", "Plain", "Text"]


@dataclass(frozen=True)
class Array(Schema):
    """An array kept as it is; ``sizes`` names its dimensions."""

    dtype: str
    sizes: tuple[str, ...]

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Put the array beside; the node says that it is there."""
        arrays[where] = np.ascontiguousarray(value, dtype=self.dtype)
        return {"array": where}

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Compare type and shape, as the file states them."""
        require(node == {"array": where} and where in contents.headers, where, "must be an array, and is none")
        header = contents.headers[where]
        require(header.dtype == self.dtype, where, f"must be {self.dtype}, is {header.dtype}")
        contents.settle(header.shape, self.sizes, where)
        contents.used.add(where)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the array."""
        del node
        return arrays[where]


@dataclass(frozen=True)
class Integers(Schema):
    """A short vector of 64-bit integers, kept in the document itself so that people can read it there."""

    size: str

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a list."""
        del where, arrays
        return [int(item) for item in value]

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Look at every item and at the length."""
        good = isinstance(node, list) and all(type(item) is int and -(2**63) <= item < 2**63 for item in node)
        require(good, where, "must be a list of 64-bit integers")
        contents.settle((len(node),), (self.size,), where)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return an array."""
        del where, arrays
        return np.array(node, dtype=np.int64)


@dataclass(frozen=True)
class Number(Schema):
    """A finite number between two bounds."""

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a Python number; its text gives the same bits again."""
        del where, arrays
        return int(value) if self.whole else float(value)

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Look at type and bounds."""
        del contents
        good = type(node) is int if self.whole else type(node) in (int, float) and math.isfinite(node)
        require(good, where, f"must be a finite {'integer' if self.whole else 'number'}")
        require(self.least <= node <= self.most, where, f"must lie in [{self.least:g}, {self.most:g}], is {node:g}")

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return it."""
        del where, arrays
        return node if self.whole else float(node)


@dataclass(frozen=True)
class Text(Schema):
    """A text."""

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a plain text."""
        del where, arrays
        return str(value)

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Look at the type."""
        del contents
        require(isinstance(node, str), where, "must be a text")

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> str:
        """Return it."""
        del where, arrays
        return str(node)


@dataclass(frozen=True)
class Plain(Schema):
    """Anything made of None, booleans, numbers, texts, lists, tuples and dictionaries: parameters."""

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a node in which tuples, dictionaries and odd floats are marked."""
        del arrays
        return to_plain(value, where)

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Try to read it; a plain value costs no more than its node."""
        del contents
        from_plain(node, where)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the value."""
        del arrays
        return from_plain(node, where)
