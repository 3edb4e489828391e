"""Folders that a run fills part by part, so that a run that was killed can go on.

Enters: a folder to write into, what the run is, and the parts of its input. Leaves: a folder with a small file,
``_treemend.json``, that says which run its parts are of; or an error, if they are of another. The names of parts are
those of the input, relative to its folder. Parts appear whole or not at all, so one that is there is done.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemend.exceptions import OutputError
from treemend.atomic import AtomicFile

__all__ = ["RUN_FILE", "Run", "claim_folder", "states_of"]

RUN_FILE = "_treemend.json"
_NEXT_STEP = "Choose another folder, or give --force to do all parts again."


@dataclass(frozen=True)
class Run:
    """What makes two runs the same: their parts would be, bit for bit."""

    treemend: str
    model: str
    columns: tuple[str, ...]
    contents: str

    def difference(self, other: Mapping[str, Any]) -> str:
        """Say in what another run differs; nothing if in nothing."""
        words = {
            "treemend": f"another version of treemend ({other.get('treemend')})",
            "model": "another model",
            "columns": "other columns",
            "contents": f"another kind ({other.get('contents')}, not {self.contents})",
        }
        mine = json.loads(json.dumps(vars(self)))
        return ", ".join(word for name, word in words.items() if mine[name] != other.get(name))


def states_of(folder: str, parts: tuple[str, ...]) -> dict[str, list[int]]:
    """Return size and time of change of every input part."""
    found = {part: os.stat(os.path.join(folder, part)) for part in parts}
    return {part: [state.st_size, state.st_mtime_ns] for part, state in found.items()}


def claim_folder(folder: str, run: Run, states: Mapping[str, list[int]], *, force: bool) -> None:
    """Make a folder the run's own, or refuse one that holds anything else.

    Parameters
    ----------
    folder : str
        Made if it is not there.
    run : Run
    states : mapping of str to list of int
        What `states_of` says of the input parts.
    force : bool
        Whether parts that are there are removed, whichever run they are of.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise OutputError(f"{folder} is no folder, and parts go into one. Choose another name.")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}. Choose another place.") from None
    known = _known(place)
    if force:
        (place / RUN_FILE).unlink(missing_ok=True)
        for part in {*states, *(known or {}).get("parts", {})}:
            (place / part).unlink(missing_ok=True)
        known = None
    elif known is None and any(place.iterdir()):
        raise OutputError(f"{folder} holds files, and none says that they are of such a run. {_NEXT_STEP}")
    before = {} if known is None else _checked(known, place, run, states)
    with AtomicFile(place / RUN_FILE, replace=True) as file:
        told = {**vars(run), "parts": {**before, **states}}
        file.file.write(json.dumps(told, indent=1).encode("ascii") + b"\n")


def _known(place: Path) -> dict[str, Any] | None:
    """Return what the folder says of its run, nothing if it says nothing, and what fits no run if it is unreadable."""
    try:
        known = json.loads((place / RUN_FILE).read_bytes())
        return known if isinstance(known, dict) and isinstance(known.get("parts"), dict) else {}
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}


def _checked(known: dict[str, Any], place: Path, run: Run, states: Mapping[str, list[int]]) -> dict[str, Any]:
    """Return the parts that the run knew before; refuse another run's, and outputs of inputs that have changed."""
    difference = run.difference(known)
    if difference:
        raise OutputError(f"{place} holds parts of another run: {difference}. {_NEXT_STEP}")
    before: dict[str, Any] = known["parts"]
    for part, state in states.items():
        if before.get(part, state) != state and (place / part).exists():
            raise OutputError(f"{place / part} is there already, and its input has changed since. {_NEXT_STEP}")
    return before
