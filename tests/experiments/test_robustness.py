"""The proof in its quick form, and the pieces that its figures rest on."""

import numpy as np
import pytest
from experiments.recording import read_rows
from experiments.robustness import sweep
from experiments.robustness.__main__ import main
from experiments.robustness.cases import draw_case
from experiments.robustness.kinds import KINDS, corrupt, square_masks, stretch_masks
from experiments.robustness.measures import distance_quality, limit_repair


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_stretches_cover_a_tenth_to_a_half(rng):
    masks = stretch_masks(200, 30, rng)
    widths = masks.sum(axis=1)
    assert widths.min() == 3
    assert widths.max() == 15
    assert np.all(np.abs(np.diff(masks.astype(int), axis=1)).sum(axis=1) <= 2)


@pytest.mark.parametrize(("grid", "sides"), [((8, 8), {3, 4, 5}), ((16, 16), {5, 6, 7, 8, 9, 10, 11})])
def test_squares_have_the_papers_sides(grid, sides, rng):
    masks = square_masks(300, grid, rng)
    assert set(np.sqrt(masks.sum(axis=1)).astype(int)) == sides


@pytest.mark.parametrize("kind", KINDS)
def test_corruption_stays_inside_its_mask(kind, rng):
    true, others = rng.random((20, 12)), rng.random((5, 12))
    masks = stretch_masks(20, 12, rng)
    corrupted = corrupt(kind, true, masks, others, rng)
    np.testing.assert_array_equal(corrupted[~masks], true[~masks])
    assert np.any(corrupted != true)


def test_kinds_do_what_their_names_say(rng):
    true, others = rng.random((4, 10)), rng.random((1, 10))
    masks = np.zeros((4, 10), dtype=bool)
    masks[:, 3:6] = True
    assert np.all(corrupt("zero", true, masks, others, rng)[:, 3:6] == 0)
    np.testing.assert_array_equal(corrupt("stuck", true, masks, others, rng)[:, 3:6], np.tile(true[:, 3:4], 3))
    np.testing.assert_array_equal(corrupt("swap", true, masks, others, rng)[:, 3:6], np.tile(others[:, 3:6], (4, 1)))
    np.testing.assert_allclose(np.abs(corrupt("offset", true, masks, others, rng) - true)[:, 3:6], 0.3)
    with pytest.raises(ValueError, match="kind must be one of"):
        corrupt("rust", true, masks, others, rng)


def test_quality_is_the_share_of_the_distance_taken_away():
    true, corrupted = np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 2.0]])
    repaired = np.array([[0.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(distance_quality(true, corrupted, repaired), [1.0, -0.5])


def test_limit_fills_by_the_rows_nearest_on_the_clean_attributes():
    reference = np.vstack([np.tile([0.0, 0.0, 5.0], (8, 1)), np.tile([1.0, 1.0, 9.0], (8, 1))])
    rows = np.array([[0.1, 0.1, 77.0]])
    np.testing.assert_allclose(limit_repair(reference, rows, np.array([[False, False, True]])), [[0.1, 0.1, 5.0]])


def test_cases_depend_on_their_names_and_seed_only(tmp_path):
    one, same, other = (draw_case("digits", split, tmp_path, quick=True) for split in (0, 0, 1))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert one.reference.min() >= 0
    assert one.reference.max() <= 1
    assert len(one.clean) == len(one.true)
    assert set(one.corrupted) == set(KINDS)


def test_quick_form_leaves_results_and_a_page(tmp_path):
    options = ["--quick", "--quiet", "--data", str(tmp_path / "none"), "--results", str(tmp_path / "results")]
    assert main([*options, "--page", str(tmp_path / "accuracy.md"), "sweep", "improvement"]) == 0
    rows = read_rows(tmp_path / "results" / "sweep.csv")
    assert {row["method"] for row in rows} == {"default", "published", "limit"}
    assert {row["set"] for row in rows} == {"digits", "digits_squares"}
    assert sweep.false_alarms(rows)["digits"] < 0.3
    text = (tmp_path / "accuracy.md").read_text()
    assert "Row false alarms at 5 % asked" in text
    assert "## Cost\n\nNot run." in text
    assert (tmp_path / "results" / "sweep.png").stat().st_size > 0


def test_unknown_question_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--results", str(tmp_path), "why"])
    assert "why" in capsys.readouterr().err
