"""What the pictures show: the drawn data are compared, not pixels."""

import subprocess
import sys

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from treemend import plots
from treemend.exceptions import InputError
from treemend.report.findings import KINDS, Findings, Rule
from treemend.result import Result
from treemend.tcs import build_tree


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def findings(before=None, after=None, **more):
    before = np.arange(12.0).reshape(2, 6) if before is None else np.asarray(before, dtype=float)
    after = before if after is None else np.asarray(after, dtype=float)
    return Findings(**{"before": before, "after": after, "mask": before != after} | more)


def result_of(found):
    return Result(None, None, found.mask.any(axis=1), None, None, None, None, [], found)


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_row_shows_both_values_and_the_replaced_cells():
    before, after = np.arange(6.0)[None], np.array([[0, 1, 9, 9, 4, 8.0]])
    (ax,) = result_of(findings(before, after)).plot_row(0, true=before[0] + 1).axes
    assert np.array_equal(lines(ax)["before"], before[0])
    assert np.array_equal(lines(ax)["after"], after[0])
    assert np.array_equal(lines(ax)["true"], before[0] + 1)
    shaded = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert shaded == [(1.5, 3.5), (4.5, 5.5)]
    assert legend(ax) == ["replaced", "true", "before", "after"]


def test_row_follows_the_layout_and_names_columns_kinds_and_the_row():
    order = np.array([2, 0, 1, 5, 4, 3])
    mask = np.zeros((2, 6), dtype=bool)
    mask[1, [0, 2]] = True
    kinds = np.where(mask, KINDS.index("shifted"), -1).astype(np.int8)
    found = findings(
        mask=mask,
        kinds=kinds,
        order=order,
        names=list("abcdef"),
        row_ids=["x", "y"],
        p_values=np.array([0.5, 0.003]),
        unusual=np.array([True, False]),
    )
    (ax,) = result_of(found).plot_row(1).axes
    assert np.array_equal(lines(ax)["before"], found.before[1][order])
    assert ticks(ax.xaxis) == list("cabfed")
    assert [(patch.get_x(), patch.get_width()) for patch in ax.patches] == [(-0.5, 2)]
    assert [text.get_text() for text in ax.texts] == ["shifted"]
    assert ax.get_title(loc="left") == "row y, p = 0.003"
    assert "unusual, left as it is" in result_of(found).plot_row(0).axes[0].get_title(loc="left")


def test_row_shows_the_spread_and_what_was_missing():
    after, spread = np.arange(5.0)[None], np.array([[np.nan, 0.5, 1.0, np.nan, np.nan]])
    missing = np.array([[False, False, False, False, True]])
    found = findings(after, mask=~np.isnan(spread), spread=spread, missing=missing)
    (ax,) = result_of(found).plot_row(0).axes
    (band,) = ax.collections
    corners = {tuple(corner) for path in band.get_paths() for corner in path.vertices}
    assert {(1.0, 0.5), (1.0, 1.5), (2.0, 1.0), (2.0, 3.0)} <= corners
    assert all(1 <= x <= 2 for x, _ in corners)
    assert legend(ax) == ["replaced", "was missing", "spread", "before", "after"]


def test_columns_of_different_units_share_an_axis_by_their_ranges():
    low, high = np.array([0.0, -1.0, 5.0]), np.array([1000.0, 1.0, 5.0])
    found = findings([[500.0, 0.5, 6.0]], reference_low=low, reference_high=high)
    (ax,) = result_of(found).plot_row(0).axes
    assert np.allclose(lines(ax)["before"], [0.5, 0.75, 1.0])
    assert ax.get_ylabel() == "share of the reference's range"
    alike = findings([[500.0, 0.5, 6.0]], reference_low=low, reference_high=low + 3)
    assert np.array_equal(lines(result_of(alike).plot_row(0).axes[0])["before"], [500.0, 0.5, 6.0])


def test_row_of_a_grid_is_drawn_as_pictures_with_a_colour_bar():
    before = np.arange(6.0)[None]
    after = before.copy()
    after[0, 4] = -3
    *pictures, bar = result_of(findings(before, after, grid=(2, 3))).plot_row(0, true=before[0]).axes
    assert [ax.get_title() for ax in pictures] == ["before", "replaced", "after", "true"]
    assert np.array_equal(pictures[2].images[0].get_array(), after.reshape(2, 3))
    assert np.array_equal(pictures[1].images[0].get_array(), (before != after).reshape(2, 3))
    assert pictures[0].images[0].get_clim() == pictures[2].images[0].get_clim() == (-3, 5)
    assert bar.get_ylabel() == "value"


def test_coloured_images_are_drawn_as_such():
    before = np.arange(12.0)[None]
    after = np.where(before == 4, -1, before)
    result_of(findings(np.where(before == 4, np.nan, before), after, grid=(2, 2, 3))).plot_row(0).canvas.draw()
    pictures = result_of(findings(before, after, grid=(2, 2, 3))).plot_row(0).axes
    assert [ax.get_title() for ax in pictures] == ["before", "replaced", "after"]
    assert np.allclose(pictures[0].images[0].get_array(), (before.reshape(2, 2, 3) + 1) / 12)
    assert pictures[1].images[0].get_array().tolist() == [[False, True], [False, False]]
    assert len(result_of(findings(before, after, grid=(2, 6, 1))).plot_row(0).axes) == 4
    assert "before" in lines(result_of(findings(before, after, grid=(2, 3, 2))).plot_row(0).axes[0])


def test_a_row_without_filled_cells_has_no_spread_to_show():
    (ax,) = result_of(findings(spread=np.full((2, 6), np.nan))).plot_row(0).axes
    assert legend(ax) == ["before", "after"]


def test_row_is_drawn_where_asked():
    figure, ax = pyplot.subplots()
    assert result_of(findings()).plot_row(0, ax=ax) is figure
    assert not ax.patches


def test_a_row_that_is_not_there():
    with pytest.raises(InputError, match="row must be between 0 and 1, got 2"):
        result_of(findings()).plot_row(2)


def colours(ax):
    (image,) = ax.images
    return [[to_hex(cell) for cell in line] for line in image.get_array()]


def test_map_tells_replaced_from_missing_and_unusual():
    mask = np.array([[True, False, False], [False, False, True], [False] * 3])
    missing = np.array([[True, True, False], [False, False, False], [False] * 3])
    unusual = np.array([False, False, True])
    found = findings(np.zeros((3, 3)), mask=mask, missing=missing, unusual=unusual, row_ids=["a", "b", "c"])
    (ax,) = result_of(found).plot_map().axes
    orange, sky, pale, yellow = (colour.lower() for colour in (plots.ORANGE, plots.SKY, plots.PALE, plots.YELLOW))
    assert colours(ax) == [[orange, sky, pale], [pale, pale, orange], [yellow] * 3]
    assert legend(ax) == ["as it came", "replaced", "was missing", "row left as it is: unusual"]
    assert ticks(ax.yaxis) == ["a", "b", "c"]


def test_map_colours_the_kinds_in_layout_order():
    kinds = np.array([[-1, 0, 3], [1, -1, -1]], dtype=np.int8)
    found = findings(np.zeros((2, 3)), mask=kinds >= 0, kinds=kinds, order=np.array([2, 1, 0]), names=["a", "b", "c"])
    (ax,) = result_of(found).plot_map().axes
    noise, foreign, _, stuck = (colour.lower() for colour in plots.KIND_COLOURS)
    assert colours(ax) == [[stuck, noise, plots.PALE], [plots.PALE, plots.PALE, foreign]]
    assert legend(ax) == ["as it came", "noise", "foreign", "stuck"]
    assert ticks(ax.xaxis) == ["c", "b", "a"]


def test_a_map_of_many_cells_is_shaded_by_share():
    mask = np.zeros((1_990, 3), bool)
    mask[105:110, 1], mask[1_980:, 2] = True, True
    (ax,) = result_of(findings(np.zeros(mask.shape), mask=mask, names=["a", "b", "c"])).plot_map().axes
    drawn = np.array(colours(ax))
    assert drawn.shape == (285, 3)
    assert drawn[283].tolist() == [plots.PALE, plots.PALE, plots.ORANGE.lower()]
    assert drawn[15, 1] not in (plots.PALE, plots.ORANGE.lower())
    assert (drawn != plots.PALE).sum() == 4
    assert tuple(ax.images[0].get_extent()) == (-0.5, 2.5, 1989.5, -0.5)
    assert ax.get_ylabel() == "row, in blocks shaded by share, up to 100%"
    assert result_of(findings(np.zeros((3, 900)))).plot_map().axes[0].images[0].get_array().shape == (3, 300, 3)


@pytest.mark.parametrize("mask", [np.zeros((2, 3), bool), np.ones((2, 3), bool)])
def test_map_of_nothing_and_of_everything(mask):
    (ax,) = result_of(findings(np.zeros((2, 3)), mask=mask)).plot_map().axes
    assert legend(ax) == ["replaced" if mask.all() else "as it came"]


SCORES = np.array([[0.5, 0.1, 0.9, 0.0, 0.8, 0.7, np.nan], [1.0] * 7])


def tree_findings(**more):
    return findings(
        np.zeros((2, 8)), tree=build_tree(8, 2), node_scores=lambda rows: SCORES[rows], **{"names": None} | more
    )


def test_tree_draws_every_node_and_frames_the_anomalous_ones():
    figure = result_of(tree_findings(rule=Rule("tau", 0.15), names=list("abcdefgh"))).plot_tree(0)
    ax, bar = figure.axes
    tree = build_tree(8, 2)
    boxes = [patch for patch in ax.patches if patch.get_fill()]
    frames = [patch for patch in ax.patches if not patch.get_fill()]
    assert [(box.get_x(), box.get_width(), box.get_y()) for box in boxes] == [
        (start, stop - start, depth) for start, stop, depth in zip(tree.start, tree.stop, tree.depth, strict=True)
    ]
    assert [round(frame.get_x()) for frame in frames] == [0, 0]
    assert [round(frame.get_y()) for frame in frames] == [1, 2]
    assert ax.get_xlim() == (0, 8)
    brightness = [sum(box.get_facecolor()[:3]) for box in boxes]
    assert np.array_equal(np.argsort(brightness[:6]), np.argsort(SCORES[0, :6]))
    assert legend(ax) == ["anomalous: score at most 0.15"]
    assert ticks(ax.xaxis) == list("abcdefgh")
    assert bar.get_ylabel() == "score"


def test_tree_without_a_threshold_frames_nothing():
    ax = result_of(tree_findings(rule=Rule("rate", 0.05))).plot_tree(1).axes[0]
    assert all(patch.get_fill() for patch in ax.patches)
    by_rate = result_of(tree_findings(rule=Rule("rate", 0.05, tau=0.15))).plot_tree(0).axes[0]
    assert sum(not patch.get_fill() for patch in by_rate.patches) == 2
    framed = result_of(tree_findings()).plot_tree(1, tau=1.0).axes[0]
    assert sum(not patch.get_fill() for patch in framed.patches) == 7


def test_tree_needs_a_tree():
    with pytest.raises(InputError, match="needs a result of treemend.TCS"):
        result_of(findings()).plot_tree(0)


def test_images_share_one_scale_and_masks_have_their_own():
    rng = np.random.default_rng(0)
    grey, mask = rng.uniform(-3, 7, (4, 5, 6)), rng.random((4, 5, 6)) < 0.5
    figure = plots.plot_images({"before": grey, "found": mask, "after": grey[:3] / 2}, columns=3)
    axes = np.array(figure.axes).reshape(3, 3)
    assert [line[0].get_ylabel() for line in axes] == ["before", "found", "after"]
    assert np.array_equal(axes[0, 2].images[0].get_array(), grey[2])
    assert np.array_equal(axes[1, 1].images[0].get_array(), mask[1])
    limits = {ax.images[0].get_clim() for ax in (*axes[0], *axes[2])}
    assert limits == {(grey[:3].min(), grey[:3].max())}


def test_coloured_images_and_masks_alone():
    rng = np.random.default_rng(0)
    coloured, mask = rng.uniform(0, 255, (2, 4, 4, 3)), rng.random((2, 4, 4, 3)) < 0.3
    figure = plots.plot_images({"before": coloured, "found": mask})
    shown = figure.axes[0].images[0].get_array()
    assert shown.shape == (4, 4, 3)
    assert 0 <= shown.min() <= shown.max() <= 1
    assert np.array_equal(figure.axes[2].images[0].get_array(), mask[0].any(axis=2))
    assert len(plots.plot_images({"found": mask[..., 0]}).axes) == 2


def test_plots_load_matplotlib_only_when_they_draw():
    code = "import treemend.plots, sys; print('matplotlib' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_results_draw_themselves():
    found = tree_findings(rule=Rule("tau", 0.15))
    result = Result(None, None, found.mask.any(axis=1), None, None, None, None, [], lambda: found)
    _, axes = pyplot.subplots(3)
    result.plot_row(0, true=np.ones(8), ax=axes[0])
    assert np.array_equal(lines(axes[0])["true"], np.ones(8))
    result.plot_map(ax=axes[1])
    assert legend(axes[1]) == ["as it came"]
    result.plot_tree(0, tau=0.6, ax=axes[2])
    assert legend(axes[2]) == ["anomalous: score at most 0.6"]
