"""Model files: the parameters of an estimator and its fitted model, written by the fields of the model's dataclasses.

A model file is a safetensors file. Its header's ``__metadata__`` holds four texts: ``format``, ``version``,
``document`` (JSON: the estimator's name, its parameters, the column names, and all of the model that is not an array)
and ``sha256``, over the rest of the header and all bytes of the arrays. Nothing in the file is code, and no size it
states is used before it was compared with the length of the file.

A model is a frozen dataclass whose fields are arrays, numbers, texts, None, tuples of these, or dataclasses of the same
kind. The types of the fields are what a file is checked against; what types cannot say, a method ``validate`` checks. A
dataclass that holds more than is needed has methods ``to_stored`` and ``stored_type``: the file holds the smaller one,
whose ``restore`` gives the dataclass back.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from treemend.atomic import AtomicFile
from treemend.exceptions import ModelFileError

__all__ = ["StoredModel", "check_shapes", "checksum_of", "decode", "encode", "read_model", "write_model"]

FORMAT = "treemend model"
VERSION = 1

_LARGEST_HEADER = 32 * 2**20
_DTYPES = {"F64": "float64", "F32": "float32", "I64": "int64", "I32": "int32", "I8": "int8", "BOOL": "bool"}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_METADATA = {"format", "version", "document", "sha256"}
_DOCUMENT = {"written_by", "estimator", "parameters", "names", "model"}
_NEXT_STEP = "Save the model again, or copy the file again."


@dataclass(frozen=True, eq=False)
class StoredModel:
    """What a model file holds; the model itself is decoded when its type is known.

    Attributes
    ----------
    path : Path
    written_by : str
        The version of treemend that wrote the file.
    estimator : str
        Name of the estimator's class.
    parameters : dict
        Its parameters.
    names : tuple of str or None
        Names of the columns.
    document : JSON
        The model without its arrays.
    arrays : dict of str to ndarray
    """

    path: Path
    written_by: str
    estimator: str
    parameters: dict[str, Any]
    names: tuple[str, ...] | None
    document: Any
    arrays: dict[str, NDArray[Any]]

    def model(self, kind: type) -> Any:
        """Return the model as the dataclass ``kind``, or raise `ModelFileError`."""
        try:
            return decode(kind, self.document, self.arrays)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{self.path} does not hold a usable model: {error}") from None


def write_model(
    path: str | os.PathLike[str],
    *,
    written_by: str,
    estimator: str,
    parameters: Mapping[str, Any],
    names: tuple[str, ...] | None,
    model: Any,
) -> None:
    """Write a model file; an existing one is replaced, completely or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    document = {
        "written_by": written_by,
        "estimator": estimator,
        "parameters": {name: _encode_plain(value, name) for name, value in parameters.items()},
        "names": None if names is None else list(names),
        "model": encode(model, arrays),
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    entries: dict[str, Any] = {"__metadata__": {"format": FORMAT, "version": str(VERSION), "document": text}}
    ordered = _in_file_order(arrays)
    begin = 0
    for name in ordered:
        array = arrays[name]
        end = begin + array.nbytes
        entries[name] = {"dtype": _CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    digest = _header_digest(entries)
    for name in ordered:
        digest.update(_bytes(arrays[name]))
    entries["__metadata__"]["sha256"] = digest.hexdigest()
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > _LARGEST_HEADER:
        raise ModelFileError(f"The header would take more than {_LARGEST_HEADER >> 20} MiB: too many columns to save.")
    with AtomicFile(path, replace=True) as output:
        output.file.write(len(header).to_bytes(8, "little"))
        output.file.write(header)
        for name in ordered:
            output.file.write(_bytes(arrays[name]))


def read_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a model file.

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, altered, written by a newer version, or not a model file.
    """
    path = Path(path)
    entries = _read_header(path)
    metadata = entries.get("__metadata__")
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a {FORMAT}. Give a file that save wrote.")
    version = metadata.get("version")
    if not (isinstance(version, str) and version.isascii() and version.isdigit() and len(version) < 10):
        raise ModelFileError(f"{path} was altered: its format version is {str(version)[:20]!r}. {_NEXT_STEP}")
    if int(version) > VERSION:
        raise ModelFileError(
            f"{path} has format version {int(version)}, and this treemend reads versions up to {VERSION}. "
            "Install a newer treemend."
        )
    if set(metadata) != _METADATA or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError(f"{path} was altered: its header is not complete. {_NEXT_STEP}")
    arrays, data_digest = _read_arrays(path, _header_digest(entries))
    if data_digest != metadata["sha256"]:
        raise ModelFileError(f"{path} was altered: it does not match its checksum. {_NEXT_STEP}")
    try:
        document = json.loads(metadata["document"])
        if not isinstance(document, dict) or set(document) != _DOCUMENT:
            raise ValueError("its document does not have the expected entries")
        parameters = {str(name): _decode_plain(value) for name, value in document["parameters"].items()}
        names = decode(tuple[str, ...] | None, document["names"], {})
        written_by, estimator = (decode(str, document[key], {}) for key in ("written_by", "estimator"))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path} has a document that cannot be read: {error}. {_NEXT_STEP}") from None
    return StoredModel(path, written_by, estimator, parameters, names, document["model"], arrays)


def checksum_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def encode(value: Any, arrays: dict[str, NDArray[Any]], name: str = "model") -> Any:
    """Return ``value`` as JSON, and put its arrays into ``arrays`` under dotted names."""
    if hasattr(value, "to_stored"):
        value = value.to_stored()
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: encode(getattr(value, field.name), arrays, f"{name}.{field.name}") for field in fields(value)
        }
    if isinstance(value, np.ndarray):
        arrays[name] = np.ascontiguousarray(value)
        return name
    if isinstance(value, tuple):
        return [encode(item, arrays, f"{name}.{position}") for position, item in enumerate(value)]
    return _encode_plain(value, name)


def decode(kind: Any, document: Any, arrays: Mapping[str, NDArray[Any]], name: str = "model") -> Any:
    """Return what `encode` was given, checked against the type ``kind``; a mismatch is a `ModelFileError`."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        options = get_args(kind)
        kind = NoneType if document is None and NoneType in options else _chosen(options, document)
        return decode(kind, document, arrays, name)
    if hasattr(kind, "stored_type"):
        return decode(kind.stored_type(), document, arrays, name).restore()
    if is_dataclass(kind):
        return _decode_dataclass(kind, document, arrays, name)
    decoder = {np.ndarray: _decode_array, tuple: _decode_tuple}.get(origin, _decode_scalar)
    return decoder(kind, document, arrays, name)


def check_shapes(model: Any, sizes: dict[str, int], **shapes: str) -> None:
    """Check that arrays of a model have the same sizes along axes of the same name.

    Parameters
    ----------
    model : dataclass
    sizes : dict of str to int
        Sizes that are known already; new ones are added.
    **shapes : str
        For each array field, the names of its axes, separated by blanks.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_shapes(SimpleNamespace(centre=np.zeros((2, 3)), weight=np.zeros(2)), {}, centre="k d", weight="k")
    >>> check_shapes(SimpleNamespace(centre=np.zeros((2, 3)), weight=np.zeros(5)), {}, centre="k d", weight="k")
    Traceback (most recent call last):
    treemend.exceptions.ModelFileError: weight has shape (5,), expected (k=2).
    """
    for name, axes in shapes.items():
        shape, words = getattr(model, name).shape, axes.split()
        fits = len(shape) == len(words) and all(
            sizes.setdefault(word, size) == size for word, size in zip(words, shape, strict=True)
        )
        if not fits:
            expected = ", ".join(f"{word}={sizes[word]}" if word in sizes else word for word in words)
            raise ModelFileError(f"{name} has shape {shape}, expected ({expected}).")


def _chosen(options: tuple[Any, ...], document: Any) -> Any:
    """Return the member of a union that fits the document: dataclasses are told apart by their fields."""
    classes = [option for option in options if is_dataclass(option)]
    if isinstance(document, dict) and classes:
        for option in classes:
            if set(document) == {field.name for field in fields(option)}:
                return option
    others = [option for option in options if option is not NoneType and not is_dataclass(option)]
    return others[0] if others else classes[0]


def _decode_dataclass(kind: Any, document: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    expected = {field.name for field in fields(kind)}
    if not isinstance(document, dict) or set(document) != expected:
        raise ModelFileError(f"{name} must have the fields {', '.join(sorted(expected))}.")
    hints = get_type_hints(kind)
    built = kind(**{key: decode(hints[key], document[key], arrays, f"{name}.{key}") for key in expected})
    validate: Callable[[], None] | None = getattr(built, "validate", None)
    if validate is not None:
        validate()
    return built


def _decode_array(kind: Any, document: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    dtype = np.dtype(get_args(get_args(kind)[1])[0])
    if document != name or name not in arrays:
        raise ModelFileError(f"{name} must be an array of the file.")
    array = arrays[name]
    if array.dtype != dtype:
        raise ModelFileError(f"{name} must be an array of {dtype}, got {array.dtype}.")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ModelFileError(f"{name} has values that are not numbers.")
    return array


def _decode_tuple(kind: Any, document: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    kinds = get_args(kind)
    if not isinstance(document, list):
        raise ModelFileError(f"{name} must be a list, got {_shown(document)}.")
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(document)
    if len(kinds) != len(document):
        raise ModelFileError(f"{name} must have {len(kinds)} entries, got {len(document)}.")
    return tuple(
        decode(kind, item, arrays, f"{name}.{position}")
        for position, (kind, item) in enumerate(zip(kinds, document, strict=True))
    )


def _decode_scalar(kind: Any, document: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    del arrays
    if kind is not float:
        if type(document) is not kind:
            raise ModelFileError(f"{name} must be of type {kind.__name__}, got {_shown(document)}.")
        return document
    if isinstance(document, dict) and document.get("float") in {"inf", "-inf"}:
        return float(document["float"])
    if isinstance(document, bool) or not isinstance(document, int | float) or not math.isfinite(document):
        raise ModelFileError(f"{name} must be a number, got {_shown(document)}.")
    return float(document)


def _encode_plain(value: Any, name: str) -> Any:
    """Return a parameter as JSON that tells tuples from lists and keeps the keys of dictionaries."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_encode_plain(item, name) for item in value]}
    if isinstance(value, list):
        return [_encode_plain(item, name) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_encode_plain(key, name), _encode_plain(item, name)] for key, item in value.items()]}
    raise ModelFileError(
        f"{name} holds a {type(value).__name__}, which a model file cannot hold. Set {name} to plain numbers, texts, "
        "lists or dictionaries before saving."
    )


def _decode_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "tuple":
        return tuple(_decode_plain(item) for item in content)
    if tag == "dict":
        return {_decode_plain(key): _decode_plain(item) for key, item in content}
    if tag == "float":
        return float(content)
    raise ValueError(f"unknown tag {tag[:20]!r}")


def _read_header(path: Path) -> dict[str, Any]:
    """Read the safetensors header, once its stated length was compared with the length of the file."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            n_bytes = os.fstat(file.fileno()).st_size
            header = file.read(length) if length <= min(n_bytes - 8, _LARGEST_HEADER) else b""
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    if n_bytes < 10 or length > n_bytes - 8:
        raise ModelFileError(f"{path} is truncated or not a safetensors file ({n_bytes} bytes). {_NEXT_STEP}")
    if length > _LARGEST_HEADER:
        raise ModelFileError(f"{path} states a header of {length} bytes, too many for a model. {_NEXT_STEP}")
    try:
        entries = json.loads(header)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, dict):
        raise ModelFileError(f"{path} is truncated, altered, or not a safetensors file. {_NEXT_STEP}")
    return entries


def _read_arrays(path: Path, digest: Any) -> tuple[dict[str, NDArray[Any]], str]:
    """Read the arrays, which safetensors checks against the length of the file, and finish the checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in tuple(file.keys())}
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(
            f"{path} is truncated, altered, or not a safetensors file: {error}. {_NEXT_STEP}"
        ) from None
    for name in _in_file_order(arrays):
        digest.update(_bytes(arrays[name]))
    return arrays, digest.hexdigest()


def _in_file_order(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the names with the widest numbers first, as safetensors wants them aligned."""
    return sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))


def _header_digest(entries: Mapping[str, Any]) -> Any:
    """Start the checksum with everything in the header but the checksum itself."""
    metadata = {key: text for key, text in entries["__metadata__"].items() if key != "sha256"}
    canonical = json.dumps({**entries, "__metadata__": metadata}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode(errors="surrogatepass"))


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, least significant first, as safetensors has them."""
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return ordered.reshape(-1).view(np.uint8).data


def _shown(document: Any) -> str:
    return repr(document)[:40]
