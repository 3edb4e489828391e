"""How many threads are used, and that nothing compiles or loads Numba at import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest

import treemend
from treemend.threads import chunk_size, for_chunks, thread_count


def test_integers_mean_what_they_mean_in_joblib():
    assert thread_count(3) == 3
    assert thread_count(-1) == thread_count(None) == joblib.cpu_count()
    assert thread_count(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs must be"):
        thread_count(0)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_thread_inside_a_joblib_worker(backend):
    inside = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(thread_count)(None) for _ in range(2))
    assert inside == [1, 1]


def test_chunks_cover_every_row_once():
    for n_rows, n_jobs in ((0, 1), (1, 2), (100, 3), (1000, 2)):
        visits = np.zeros(n_rows, dtype=int)

        def visit(part, visits=visits):
            visits[part] += 1

        for_chunks(visit, n_rows, 1000, n_jobs)
        assert (visits == 1).all()
    assert chunk_size(10_000, 10**12, 2) == 1


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(part):
        raise RuntimeError(f"rows {part.start}")

    with pytest.raises(RuntimeError, match="rows 0"):
        for_chunks(fail, 10, 1, 2)


def test_importing_neither_loads_numba_nor_compiles():
    code = "import sys, treemend.threads; sys.exit('numba' in sys.modules)"
    source = Path(treemend.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(source)})
