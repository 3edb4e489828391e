"""Column names: how those of a table differ from those of the reference, told as a diff.

Enters: two lists of names. Leaves: a few lines of text, empty if nothing differs.
"""

from collections.abc import Sequence

__all__ = ["columns_difference"]

_SHOWN = 5


def columns_difference(expected: Sequence[str], got: Sequence[str]) -> str:
    """Tell missing, extra and reordered columns.

    Examples
    --------
    >>> print(columns_difference(["a", "b", "c"], ["b", "a", "x"]))
    - missing: 'c'
    + extra: 'x'
    ~ out of order: 'a' (column 0 of the reference, here 1), 'b' (column 1 of the reference, here 0)
    """
    known, given = set(expected), set(got)
    lines = []
    missing = [name for name in expected if name not in given]
    extra = [name for name in got if name not in known]
    if missing:
        lines.append(f"- missing: {_listed([repr(name) for name in missing])}")
    if extra:
        lines.append(f"+ extra: {_listed([repr(name) for name in extra])}")
    place = {name: position for position, name in enumerate(got)}
    shared = [name for name in expected if name in given]
    if shared != [name for name in got if name in known]:
        moved = [
            f"{name!r} (column {position} of the reference, here {place[name]})"
            for position, name in enumerate(expected)
            if name in given and place[name] != position
        ]
        lines.append(f"~ out of order: {_listed(moved)}")
    return "\n".join(lines)


def _listed(items: list[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
