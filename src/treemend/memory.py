"""How much memory there is, and how much of it may be used.

Enters: a limit as the user gave it. Leaves: a number of bytes. A container's own limit counts as the machine's.
"""

import os
import re
from pathlib import Path
from typing import Any

from treemend.exceptions import ParameterError

__all__ = ["available_memory", "memory_budget"]

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_UNKNOWN = 4 * 2**30
_SHARE = 4
_LEAST = 10**6


def memory_budget(limit: Any) -> int:
    """Return a limit in bytes; ``None`` stands for a quarter of the memory that is free now.

    Examples
    --------
    >>> memory_budget("1.5 GB"), memory_budget(2**20)
    (1500000000, 1048576)
    """
    if limit is None:
        return max(available_memory() // _SHARE, _LEAST)
    if isinstance(limit, str):
        told = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?I?B)\s*", limit.upper())
        size = float(told[1]) * _UNITS.get(told[2], 0) if told else 0
    else:
        size = limit if isinstance(limit, int) and not isinstance(limit, bool) else 0
    if size < _LEAST:
        raise ParameterError(
            f"memory_limit must be a number of bytes, at least a million, or a text such as '500 MB' or '2 GiB', or "
            f"None; got {limit!r}."
        )
    return int(size)


def available_memory() -> int:
    """Return the bytes that can be used without swapping, as far as the machine tells."""
    return min([*_machine(), *_container()], default=_UNKNOWN)


def _machine() -> list[int]:
    try:
        told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        if told:
            return [int(told[1]) * 1024]
        return [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (OSError, ValueError, AttributeError):
        return []


def _container() -> list[int]:
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except (OSError, ValueError):
        return []
    return [max(int(limit) - used, 0)] if limit.isdigit() else []
