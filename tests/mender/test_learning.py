import numpy as np
import pytest
from tests.mender.densities import learn_detector
from tests.mender.test_density import two_clusters

from treemend.mender.density import Shape
from treemend.mender.layout import Layout
from treemend.mender.learning import FOLDS


@pytest.mark.parametrize("n_components", [1, 3])
def test_a_fold_learns_nothing_from_the_rows_it_judges(n_components, monkeypatch):
    monkeypatch.setattr("treemend.mender.learning.choose_shape", lambda *_: Shape(n_components, 0.05))
    rows = two_clusters(60, 4, 3)
    # Within the ranges of the columns, which is all that folds share.
    changed = rows.copy()
    changed[7] = rows[8]
    one, two = (learn_detector(values, Layout(np.arange(4)))[1] for values in (rows, changed))
    fold = one.detection.fold[7]
    for known in ("centre", "lower"):
        learnt = [[getattr(one.clean.density, known) for one in found.detection.detectors] for found in (one, two)]
        np.testing.assert_array_equal(learnt[0][fold], learnt[1][fold])
        assert not np.array_equal(learnt[0][fold - 1], learnt[1][fold - 1])
    np.testing.assert_array_equal(*(found.detection.detectors[fold].clean.columns.scale for found in (one, two)))


@pytest.mark.parametrize(
    ("n", "d", "n_folds"),
    [(501, 10, FOLDS), (500, 10, 2 * FOLDS), (501, 126, 2 * FOLDS), (39, 10, 2 * FOLDS), (7, 10, 7), (2, 10, 2)],
)
def test_few_rows_have_more_folds(n, d, n_folds):
    found = learn_detector(np.random.default_rng(0).normal(size=(n, d)), Layout(np.arange(d)))[1]
    assert len(found.detection.detectors) == len(np.unique(found.detection.fold)) == n_folds
