"""The proof in its quick form, and the pieces that its figures rest on."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.recording import read_rows
from experiments.robustness import clean_rate, fdr, grids, missing, one_stretch, page, scattered, shuffled
from experiments.robustness.__main__ import main
from experiments.robustness.cases import Case, Damage, draw_rows
from experiments.robustness.measures import distance_quality, f1_score, fill_from_nearest, measure_case
from experiments.robustness.sets import HELD_OUT, SUBJECTS, obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import at_least, mean, number, pivot
from scipy.ndimage import label

from treemend.synthetic import KINDS

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path):
    return Settings(data=tmp_path / "none", results=tmp_path / "results", quick=True, quiet=True)


class ColumnMeans:
    """An estimator in a few lines: cells far from their column's mean are filled with it."""

    def __init__(self, *, false_alarm_rate=0.05, layout="sequence", contaminated=False):
        self.rate = false_alarm_rate

    def fit(self, reference):
        self.mean, self.deviation = np.nanmean(reference, axis=0), np.nanstd(reference, axis=0) + 1e-9
        return self

    def mend(self, rows, *, false_alarm_rate=None, fdr=None):
        mask = np.abs(rows - self.mean) > (4.0 if (false_alarm_rate or self.rate) >= 0.01 else np.inf) * self.deviation
        missing = np.isnan(rows)
        repaired = np.where(mask | missing, self.mean, rows)
        return Mended(repaired, mask, missing, np.where(mask | missing, self.deviation, np.nan))

    def fit_mend(self, table):
        return self.fit(table).mend(table)

    def score_samples(self, rows):
        return -np.nanmax(np.abs(rows - self.mean) / self.deviation, axis=1)


class Mended:
    notes = ()

    def __init__(self, repaired, mask, missing, spread):
        self.repaired, self.mask, self.missing, self.spread = repaired, mask, missing, spread
        self.corrupted = mask.any(axis=1)
        self.kinds = np.where(mask, 0, -1)

    def findings(self):
        return self


ESTIMATOR = f"{__name__}:ColumnMeans"


@pytest.mark.parametrize("name", [name for name in page.QUESTIONS if name not in {"real", "cost"}])
def test_each_question_leaves_rows_figures_and_tables(name, tmp_path):
    options = ["--quick", "--quiet", "--data", str(tmp_path / "none"), "--results", str(tmp_path / "results")]
    target = tmp_path / "accuracy.md"
    assert main([*options, "--estimator", ESTIMATOR, "--page", str(target), name]) == 0
    rows = read_rows(tmp_path / "results" / f"{name}.csv")
    assert rows
    text = target.read_text()
    assert f"| `{name}` |" in text
    assert text.count("\nNot run.\n") == len(page.QUESTIONS) - 1
    assert "{{" not in text


def test_unknown_question_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--results", str(tmp_path), "why"])
    assert "why" in capsys.readouterr().err


def test_held_out_sets_are_run_by_themselves_only(settings):
    assert HELD_OUT == ("bci", "twonorm", "g241n", "digit1", "glass", "nab_nyc_taxi")
    assert {subject.file for subject in SUBJECTS.values()} >= set(HELD_OUT)
    aside = Settings(data=settings.data, results=settings.results, held_out=True)
    assert obtainable(["digits", "twonorm"], settings) == ["digits"]
    assert obtainable(["digits", "twonorm"], aside) == ["twonorm"]
    few = Settings(data=settings.data, results=settings.results, sets=("wdbc",))
    assert obtainable(["digits", "wdbc"], few) == ["wdbc"]
    assert scattered.cases(aside) == {}


def test_splits_depend_on_their_names_and_seed_only(settings):
    one, same, other = (one_stretch._case("digits", split, settings) for split in (0, 0, 1))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert one.reference.min() >= 0
    assert one.reference.max() <= 1
    assert [damage.labels["kind"] for damage in one.damages] == list(KINDS)


def test_first_split_of_digits_has_the_rows_of_the_committed_results(settings):
    usual = Settings(data=settings.data, results=settings.results)
    results = Path(page.__file__).parents[1] / "results" / "robustness"
    committed = {
        row["rows"]
        for row in read_rows(results / "peers_one_stretch.csv")
        if (row["set"], row["split"]) == ("digits", 0)
    }
    assert committed == {one_stretch._case("digits", 0, usual).fingerprint}


def test_other_streams_are_other_rows(settings):
    first, second = (draw_rows("digits", 0, settings, stream=stream) for stream in (0, 2))
    assert np.any(first.reference != second.reference)


def test_quality_is_the_share_of_the_distance_taken_away():
    true, corrupted = np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 2.0]])
    repaired = np.array([[0.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(distance_quality(true, corrupted, repaired), [1.0, -0.5])


def test_limit_fills_by_the_rows_nearest_on_the_clean_cells():
    reference = np.vstack([np.tile([0.0, 0.0, 5.0], (8, 1)), np.tile([1.0, 1.0, 9.0], (8, 1))])
    filled = fill_from_nearest(reference)(np.array([[0.1, 0.1, 77.0]]), np.array([[False, False, True]]))
    np.testing.assert_allclose(filled, [[0.1, 0.1, 5.0]])


def test_measures_of_a_case_by_hand():
    true = np.zeros((2, 4))
    masks = np.array([[True, True, False, False], [False, False, False, True]])
    corrupted = np.where(masks, 2.0, true)
    case = Case("hand", 0, None, true, np.zeros((3, 4)), true, [Damage({"kind": "two"}, masks, corrupted)])

    def repair(rows):
        found = np.zeros(rows.shape, dtype=bool)
        if np.any(rows):
            found[0, :3] = True
        return found, np.where(found, 1.0, rows)

    case = replace(case, damages=[*case.damages, Damage({"kind": "none"}, masks, true)])
    (row,) = measure_case(case, "trial", repair, lambda rows, masks: np.where(masks, 0.0, rows))
    assert row["false_alarms"] == row["harm"] == 0
    assert row["detection"] == 0.5
    assert row["precision"] == pytest.approx(2 / 3)
    assert row["recall"] == pytest.approx(2 / 3)
    assert row["f1"] == pytest.approx(f1_score(masks, repair(corrupted)[0])) == pytest.approx(2 / 3)
    assert row["harm_inside"] == pytest.approx(1 / 5)
    assert row["quality"] == pytest.approx(0.5 * (1 - np.sqrt(3) / np.sqrt(8)))
    assert row["mask_known"] == 1


def test_correlations_are_what_they_are_called():
    np.testing.assert_allclose(scattered.a09(3), [[1, -0.9, 0.81], [-0.9, 1, -0.9], [0.81, -0.9, 1]])
    random = scattered.alyz(20, np.random.default_rng(0))
    np.testing.assert_allclose(np.diag(random), 1)
    assert np.linalg.cond(random) == pytest.approx(100, rel=0.02)


def test_structured_cells_have_the_distance_that_was_asked():
    correlation = scattered.a09(5)
    masks = np.array([[True, False, True, True, False]])
    moved = scattered._along_the_narrowest(np.zeros((1, 5)), masks, 4.0, correlation)[0]
    inside = correlation[np.ix_(masks[0], masks[0])]
    assert moved[masks[0]] @ np.linalg.solve(inside, moved[masks[0]]) == pytest.approx(16 * 3)


def test_shuffled_rows_hold_the_same_values(settings):
    ordered, shuffled_case = (shuffled._case("digits", 0, order, settings) for order in shuffled.ORDERS)
    for one, other in zip(ordered.damages, shuffled_case.damages, strict=True):
        np.testing.assert_allclose(np.sort(one.corrupted, axis=1), np.sort(other.corrupted, axis=1))
        np.testing.assert_array_equal(one.masks.sum(axis=1), other.masks.sum(axis=1))


@pytest.mark.parametrize("seed", range(20))
def test_rectangles_and_blobs_have_10_to_50_per_cent_and_are_connected(seed):
    for draw in (grids._rectangle_masks, grids._blob_masks):
        masks = draw(3, (6, 9), np.random.default_rng(seed))
        assert np.all((masks.mean(axis=1) >= 0.1) & (masks.mean(axis=1) <= 0.5))
        assert all(label(mask.reshape(6, 9))[1] == 1 for mask in masks)
    for mask in grids._rectangle_masks(3, (6, 9), np.random.default_rng(seed)).reshape(-1, 6, 9):
        assert mask.sum() == mask.any(axis=1).sum() * mask.any(axis=0).sum()


def test_shapes_of_grids_differ(settings):
    case = grids._case("digits_squares", 0, settings)
    assert [damage.labels["shape"] for damage in case.damages] == list(grids.SHAPES)


def test_column_means_have_relative_error_one(settings):
    (make,) = missing.gaps(settings).values()
    for gaps in make():
        known = gaps.rows if gaps.reference is None else gaps.reference
        filled = np.where(gaps.masks, np.nanmean(known, axis=0), gaps.true)
        assert missing.relative_error(gaps, filled) == pytest.approx(1)
        assert missing.relative_error(gaps, gaps.true) == 0
        assert not gaps.masks.all(axis=1).any()


@pytest.mark.parametrize("kind", list(clean_rate.KINDS))
def test_clean_data_have_rows_of_their_kind(kind):
    rows = clean_rate.KINDS[kind](50, np.random.default_rng(0))
    assert rows.shape == (50, clean_rate.D)
    assert np.isfinite(rows).all()
    assert np.ptp(rows) > 0


def test_best_threshold_in_hindsight():
    dirty = np.array([True, True, False, True, False])
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    assert fdr.best_power(scores, dirty, 0.1) == pytest.approx(2 / 3)
    assert fdr.best_power(scores, dirty, 0.3) == 1
    assert fdr.best_power(np.ones(5), dirty, 0.1) == 0


def test_means_leave_out_what_is_not_a_number():
    rows = [{"a": 1}, {"a": 3.0}, {"a": ""}, {"a": float("nan")}, {}]
    assert mean(rows, "a") == 2
    assert np.isnan(mean([], "a"))


def test_numbers_as_text():
    assert [number(value) for value in (0.5, -0.25, 0.031, 1e-5, float("nan"), 0)] == [
        "0.50", "−0.25", "0.031", "1e−05", "", "0.00",
    ]  # fmt: skip


def test_tables_show_the_earlier_figure_behind():
    now = [{"set": "x", "kind": "a", "v": 0.5}, {"set": "y", "kind": "a", "v": 1.0}]
    lines = list(pivot(now, [{"set": "x", "kind": "a", "v": 0.25}], "set", "kind", "v"))
    assert lines == [
        "| set | a |",
        "|---|---|",
        "| x | 0.50 (0.25) |",
        "| y | 1.00 |",
        "| **mean** | 0.75 (0.25) |",
        "",
    ]


def test_figures_say_whether_they_are_met():
    (met,) = at_least(0.5, "s", "q", [{"v": 0.6}], [{"v": 0.2}], "v")
    (missed,) = at_least(0.5, "s", "q", [{"v": 0.4}], [], "v")
    assert (met.met, met.earlier, missed.met, missed.earlier) == (True, "0.20", False, "")
    assert list(at_least(0.5, "s", "q", [], [], "v")) == []


def test_the_committed_page_is_made_of_the_committed_results(tmp_path):
    root = Path(page.__file__).parents[2]
    for folder in ("docs", "experiments/results"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copytree(root / "experiments/results/robustness", tmp_path / "experiments/results/robustness")
    written = tmp_path / "docs" / "accuracy.md"
    page.write(Settings(data=tmp_path, results=tmp_path / "experiments/results/robustness"), written)
    assert written.read_text() == (root / "docs" / "accuracy.md").read_text()
