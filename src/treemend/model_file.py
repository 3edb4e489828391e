"""Model files: the parameters of an estimator and its fitted model, written by the fields of the model's dataclasses.

A model file is a safetensors file. Its header's ``__metadata__`` holds four texts: ``format``, ``version``,
``document`` (JSON: the estimator's name, its parameters, the column names, and all of the model that is not an array)
and ``sha256``, over the other texts and the names, types, shapes and bytes of the arrays. Nothing in the file is code,
and safetensors compares every size it states with the length of the file before it is used.

A model is a frozen dataclass whose fields are arrays, numbers, texts, tuples of these, dataclasses of the same kind, or
one of these or None. The types of the fields are what a file is checked against; what types cannot say, a method
``validate`` checks.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from treemend.arrays import Array
from treemend.atomic import atomic_file
from treemend.exceptions import ModelFileError

FORMAT = "treemend model"
VERSION = 3

Arrays = Mapping[str, Array]

_NEXT_STEP = "Save the model again, or copy the file again."
# What JSON does not know is told by tags: {"tuple": [3, 4]}, {"dict": [["a", 1]]}, {"float": "inf"}.
_TAGS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "dict": dict, "float": float}


@dataclass(frozen=True, eq=False)
class Document:
    """What a model file holds."""

    written_by: str
    estimator: str
    parameters: Any
    names: tuple[str, ...] | None
    model: Any


def write_model(path: str | os.PathLike[str], document: Document) -> None:
    """Write a model file; an existing one is replaced, completely or not at all."""
    from safetensors.numpy import save

    arrays: dict[str, Array] = {}
    parameters = {name: encode(value, None, name) for name, value in document.parameters.items()}
    content = vars(document) | {"parameters": parameters, "model": encode(document.model, arrays)}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    metadata = {"format": FORMAT, "version": str(VERSION), "document": text}
    metadata["sha256"] = _checksum(metadata, arrays)
    data = memoryview(save(arrays, metadata))
    end = 8 + int.from_bytes(data[:8], "little")
    # safetensors writes texts in an order that changes, and the same model is to give the same file.
    header = json.dumps(json.loads(bytes(data[8:end])), separators=(",", ":"), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)
    with atomic_file(path, replace=True) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(data[end:])


def read_model(path: str | os.PathLike[str], kinds: Mapping[str, type]) -> Document:
    """Read a model file; ``kinds`` are the types of models by the name of their estimator.

    A file that is missing, truncated, altered, of another version or foreign is a `ModelFileError`.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb"), safe_open(path, framework="np") as file:
            metadata: dict[str, str] = file.metadata() or {}
            _check_metadata(metadata)
            arrays = {name: file.get_tensor(name) for name in tuple(file.keys())}
        if _checksum(metadata, arrays) != metadata["sha256"]:
            raise ModelFileError(f"was altered: it does not match its checksum. {_NEXT_STEP}")
        document: Document = decode(Document, json.loads(metadata["document"]), {}, "was altered: document")
        if document.estimator not in kinds:
            raise ModelFileError(f"holds a {document.estimator[:40]!r}; expected one of {', '.join(kinds)}.")
        parameters = {name: _decode_parameter(value) for name, value in document.parameters.items()}
        return replace(document, parameters=parameters, model=decode(kinds[document.estimator], document.model, arrays))
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}. Check the path.") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"{path} is truncated, altered, or not a safetensors file: {error}"
        raise ModelFileError(f"{problem}. {_NEXT_STEP}") from None


def checksum_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a model file's bytes."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}. Give a file that save wrote.") from None


def encode(value: Any, arrays: dict[str, Array] | None, name: str = "model") -> Any:
    """Return ``value`` as JSON, and put its arrays into ``arrays`` under dotted names.

    Without ``arrays`` it is a parameter, whose type is not known when it is read: tuples are told from lists.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        items = [encode(item, arrays, f"{name}.{position}") for position, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) and arrays is None else items
    if isinstance(value, dict):
        return {"dict": [[encode(key, arrays, name), encode(item, arrays, name)] for key, item in value.items()]}
    if arrays is not None and is_dataclass(value):
        return {one.name: encode(getattr(value, one.name), arrays, f"{name}.{one.name}") for one in fields(value)}
    if arrays is not None and isinstance(value, np.ndarray):
        arrays[name] = np.ascontiguousarray(value)
        return name
    remedy = f"Set {name} to plain numbers, texts, lists or dictionaries before saving."
    raise ModelFileError(f"{name} holds a {type(value).__name__}, which a model file cannot hold. {remedy}")


def decode(kind: Any, document: Any, arrays: Arrays, name: str = "model") -> Any:
    """Return what `encode` was given, checked against the type ``kind``; a mismatch is a `ModelFileError`."""
    origin, parts = get_origin(kind), get_args(kind)
    if NoneType in parts:
        kind = NoneType if document is None else next(part for part in parts if part is not NoneType)
        return decode(kind, document, arrays, name)
    if is_dataclass(kind):
        return _decode_dataclass(kind, document, arrays, name)
    if hasattr(origin, "__value__"):
        # NumPy defines NDArray by a type statement where Python has it.
        return decode(origin.__value__[parts], document, arrays, name)
    if origin is np.ndarray:
        return _decode_array(np.dtype(get_args(parts[1])[0]), document, arrays, name)
    if origin is not tuple:
        return _decode_scalar(kind, document, name)
    _expect(isinstance(document, list), name, "a list", document)
    kinds = parts[:1] * len(document) if parts[-1] is Ellipsis else parts
    _expect(len(kinds) == len(document), name, f"a list of {len(kinds)} entries", document)
    items = enumerate(zip(kinds, document, strict=True))
    return tuple(decode(own, item, arrays, f"{name}.{position}") for position, (own, item) in items)


def check_shapes(model: Any, sizes: dict[str, int], **shapes: str) -> None:
    """Check that arrays of a model have the same sizes along axes of the same name.

    ``shapes`` names the axes of each array field, separated by blanks; ``sizes`` holds those that are known already,
    and new ones are added to it: ``check_shapes(model, sizes, centre="k d", weight="k")``.
    """
    for name, axes in shapes.items():
        shape, words = getattr(model, name).shape, axes.split()
        named = zip(words, shape, strict=False)
        if len(shape) != len(words) or any(sizes.setdefault(word, size) != size for word, size in named):
            expected = ", ".join(f"{word}={sizes[word]}" if word in sizes else word for word in words)
            raise ModelFileError(f"{name} has shape {shape}, expected ({expected}).")


def _decode_dataclass(kind: Any, document: Any, arrays: Arrays, name: str) -> Any:
    hints, names = get_type_hints(kind), [field.name for field in fields(kind)]
    fits = isinstance(document, dict) and set(document) == set(names)
    _expect(fits, name, f"an object with the fields {', '.join(names)}", document)
    built = kind(**{own: decode(hints[own], document[own], arrays, f"{name}.{own}") for own in names})
    if hasattr(built, "validate"):
        built.validate()
    return built


def _decode_array(dtype: np.dtype[Any], document: Any, arrays: Arrays, name: str) -> Array:
    _expect(document == name and name in arrays, name, "an array of the file", document)
    array = arrays[name]
    _expect(array.dtype == dtype, name, f"an array of {dtype}", array.dtype.name)
    _expect(dtype.kind != "f" or not np.isnan(array).any(), name, "an array of numbers", "NaN")
    return array


def _decode_scalar(kind: Any, document: Any, name: str) -> Any:
    if kind is float and document in ({"float": "inf"}, {"float": "-inf"}):
        return float(document["float"])
    if kind is float:
        _expect(type(document) in {int, float} and math.isfinite(document), name, "a number", document)
        return float(document)
    _expect(kind is Any or type(document) is kind, name, f"of type {kind.__name__}", document)
    return document


def _expect(holds: bool, name: str, expected: str, found: Any) -> None:
    if not holds:
        raise ModelFileError(f"{name} must be {expected}, got {repr(found)[:40]}.")


def _decode_parameter(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode_parameter(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag not in _TAGS:
        raise ValueError(f"unknown tag {tag[:20]!r}")
    return _TAGS[tag](_decode_parameter(content))


def _check_metadata(metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"is a safetensors file, but not a {FORMAT}. Give a file that save wrote.")
    if metadata.get("version") != str(VERSION):
        found = f"has format version {metadata.get('version', 'none')[:9]}, and this treemend reads version {VERSION}"
        raise ModelFileError(f"{found}. Install the treemend that wrote it, or fit again.")
    if set(metadata) != {"format", "version", "document", "sha256"}:
        raise ModelFileError(f"was altered: its header is not complete. {_NEXT_STEP}")


def _checksum(metadata: Mapping[str, str], arrays: Arrays) -> str:
    """Return the SHA-256 of all texts but the checksum itself, and of the arrays."""
    texts = {key: text for key, text in metadata.items() if key != "sha256"}
    kinds = {name: [array.dtype.name, array.shape] for name, array in arrays.items()}
    digest = hashlib.sha256(json.dumps([texts, kinds], sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
