"""What a path is, by its ending.

Enters: a path as the user gave it. Leaves: a `Kind`, or an error that lists the endings.
"""

from dataclasses import dataclass
from pathlib import Path

from treemend.exceptions import InputError

__all__ = ["STANDARD_STREAM", "Kind", "kind_of"]

STANDARD_STREAM = "-"


@dataclass(frozen=True)
class Kind:
    """A kind of file: its family, and the delimiter of texts."""

    family: str
    delimiter: str = ""


_KINDS = {
    ".csv": Kind("text", ","),
    ".tsv": Kind("text", "\t"),
    ".parquet": Kind("parquet"),
    ".feather": Kind("feather"),
    ".arrow": Kind("feather"),
    ".npy": Kind("npy"),
    ".npz": Kind("npz"),
}


def kind_of(path: str, delimiter: str | None = None) -> Kind:
    """Tell the kind of a file.

    Examples
    --------
    >>> kind_of("rows.CSV"), kind_of("-", ";")
    (Kind(family='text', delimiter=','), Kind(family='text', delimiter=';'))
    """
    ending = ".csv" if path == STANDARD_STREAM else Path(path).suffix.lower()
    if ending not in _KINDS:
        raise InputError(
            f"{path} has the ending {ending or 'of no file'!r}, and only {', '.join(_KINDS)} are known. Convert or "
            "rename the file."
        )
    kind = _KINDS[ending]
    return Kind("text", delimiter) if kind.family == "text" and delimiter else kind
