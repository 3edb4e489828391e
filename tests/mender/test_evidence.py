import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mender.densities import complete_scan, learn_detector, weigh_rows
from tests.mender.naive_sets import density_of, random_density, shifted_density

from treemend.mender.density import make_density
from treemend.mender.detection import Detection
from treemend.mender.evidence import (
    FOREIGN,
    NOISE,
    SHIFTED,
    likely_components,
    prepare_scans,
    window_evidence,
)
from treemend.mender.layout import Layout
from treemend.mender.windows import lay_cells, lay_windows


@pytest.fixture(scope="module")
def learnt():
    rng = np.random.default_rng(0)
    clean = np.cumsum(rng.normal(size=(150, 12)), axis=1)
    return learn_detector(clean, Layout(np.arange(12)), 0, 1)[0], clean


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 7))
def test_the_best_window_of_each_kind_is_that_of_the_formulas(seed, n_components, d):
    rng = np.random.default_rng(seed)
    density = random_density(rng, d, n_components)
    rows, u = rng.normal(size=(3, d)), rng.uniform(0, 2, (3, d))
    scan = complete_scan(density, Layout(np.arange(d)))
    found = window_evidence([(scan, rows, u)], 1)[0]
    every = np.ones(d, bool)
    for i, row in enumerate(rows):
        whole = density_of(density, row, every)
        values = []
        for v in range(len(scan.windows.size)):
            inside = np.zeros(d, bool)
            inside[scan.windows.cells(v)] = True
            rest = density_of(density, row, ~inside) - whole
            alone, moved = density_of(density, row, inside), shifted_density(density, row, inside) - whole
            values.append((rest + u[i, inside].sum(), rest + alone, moved))
        np.testing.assert_allclose(found.values[i], np.max(values, axis=0), atol=1e-7)
        for kind, window in enumerate(found.window[i]):
            assert values[window][kind] == pytest.approx(found.values[i, kind], abs=1e-7)
        assert found.log_density[i] == pytest.approx(whole, abs=1e-8)
        for j in range(d):
            alone = density_of(density, row, np.arange(d) != j) - whole + u[i, j]
            assert found.cells[i, j] == pytest.approx(alone, abs=1e-7)


def test_missing_cells_are_marginalised():
    rng = np.random.default_rng(3)
    density = random_density(rng, 6, 2)
    row, u = rng.normal(size=6), rng.uniform(0, 1, 6)
    observed = np.array([True, False, True, True, False, True])
    (scan,) = prepare_scans(Layout(np.arange(6)), [(density, observed, np.ones(2, bool))])
    (found,) = window_evidence([(scan, row[None, observed], u[None, observed])], 1)
    assert found.log_density[0] == pytest.approx(density_of(density, row, observed), abs=1e-9)


def test_parts_cover_every_wanted_row_once(learnt, monkeypatch):
    detector, clean = learnt
    values = clean[:40].copy()
    values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
    rows, log_slope = detector.clean.columns.to_rows(values)
    wanted = np.arange(40) % 5 > 0
    for at_once in (1, 1000):
        monkeypatch.setattr("treemend.mender.detection.MOST_PREPARED", at_once * 12**2)
        detection, numbers = Detection([detector], values, np.zeros(40, np.int64)), []
        for parts in detection._parts(wanted):
            assert len(parts) <= at_once
            for part in parts:
                assert (np.flatnonzero(~np.isnan(rows[part.members[0]])) == part.cells).all()
                np.testing.assert_array_equal(detection.rows[part.block], rows[part.block])
                np.testing.assert_array_equal(detection.noise[part.block], log_slope[part.block])
                laid = values[:, detection.layout.order]
                np.testing.assert_array_equal(detection.values[part.block], laid[part.block])
                assert not np.isnan(detection.rows[part.block]).any()
                assert part.scan.density.centre.shape[1] == len(part.cells)
                numbers.extend(part.members)
        assert sorted(numbers) == list(np.flatnonzero(wanted))


def test_a_corrupted_cell_does_not_decide_which_components_are_likely():
    density = make_density(
        np.arange(6.0)[:, None] * np.ones(8), np.broadcast_to(0.1 * np.eye(8), (6, 8, 8)), np.zeros(6)
    )
    rows = np.full((1, 8), 0.1)
    rows[0, 2:4] = 90.0, np.nan
    assert likely_components(density, rows).tolist() == [[True] * 4 + [False] * 2]


def test_runs_end_at_the_borders_of_groups():
    groups = np.repeat([0, 1, 2], [3, 5, 4])
    cells = lay_cells(Layout(np.arange(12), groups=groups))
    windows = lay_windows(cells)
    for v in range(len(windows.size)):
        assert len(set(groups[windows.cells(v)])) == 1
    assert list(np.flatnonzero(~cells.joined)) == [0, 3, 8]


def test_windows_of_a_grid_are_squares():
    windows = lay_windows(lay_cells(Layout(np.arange(64), grid=(8, 8, 1))))
    for v in range(len(windows.size)):
        line, column = np.divmod(windows.cells(v), 8)
        assert len(line) == (np.ptp(line) + 1) * (np.ptp(column) + 1)
        assert np.ptp(line) == np.ptp(column)


def test_a_row_has_the_same_bits_in_any_company(learnt):
    detector, clean = learnt
    rng = np.random.default_rng(1)
    values = clean[:70] + rng.normal(size=(70, 12)) * (rng.random((70, 12)) < 0.1)
    values[rng.random(values.shape) < 0.05] = np.nan

    def judged(part, n_jobs):
        return weigh_rows(detector, part, n_jobs)

    together, threaded = judged(values, 1), judged(values, 2)
    order = rng.permutation(70)
    shuffled = judged(values[order], 1)
    for name in ("evidence", "stuck", "slopes"):
        np.testing.assert_array_equal(getattr(together, name), getattr(threaded, name))
        np.testing.assert_array_equal(getattr(together, name)[order], getattr(shuffled, name))
    np.testing.assert_array_equal(together.statistics()[order], shuffled.statistics())
    for whole, other in zip(together.windows, shuffled.windows, strict=True):
        np.testing.assert_array_equal(whole[order], other)
    alone = judged(values[5:6], 1)
    np.testing.assert_array_equal(alone.evidence[0], together.evidence[5])


def test_kinds_of_evidence_answer_to_their_kind(learnt):
    detector, clean = learnt
    shifted = clean[:60].copy()
    shifted[:, 4:8] += 6.0
    swapped = clean[:60].copy()
    swapped[:, 5:10] = clean[60:120, 5:10]
    noisy = clean[:60].copy()
    noisy[:, 5:10] = np.random.default_rng(0).uniform(clean.min(), clean.max(), (60, 5))
    for rows, kind in ((shifted, SHIFTED), (swapped, FOREIGN), (noisy, NOISE)):
        found = weigh_rows(detector, rows, 1)
        ordinary = weigh_rows(detector, clean[:60], 1)
        assert np.median(found.evidence[:, kind]) > np.quantile(ordinary.evidence[:, kind], 0.95)
