import numpy as np
import pytest
from experiments.published import TABLE_1, Value
from experiments.readings import (
    ALPHAS,
    C_GRID,
    LITERAL,
    MAIN,
    MILDER,
    READINGS,
    STRETCHES,
    TAUS,
    Accuracies,
    Cell,
    choose,
    readings_of,
)
from experiments.recording import Settings
from experiments.segment_baseline import SegmentBaseline
from experiments.table_1 import make_split
from experiments.table_1_summary import difference, improvement, neighbours

from experiments import datasets


def seen(best, best_if_milder=(1.0, 0.001)):
    bests = {LITERAL: best, MILDER: best_if_milder}
    mended = {
        Cell(alpha, tau, root, C, longest): 50.0 + 10 * (alpha == bests[longest][0]) + 5 * (tau == bests[longest][1])
        for alpha in ALPHAS
        for tau in TAUS
        for root in ("continue", "stop")
        for C in C_GRID
        for longest in STRETCHES
    }
    return Accuracies(
        mended, on_test_part=dict.fromkeys(C_GRID, 80.0) | {8.0: 90.0}, cross_validated=dict.fromkeys(C_GRID, 80.0)
    )


def test_readings_choose_what_they_may():
    choices = {reading.title: choose(reading, seen((0.75, 0.064))) for reading in READINGS}
    assert choices[MAIN[LITERAL]] == (0.75, 0.016, "continue", 1.0, LITERAL)
    assert choices["C = 1, alpha and tau on split 1"] == (0.75, 0.064, "continue", 1.0, LITERAL)
    assert choices["C on split 1's test part, tau = .016, alpha on split 1"].C == 8.0
    assert choices["as the first, search stops at an anomalous root"].root == "stop"


def test_readings_with_milder_stretches_choose_under_them():
    choices = [choose(reading, seen((0.75, 0.064), best_if_milder=(0.5, 0.001))) for reading in readings_of(MILDER)]
    assert choices == [(0.5, tau, "continue", 1.0, MILDER) for tau in (0.016, 0.008, 0.032)]


def test_stretches_differ_and_splits_do_not(tmp_path):
    settings = Settings(data=tmp_path, results=tmp_path)
    literal, milder = (make_split(datasets.load("wdbc", tmp_path), 3, settings, longest) for longest in STRETCHES)
    np.testing.assert_array_equal(literal.true, milder.true)
    np.testing.assert_array_equal(literal.reference["clean"], milder.reference["clean"])
    assert (milder.corrupted != milder.true).sum(axis=1).max() == 9
    assert (milder.reference["5 %"] != milder.reference["clean"]).sum(axis=1).max() == 9
    assert (literal.corrupted != literal.true).sum(axis=1).max() == 15


def test_of_equals_the_first_in_the_grid_is_chosen():
    flat = Accuracies(
        dict.fromkeys(seen((0.75, 0.064)).mended, 50.0), dict.fromkeys(C_GRID, 1.0), dict.fromkeys(C_GRID, 1.0)
    )
    free = next(reading for reading in READINGS if reading.tau is None and reading.C == "test part")
    assert choose(free, flat) == (ALPHAS[0], TAUS[0], "continue", C_GRID[0], LITERAL)


def test_improvement_is_a_mean_of_shares():
    rows = [
        {"true": 90.0, "corrupted": 70.0, "mended": 80.0},
        {"true": 90.0, "corrupted": 80.0, "mended": 90.0},
        {"true": 90.0, "corrupted": 90.0, "mended": 80.0},
    ]
    found = improvement(rows)
    assert found.mean == pytest.approx(75)
    assert found.error == pytest.approx(25)
    assert difference(found, Value(15.0, 0.0)) == pytest.approx(60 / 25)


def test_neighbours_in_the_grid():
    assert neighbours(0.001, TAUS) == (0.001, 0.002)
    assert neighbours(0.5, ALPHAS) == (0.375, 0.5, 0.75)


def test_published_table_is_typed_in_as_the_paper_orders_it():
    tcs_best = [
        name for name, line in TABLE_1.items() if line.clean[0].mean > max(value.mean for value in line.clean[2:])
    ]
    assert len(TABLE_1) == 11
    assert sorted(set(TABLE_1) - set(tcs_best)) == ["bci", "g241c", "g241n"]


def test_segment_baseline_fills_the_bad_segment_from_the_row_like_its_neighbour():
    rng = np.random.default_rng(0)
    level = rng.random((200, 1))
    reference = np.repeat(level, 8, axis=1) + rng.normal(0, 0.01, (200, 8))
    suspects = np.full((3, 8), 0.5)
    suspects[1, 2:4] = 5.0
    repaired = SegmentBaseline(4).fit(reference, suspects).repaired(tau=0.005)
    np.testing.assert_array_equal(repaired[[0, 2]], suspects[[0, 2]])
    np.testing.assert_allclose(repaired[1], 0.5, atol=0.05)
