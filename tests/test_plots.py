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
from treemend.tree import build_tree, lay_out


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def test_row_shows_both_values_and_the_found_stretches():
    before, after = np.arange(6.0), np.array([0, 1, 9, 9, 4, 8.0])
    ax = plots.plot_row(before, after, before != after, true=before + 1)
    assert set(lines(ax)) == {"as it came", "repaired", "true"}
    assert np.array_equal(lines(ax)["as it came"], before)
    assert np.array_equal(lines(ax)["repaired"], after)
    assert np.array_equal(lines(ax)["true"], before + 1)
    shaded = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert shaded == [(1.5, 3.5), (4.5, 5.5)]


def test_row_shows_the_spread_where_something_was_put_back():
    after, spread = np.arange(5.0), np.array([np.nan, 0.5, 1.0, np.nan, np.nan])
    ax = plots.plot_row(after, after, ~np.isnan(spread), spread=spread)
    (band,) = ax.collections
    corners = {tuple(corner) for path in band.get_paths() for corner in path.vertices}
    assert {(1.0, 0.5), (1.0, 1.5), (2.0, 1.0), (2.0, 3.0)} <= corners
    assert all(1 <= x <= 2 for x, _ in corners)


def test_row_is_drawn_where_asked():
    ax = pyplot.subplots()[1]
    assert plots.plot_row([1, 2], [1, 2], [False, False], ax=ax) is ax
    assert not ax.patches


def test_map_tells_found_from_missing():
    mask = np.array([[True, False, False], [False, False, True]])
    missing = np.array([[True, True, False], [False, False, False]])
    (image,) = plots.plot_map(mask, missing=missing).images
    colours = [[to_hex(image.to_rgba(value)) for value in line] for line in image.get_array()]
    orange, sky, pale = plots.ORANGE.lower(), plots.SKY.lower(), plots.PALE
    assert colours == [[orange, sky, pale], [pale, pale, orange]]


@pytest.mark.parametrize("mask", [np.zeros((2, 3), bool), np.ones((2, 3), bool)])
def test_map_without_missing_values(mask):
    (image,) = plots.plot_map(mask).images
    assert np.array_equal(image.get_array(), 2 * mask)


def test_tree_draws_every_node_and_frames_the_anomalous_ones():
    tree = build_tree(lay_out("sequence", 8), depth=2)
    scores = np.array([0.5, 0.1, 0.9, 0.0, 0.8, 0.7, np.nan])
    ax = plots.plot_tree(tree, scores, tau=0.15)
    boxes = [patch for patch in ax.patches if patch.get_fill()]
    frames = [patch for patch in ax.patches if not patch.get_fill()]
    assert [(box.get_x(), box.get_width(), box.get_y()) for box in boxes] == [
        (start, stop - start, depth) for start, stop, depth in zip(tree.start, tree.stop, tree.depth, strict=True)
    ]
    assert [round(frame.get_x()) for frame in frames] == [0, 0]
    assert [round(frame.get_y()) for frame in frames] == [1, 2]
    assert ax.get_xlim() == (0, 8)
    brightness = [sum(box.get_facecolor()[:3]) for box in boxes]
    assert np.array_equal(np.argsort(brightness[:6]), np.argsort(scores[:6]))


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


def test_stretches():
    assert plots.stretches(np.zeros(3, bool)) == []
    assert plots.stretches(np.ones(3, bool)) == [(0, 3)]


def test_plots_load_matplotlib_only_when_they_draw():
    code = "import treemend.plots, sys; print('matplotlib' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
