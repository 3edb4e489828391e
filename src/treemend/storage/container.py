"""The file: a safetensors container with a document in its header, a format version, and checksums of everything.

Enters: a JSON document and named arrays. Leaves: a file; and from a file first a `Stored`, for which only the header
was read and checked, then its arrays.

The header's ``__metadata__`` holds four texts: ``format`` (what kind of file this is), ``version``, ``document`` (JSON:
the caller's ``contents`` and, for each array, type, shape and SHA-256), and ``sha256`` of the other three. Nothing in
the file is code, and no size it states is believed before it is held against the length of the file.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ModelFileError
from treemend.storage.schema import ArrayHeader
from treemend.whole import WholeFile

__all__ = ["Stored", "read", "write"]

_LARGEST_HEADER = 32 * 2**20
_DTYPES = {"F64": "float64", "F32": "float32", "I64": "int64", "I32": "int32", "U8": "uint8", "BOOL": "bool"}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_KEYS = {"format", "version", "document", "sha256"}
_NEXT_STEP = "Save the model again, or fetch the file again."


@dataclass(frozen=True)
class Stored:
    """A file whose header was read and found whole.

    Attributes
    ----------
    path : Path
    version : int
        Format version.
    contents : JSON
        The caller's document.
    headers : mapping of str to ArrayHeader
        Types and shapes of the arrays in the file.
    checksums : mapping of str to str
        SHA-256 of each array.
    """

    path: Path
    version: int
    contents: Any
    headers: Mapping[str, ArrayHeader]
    checksums: Mapping[str, str]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Read the arrays and hold them against their checksums."""
        from safetensors import SafetensorError, safe_open

        arrays = {}
        try:
            with safe_open(self.path, framework="np") as file:
                for name in self.headers:
                    array = file.get_tensor(name)
                    if _digest(array) != self.checksums[name]:
                        raise ModelFileError(
                            f"{self.path} was altered: {name} does not match its checksum. {_NEXT_STEP}"
                        )
                    arrays[name] = array
        except (SafetensorError, OSError, KeyError) as error:
            raise ModelFileError(f"{self.path} cannot be read: {error}. {_NEXT_STEP}") from None
        return arrays


def write(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    contents: Any,
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a file whole, in place of one that may be there.

    Parameters
    ----------
    path : path
    kind : str
        What kind of file this is, in words.
    version : int
        Format version.
    contents : JSON
    arrays : mapping of str to ndarray
        C-contiguous, of a type that safetensors has.
    """
    stated = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": _digest(array)}
        for name, array in arrays.items()
    }
    document = json.dumps({"contents": contents, "arrays": stated}, allow_nan=False, separators=(",", ":"))
    texts = {"format": kind, "version": str(version), "document": document}
    header, ordered = _header({**texts, "sha256": _seal(texts)}, arrays)
    if len(header) > _LARGEST_HEADER:
        raise ModelFileError(f"The header would take more than {_LARGEST_HEADER >> 20} MiB: too many columns to keep.")
    with WholeFile(path, replace=True) as whole:
        whole.file.write(len(header).to_bytes(8, "little"))
        whole.file.write(header)
        for array in ordered:
            whole.file.write(_bytes(array))


def _header(texts: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> tuple[bytes, list[NDArray[Any]]]:
    """Return the safetensors header, and the arrays in the order in which it says they follow.

    It is written here rather than by safetensors, which would hold all bytes once more and order the texts at random:
    the same mender gives the same file.
    """
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    entries: dict[str, Any] = {"__metadata__": dict(texts)}
    begin = 0
    for name in names:
        array = arrays[name]
        end = begin + array.nbytes
        entries[name] = {"dtype": _CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    return header + b" " * (-len(header) % 8), [arrays[name] for name in names]


def read(path: str | os.PathLike[str], kind: str, newest: int) -> Stored:
    """Read and check the header of a file; no array is read.

    Parameters
    ----------
    path : path
    kind : str
        What kind of file is expected.
    newest : int
        The newest format version that can be read.
    """
    path = Path(path)
    texts, headers = _safetensors_header(path)
    if texts is None or texts.get("format") != kind or not set(texts) >= {"format", "version"}:
        raise ModelFileError(f"{path} is a safetensors file, but not a {kind}. Give a file that was saved as one.")
    version = texts["version"]
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise ModelFileError(f"{path} was altered: its format version is {version[:20]!r}. {_NEXT_STEP}")
    if int(version) > newest:
        raise ModelFileError(
            f"{path} has format version {int(version)}, and this treemend reads versions up to {newest}. "
            "Install a newer treemend."
        )
    if set(texts) != _KEYS or _seal(texts) != texts["sha256"]:
        raise ModelFileError(f"{path} was altered: its header does not match its checksum. {_NEXT_STEP}")
    contents, stated, checksums = _document(path, texts["document"])
    if stated != headers:
        raise ModelFileError(f"{path} was altered: its arrays are not those its document lists. {_NEXT_STEP}")
    return Stored(path, int(version), contents, headers, checksums)


def _safetensors_header(path: Path) -> tuple[dict[str, str] | None, dict[str, ArrayHeader]]:
    """Let safetensors check the header and all sizes, once the header is known not to be absurdly long."""
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            n_bytes = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    if n_bytes < 10 or length > n_bytes - 8:
        raise ModelFileError(f"{path} is truncated, or no safetensors file: it has {n_bytes} bytes. {_NEXT_STEP}")
    if length > _LARGEST_HEADER:
        raise ModelFileError(f"{path} states a header of {length} bytes, absurdly many for a model. {_NEXT_STEP}")
    try:
        with safe_open(path, framework="np") as file:
            headers = {}
            for name in tuple(file.keys()):
                part = file.get_slice(name)
                headers[name] = ArrayHeader(_DTYPES.get(part.get_dtype(), "unknown"), tuple(part.get_shape()))
            return file.metadata(), headers
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{path} is truncated, altered, or no safetensors file: {error}. {_NEXT_STEP}") from None


def _document(path: Path, text: str) -> tuple[Any, dict[str, ArrayHeader], dict[str, str]]:
    try:
        document = json.loads(text)
        stated = document["arrays"]
        headers = {name: ArrayHeader(entry["dtype"], tuple(entry["shape"])) for name, entry in stated.items()}
        checksums = {name: entry["sha256"] for name, entry in stated.items()}
        return document["contents"], headers, checksums
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(
            f"{path} has a document that cannot be read ({type(error).__name__}). {_NEXT_STEP}"
        ) from None


def _seal(texts: Mapping[str, str]) -> str:
    sealed = "\n".join(texts[key] for key in ("format", "version", "document"))
    return hashlib.sha256(sealed.encode()).hexdigest()


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(_bytes(array)).hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the array's bytes, least significant first, as safetensors has them."""
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return ordered.reshape(-1).view(np.uint8).data
