"""The mender's parameters, from options, from ``--set`` and from a TOML file.

Enters: what was typed. Leaves: keyword arguments for `TreeMender`. Options win over ``--set``, and that over the file.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treemend.exceptions import ParameterError

__all__ = ["Asked", "gathered"]


@dataclass(frozen=True)
class Asked:
    """What was typed about parameters."""

    false_alarm_rate: float | None = None
    grid: str | None = None
    groups: Path | None = None
    file: Path | None = None
    settings: tuple[str, ...] = ()
    jobs: int | None = None

    @property
    def anything_to_learn(self) -> bool:
        """Whether something was asked that only learning can heed."""
        return self != Asked(jobs=self.jobs)


def gathered(asked: Asked, known: Sequence[str]) -> dict[str, Any]:
    """Return the parameters by name.

    Parameters
    ----------
    asked : Asked
    known : sequence of str
        Names the mender knows.
    """
    parameters: dict[str, Any] = {}
    if asked.file is not None:
        parameters.update(_read(asked.file))
    for setting in asked.settings:
        parameters.update(_setting(setting))
    if asked.grid is not None and asked.groups is not None:
        raise ParameterError("Give --grid or --groups, not both: they are two layouts.")
    if asked.grid is not None:
        parameters["layout"] = _grid(asked.grid)
    if asked.groups is not None:
        groups = _read(asked.groups)
        parameters["layout"] = groups.get("groups", groups)
    if asked.false_alarm_rate is not None:
        parameters["false_alarm_rate"] = asked.false_alarm_rate
    if asked.jobs is not None:
        parameters["n_jobs"] = asked.jobs
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ParameterError(f"No parameter is called {', '.join(unknown)}; there are {', '.join(known)}.")
    return {name: _without_lists(value) for name, value in parameters.items()}


def _without_lists(value: Any) -> Any:
    """TOML knows no tuples, and parameters of several numbers are tuples."""
    if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
        return tuple(value)
    return value


def _grid(text: str) -> tuple[int, ...]:
    """Return the shape.

    Examples
    --------
    >>> _grid("16x8")
    (16, 8)
    """
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) < 2 or not all(side.isascii() and side.isdigit() and int(side) > 0 for side in sides):
        raise ParameterError(f"--grid must be rows x columns such as 16x16, got {text!r}.")
    return tuple(int(side) for side in sides)


def _setting(text: str) -> dict[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"--set must be NAME=VALUE such as alpha=0.5, got {text!r}.")
    if value.strip().lower() in ("none", "null"):
        return {name.strip(): None}
    try:
        return {name.strip(): tomllib.loads(f"value = {value}")["value"]}
    except tomllib.TOMLDecodeError:
        return {name.strip(): value.strip()}


def _read(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is no TOML file: {error}. Correct it.") from None
