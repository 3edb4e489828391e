"""How many threads, and who does which rows.

Each task writes its own rows of the output, so that neither the number of threads nor the size of the chunks can change
a result.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from treemend.progress import advance, step

WORK_IN_A_CHUNK = 2_000_000_000
LARGEST_CHUNK = 64
# To look for the libraries takes 10 ms.
_library_threads = cache(ThreadpoolController)


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads to use.

    ``None`` means every core this process may use, but one inside a joblib or Dask worker, whose siblings use the other
    cores. Integers mean what they mean in joblib: -1 is all cores, -2 all but one.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must be a positive or negative integer or None, got 0; -1 uses every core.")
    if n_jobs is None:
        n_jobs = 1 if _inside_a_worker() else -1
    return n_jobs if n_jobs > 0 else max(1, int(cpu_count()) + 1 + n_jobs)


def _inside_a_worker() -> bool:
    if (get_active_backend()[0].nesting_level or 0) > 0:
        return True
    try:
        return "distributed" in sys.modules and bool(sys.modules["distributed"].get_worker())
    except ValueError:
        return False


def one_library_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while the block runs.

    Our matrices are small and our rows are shared among threads of our own; a library that starts a thread for every
    core, for each of thousands of small factorisations, is many times slower on a busy machine.
    """
    limited: AbstractContextManager[Any] = _library_threads().limit(limits=1)
    return limited


def chunk_size(n_rows: int, work_per_row: int, n_threads: int, largest: int = LARGEST_CHUNK) -> int:
    """Return how many rows make a task: short enough to share evenly and to be interrupted soon."""
    return max(1, min(largest, -(-n_rows // n_threads), WORK_IN_A_CHUNK // max(1, work_per_row)))


def for_chunks(
    task: Callable[[slice], None], n_rows: int, work_per_row: int, n_jobs: int | None, *, largest: int = LARGEST_CHUNK
) -> None:
    """Call ``task`` for slices that cover all rows, in threads; Ctrl-C ends it after the slices in work."""
    n_threads = thread_count(n_jobs)
    size = chunk_size(n_rows, work_per_row, n_threads, largest)
    slices = [slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size)]
    if len(slices) == 1:
        task(slices[0])
        return
    results: Iterable[None] = map(task, slices)
    if n_threads > 1:
        if n_threads not in _POOLS:
            _POOLS[n_threads] = ThreadPoolExecutor(n_threads, thread_name_prefix="treemend")
        results = _POOLS[n_threads].map(task, slices)
    with step("", n_rows):
        for part, _ in zip(slices, results, strict=True):
            advance(part.stop - part.start)


def for_parts(task: Callable[[int, slice], None], sizes: Sequence[int], work_per_row: int, n_jobs: int | None) -> None:
    """Call ``task`` with numbers of parts and slices of their rows, as `for_chunks` does with all rows together."""
    ends = np.cumsum(sizes, dtype=np.int64)

    def cut(rows: slice) -> None:
        begin, last = np.searchsorted(ends, (rows.start, rows.stop - 1), side="right").tolist()
        for number in range(begin, last + 1):
            first = int(ends[number]) - sizes[number]
            task(number, slice(max(rows.start - first, 0), min(rows.stop - first, sizes[number])))

    for_chunks(cut, sum(sizes), work_per_row, n_jobs)


# Threads stay: to start them anew for each kernel costs as much as a kernel on few rows.
_POOLS: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_POOLS.clear)
