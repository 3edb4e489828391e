"""Schemas made of others: optional values, series, fields, and records of listed classes.

Enters and leaves: see `treemend.storage.schema`. `Record` and `OneOf` list all that a file may bring to life.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from treemend.exceptions import ModelFileError
from treemend.storage.schema import Arrays, Contents, Schema, require

__all__ = ["Fields", "OneOf", "Optional", "Record", "Series"]


@dataclass(frozen=True)
class Optional(Schema):
    """A value or None."""

    of: Schema

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return null for None."""
        return None if value is None else self.of.encode(value, where, arrays)

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Accept null."""
        if node is not None:
            self.of.check(node, where, contents)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return None for null."""
        return None if node is None else self.of.decode(node, where, arrays)


@dataclass(frozen=True)
class Series(Schema):
    """A tuple of values of one kind; ``size`` names its length, if others must agree with it."""

    of: Schema
    size: str | None = None

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return a list."""
        return [self.of.encode(item, f"{where}.{place}", arrays) for place, item in enumerate(value)]

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Check the length and every item."""
        require(isinstance(node, list), where, "must be a list")
        if self.size is not None:
            contents.settle((len(node),), (self.size,), where)
        for place, item in enumerate(node):
            self.of.check(item, f"{where}.{place}", contents)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, ...]:
        """Return a tuple."""
        return tuple(self.of.decode(item, f"{where}.{place}", arrays) for place, item in enumerate(node))


@dataclass(frozen=True, eq=False)
class Fields(Schema):
    """A dictionary with exactly these keys."""

    of: Mapping[str, Schema]

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return an object with the listed keys."""
        return {key: schema.encode(value[key], _inside(where, key), arrays) for key, schema in self.of.items()}

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Check the keys and every value."""
        require(isinstance(node, dict), where, "must be an object")
        wrong = sorted(set(node) ^ set(self.of))
        require(not wrong, where, f"must have the keys {', '.join(sorted(self.of))}; {', '.join(wrong[:5])} differ")
        for key, schema in self.of.items():
            schema.check(node[key], _inside(where, key), contents)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Return a dictionary."""
        return {key: schema.decode(node[key], _inside(where, key), arrays) for key, schema in self.of.items()}


@dataclass(frozen=True, eq=False)
class Record(Schema):
    """An object of a listed class, kept by some of its attributes.

    Attributes
    ----------
    kind : type
        The class; its name is written, and nothing else about it.
    of : mapping of str to Schema
        The attributes that are kept.
    build : callable, optional
        Makes the object from the attributes, given by name; the class itself if it is left out. What can be computed
        from the kept attributes is computed there.
    problem : callable, optional
        Tells what is wrong with a built object, or None.
    """

    kind: type
    of: Mapping[str, Schema]
    build: Callable[..., Any] | None = None
    problem: Callable[[Any], str | None] | None = None

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Return an object with the class's name and the kept attributes."""
        if type(value) is not self.kind:
            raise ModelFileError(f"{where} must be of {self.kind.__name__} to be saved, is of {type(value).__name__}.")
        kept = {name: getattr(value, name) for name in self.of}
        return {"record": self.kind.__name__, "fields": Fields(self.of).encode(kept, where, arrays)}

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Check the class's name and the attributes."""
        good = isinstance(node, dict) and set(node) == {"record", "fields"} and node["record"] == self.kind.__name__
        require(good, where, f"must be a record of {self.kind.__name__}")
        Fields(self.of).check(node["fields"], where, contents)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Build the object and ask what is wrong with it."""
        value = (self.build or self.kind)(**Fields(self.of).decode(node["fields"], where, arrays))
        problem = self.problem(value) if self.problem else None
        require(problem is None, where, problem or "")
        return value


@dataclass(frozen=True, eq=False)
class OneOf(Schema):
    """A record of one of several classes."""

    of: tuple[Record, ...]

    def encode(self, value: Any, where: str, arrays: Arrays) -> Any:
        """Encode as the class it is of."""
        for record in self.of:
            if type(value) is record.kind:
                return record.encode(value, where, arrays)
        raise ModelFileError(f"{where} is of {type(value).__name__}, which a model file cannot keep.")

    def check(self, node: Any, where: str, contents: Contents) -> None:
        """Check as the class it says it is of."""
        self._chosen(node, where).check(node, where, contents)

    def decode(self, node: Any, where: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Decode as the class it says it is of."""
        return self._chosen(node, where).decode(node, where, arrays)

    def _chosen(self, node: Any, where: str) -> Record:
        named = node.get("record") if isinstance(node, dict) else None
        for record in self.of:
            if record.kind.__name__ == named:
                return record
        known = ", ".join(record.kind.__name__ for record in self.of)
        raise ModelFileError(f"{where} must be a record of one of {known}.")


def _inside(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
