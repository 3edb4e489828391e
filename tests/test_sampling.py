import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemend.sampling import RowSample, sample_rows


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 60), st.integers(0, 3))
def test_the_sample_is_the_same_for_any_batches(lengths, size, seed):
    n_rows = sum(lengths)
    values = np.random.default_rng(0).normal(size=(n_rows, 2))
    sample, first = RowSample(size, seed), 0
    for length in [*lengths, 0]:
        rows = np.arange(first, first + length)
        sample.add(values[rows], rows)
        first += length
    kept, rows = sample.result()
    assert rows.tolist() == sample_rows(n_rows, size, seed).tolist()
    assert len(rows) == min(size, n_rows)
    assert np.array_equal(kept, values[rows])
    assert sorted(set(rows.tolist())) == rows.tolist()


def test_a_longer_table_keeps_what_still_belongs_to_the_sample():
    small, large = (set(sample_rows(n_rows, 100).tolist()) for n_rows in (1_000, 1_500))
    assert {row for row in large if row < 1_000} <= small


def test_every_row_is_equally_likely_and_independent_of_its_neighbour():
    counts = np.zeros(30)
    pairs = 0
    for seed in range(2000):
        rows = sample_rows(30, 6, seed)
        counts[rows] += 1
        pairs += int((np.diff(rows) == 1).sum())
    assert abs(counts / 2000 - 0.2).max() < 0.05
    assert pairs / 2000 == pytest.approx(29 * (6 * 5) / (30 * 29), rel=0.1)


def test_seeds_differ():
    assert sample_rows(1000, 10, 0).tolist() != sample_rows(1000, 10, 1).tolist()


def test_rows_that_are_left_out_do_not_change_the_rest():
    values = np.arange(500.0)[:, None]
    sample = RowSample(50)
    rows = np.flatnonzero(values[:, 0] % 3 != 0)
    sample.add(values[rows[:200]], rows[:200])
    sample.add(values[rows[200:]], rows[200:])
    kept = set(sample.result()[1].tolist())
    assert kept >= {row for row in sample_rows(500, 50).tolist() if row % 3}
