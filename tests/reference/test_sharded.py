"""A reference in shards gives the bits of one in memory, for any cut, with ties and with small shards."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.test_held import prepared
from tests.rows import correlated_rows

from treemend import TreeMender
from treemend.exceptions import InputError
from treemend.reference import HeldRows, Means, RawShard, ShardedRows
from treemend.tables import Scaling


class SerialCrew:
    """Keeps shards in a list, and merges answers two by two."""

    def __init__(self, shards, sizes):
        self.shards, self.sizes = shards, sizes

    @classmethod
    def cut(cls, values, cuts):
        bounds = [0, *sorted(set(cuts) - {0, len(values)}), len(values)]
        shards = [RawShard(values[a:b], a) for a, b in pairwise(bounds)]
        return cls(shards, tuple(len(shard.values) for shard in shards))

    def made(self, make, *arguments):
        return SerialCrew([make(shard, *arguments) for shard in self.shards], self.sizes)

    def ask(self, question, merge, *arguments):
        answers = [question(shard, *arguments) for shard in self.shards]
        while len(answers) > 1:
            pairs = [answers[k : k + 2] for k in range(0, len(answers), 2)]
            answers = [merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return answers[0]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_answer_is_that_of_one_place(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n_rows, width = data.draw(st.integers(6, 40)), 8
    # Coarse values, so that there are ties.
    values = rng.integers(0, data.draw(st.sampled_from([2, 4, 100])), (n_rows, width)) / 8
    alpha = data.draw(st.sampled_from([1.0, 0.75]))
    grid = data.draw(st.sampled_from([None, (2, 4, 1)]))
    held = prepared(values, 2, alpha, grid)
    cuts = data.draw(st.lists(st.integers(1, n_rows - 1), max_size=6))
    rows = ShardedRows(SerialCrew.cut(values, cuts), width)
    sharded = rows.prepared(Scaling(np.zeros(width), np.ones(width)), held.tree, grid, alpha, Means(n_jobs=1))
    asking = values[rng.integers(0, n_rows, 9)] + rng.integers(0, 2, (9, width)) / 8
    asking[0] += 1e12
    left_out = rng.integers(-1, n_rows, 9)
    n_neighbors = data.draw(st.integers(1, 4))
    holes = np.where(rng.random(asking.shape) < 0.3, np.nan, asking)
    for some in (asking, holes):
        np.testing.assert_array_equal(
            sharded.radii(some, n_neighbors, left_out), held.radii(some, n_neighbors, left_out)
        )
    numbers = rng.permutation(n_rows)[:5]
    np.testing.assert_array_equal(
        sharded.left_out_radii(numbers, n_neighbors), held.left_out_radii(numbers, n_neighbors)
    )
    limits = np.median(held.radii(asking, n_neighbors), axis=0)
    np.testing.assert_array_equal(sharded.beyond(asking, limits, n_neighbors), held.beyond(asking, limits, n_neighbors))
    nodes = rng.integers(0, held.tree.n_nodes, 9)
    np.testing.assert_array_equal(
        sharded.nearest_at_nodes(asking, nodes, n_neighbors, left_out),
        held.nearest_at_nodes(asking, nodes, n_neighbors, left_out),
    )
    observed = rng.random(asking.shape) < 0.6
    np.testing.assert_array_equal(
        sharded.nearest_on(asking, observed, n_neighbors, left_out),
        held.nearest_on(asking, observed, n_neighbors, left_out),
    )
    region, n_regions = rng.integers(-1, 2, asking.shape), np.full(9, 2)
    laid = held.unit.to_layout(asking)
    np.testing.assert_array_equal(
        sharded.nearest_outside(laid, region, n_regions, n_neighbors, left_out),
        held.nearest_outside(laid, region, n_regions, n_neighbors, left_out),
    )
    wanted = rng.integers(0, n_rows, (3, 4))
    np.testing.assert_array_equal(sharded.given(wanted), held.given(wanted))
    for ask in ("scaled", "laid"):
        (table, places), (whole, theirs) = getattr(sharded, ask)(wanted), getattr(held, ask)(wanted)
        np.testing.assert_array_equal(table[places], whole[theirs])
    np.testing.assert_array_equal(rows.some(wanted[0]), HeldRows(values).some(wanted[0]))


PARAMETERS = [
    {},
    {"layout": "correlated", "imputation": "map", "calibration_rows": 60},
    {"refine": False, "imputation": "mean", "alpha": 1.0},
    {"tau": 0.02, "scale": None},
    {"refine": False, "donors": "sibling", "imputation": "map", "calibration_rows": 70},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_mender_learns_and_mends_the_same(parameters):
    rng = np.random.default_rng(1)
    reference, suspect = correlated_rows(rng, 150, 12), correlated_rows(rng, 30, 12)
    suspect[::2, 3:7] = rng.uniform(-2, 2, (15, 4))
    suspect[1::4, 2] = np.nan
    suspect[6, 4:9] = suspect[6, 4]
    whole = TreeMender(**parameters).fit(reference)
    parts = TreeMender(**parameters)
    parts.n_features_in_ = 12
    parts._learn_rows(ShardedRows(SerialCrew.cut(reference, [1, 40, 41, 120]), 12), None)
    ours, theirs = parts.mend(suspect, n_draws=2), whole.mend(suspect, n_draws=2)
    assert theirs.corrupted.any()
    for name in ("repaired", "mask", "spread", "corrupted", "draws"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(parts.score_samples(suspect), whole.score_samples(suspect))
    np.testing.assert_array_equal(parts.score_nodes(suspect), whole.score_nodes(suspect))
    assert parts.tau_ == whole.tau_
    with pytest.raises(InputError, match="several machines"):
        parts.save("nowhere")
