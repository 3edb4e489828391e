"""That company, order, memory layout, chunks and threads change no bit of a row's result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.refinement.examples import held, rows_for

import treemend
from treemend.refinement import find_stretches, learn_context, weigh


@pytest.mark.parametrize("grid", [None, (6, 6, 1), (4, 5, 2), (18, 18, 1)])
def test_a_row_has_the_same_bits_in_any_company(grid):
    rng = np.random.default_rng(3)
    reference, rows = rows_for(rng, 90, grid), rows_for(rng, 150, grid)
    rows[::3, 5:12] = rng.random((50, 7))
    rows[1::3, 2:9] = 0.25
    context, _ = learn_context(held(reference), grid, seed=0)
    explanation = np.arange(150) % 4
    together = weigh(context, rows, held(reference), n_jobs=1)
    drawn = find_stretches(context, rows, together, np.ones(150, dtype=bool), explanation, n_jobs=1)
    order = rng.permutation(150)
    for some in (order, order[:17], order[:1], np.arange(149, 100, -1)):
        for n_jobs in (1, 3):
            again = weigh(context, rows[some], held(reference), n_jobs=n_jobs)
            for name, values in vars(again).items():
                np.testing.assert_array_equal(values, getattr(together, name)[some], err_msg=name)
            which = np.arange(len(some))
            masks = find_stretches(context, rows[some], again, which, explanation[some], n_jobs=n_jobs)
            np.testing.assert_array_equal(masks, drawn[some])


def test_rows_may_come_in_any_memory_order():
    rng = np.random.default_rng(4)
    reference, rows = rows_for(rng, 60, None), rows_for(rng, 20, None)
    context, _ = learn_context(held(reference), seed=0)
    plain = weigh(context, rows, held(reference))
    turned = weigh(context, np.asfortranarray(rows), held(np.asfortranarray(reference)))
    np.testing.assert_array_equal(plain.evidence, turned.evidence)


def test_importing_the_room_does_not_load_numba():
    code = "import sys, treemend.refinement; sys.exit('numba' in sys.modules)"
    source = Path(treemend.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(source)})
