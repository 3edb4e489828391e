"""How much the kernels do, counted and not timed: what would make them slow must not come back unseen.

Operations are counted in the interpreted kernels, comparators in the networks, and instructions in what the
compiler makes of the innermost loops.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.kernels.examples import correlated, halving_tree

import treemend
from treemend import kernels

COUNTING = """
import json
from collections import Counter
import numpy as np
from tests.kernels.examples import correlated, halving_tree
from treemend import kernels
from treemend.kernels import euclidean, lone_nodes, ranked_labels, ranked_lists, witnesses

counts = Counter()

def count(module, *names):
    for name in names:
        def counted(*arguments, name=name, function=getattr(module, name)):
            counts[module.__name__.rpartition(".")[2] + "." + name] += 1
            return function(*arguments)
        setattr(module, name, counted)

count(euclidean, "add_square", "add_four", "insert_in_lanes", "store")
count(ranked_lists, "even_sums", "insert_in_lanes")
count(lone_nodes, "add_square")
count(ranked_labels, "even_sums")
count(witnesses, "squared_distance")
generator = np.random.default_rng(0)
tree = halving_tree(16, 2)
reference, rows = correlated(generator, 320, 16), correlated(generator, 4, 16)
euclid, ranked = (kernels.pack(reference, tree, alpha) for alpha in (1.0, 0.75))
few = kernels.pack(reference[:64], tree, 0.75)
some = np.arange(100, 140)
euclid_thresholds, ranked_thresholds = (
    kernels.left_out_radii(each, 3, rows=some, n_jobs=1).max(axis=0) for each in (euclid, ranked)
)
found = {}
for name, task in {
    "euclid": lambda: kernels.node_radii(euclid, rows, 3, n_jobs=1),
    "left out": lambda: kernels.left_out_radii(few, 3, n_jobs=1),
    "labels": lambda: kernels.node_labels(euclid, reference[:8], euclid_thresholds, 3, n_jobs=1),
    "ranked labels": lambda: kernels.node_labels(ranked, reference[:8], ranked_thresholds, 3, n_jobs=1),
}.items():
    counts.clear()
    task()
    found[name] = dict(counts)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def counted():
    source, root = Path(treemend.__file__).parents[1], Path(__file__).parents[2]
    path = os.pathsep.join([str(source), str(root)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", COUNTING], check=True, env=environment, capture_output=True, text=True)
    return json.loads(run.stdout)


def test_each_difference_is_squared_once_and_inner_nodes_only_add(counted):
    n_blocks, n_attributes, n_inner, n_left = 20, 16, 3, 4
    counts = counted["euclid"]
    assert counts["euclidean.add_square"] == 4 * n_blocks * n_attributes
    assert counts["euclidean.add_four"] == n_blocks * n_inner
    assert counts["euclidean.store"] <= 4 * n_blocks * (7 + n_left)


def test_few_reference_rows_enter_a_list(counted):
    """Expected are about length * (1 + ln(N / length)) of 320 in each of the 28 lists."""
    counts = counted["euclid"]
    assert 28 * 5 <= counts["euclidean.insert_in_lanes"] <= 28 * 5 * (1 + np.log(320 / 5)) * 1.1


def test_each_pair_of_reference_rows_is_computed_once(counted):
    assert counted["left out"]["ranked_lists.even_sums"] == 16 * (4 + 3 + 2 + 1)


def test_labels_stop_early(counted):
    """Of eight rows and 20 blocks of 16 attributes, a part decides; near thresholds a few exact distances do."""
    labels = counted["labels"]
    assert labels["euclidean.add_square"] + labels.get("lone_nodes.add_square", 0) <= 0.25 * 8 * 20 * 16
    assert counted["ranked labels"]["ranked_labels.even_sums"] <= 0.4 * 8 * 20
    assert labels.get("witnesses.squared_distance", 0) <= 10


@pytest.mark.parametrize(
    ("width", "depth", "alpha", "pruned", "full"), [(256, 6, 0.75, 2748, 3839), (100, 5, 0.5, 840, 1077)]
)
def test_networks_have_no_dead_comparators(width, depth, alpha, pruned, full):
    from treemend.kernels.networks import full_network, pruned_network

    nodes = kernels.pack(np.zeros((3, width)), halving_tree(width, depth), alpha).nodes
    assert len(pruned_network(nodes).low) <= pruned
    assert len(full_network(nodes).low) <= full


@pytest.fixture(scope="module")
def assembly():
    """The machine's instructions for the shortlists at alpha = 1, compiled afresh."""
    import numba
    from llvmlite import binding

    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled in this run")
    features = binding.get_host_cpu_features()
    if not (features.get("avx2") and features.get("fma")):
        pytest.skip("this machine has no AVX2 with fused multiply-add, whose instructions are counted")
    from treemend.kernels.euclidean import euclidean_shortlists

    packed = kernels.pack(correlated(np.random.default_rng(0), 40, 8), halving_tree(8, 1), 1.0)
    rows = np.zeros((4, 8), dtype=np.float32)
    lists = np.full((4, 3, 16), np.inf, dtype=np.float32), np.full((4, 3, 16), -1, dtype=np.int32)
    compiled = numba.njit(nogil=True, error_model="numpy")(euclidean_shortlists.py_func)
    compiled(packed.estimate, rows, np.full(4, -1), packed.nodes, *lists, 5)
    (text,) = compiled.inspect_asm().values()
    return [line.split("#")[0] for line in text.splitlines()]


def occurrences(lines, pattern):
    return sum(bool(re.search(pattern, line)) for line in lines)


def test_four_rows_go_through_vector_instructions_together(assembly):
    """Sixteen lanes of four rows: eight fused operations on half of them, or four on all."""
    fused = occurrences(assembly, r"vfn?m(add|sub)\d+ps.*[yz]mm")
    assert fused >= (4 if occurrences(assembly, r"vfn?m(add|sub)\d+ps.*zmm") else 8)
    assert occurrences(assembly, r"vfn?m(add|sub)\d+ss") == 0
    assert occurrences(assembly, r"vmulss|vsubss|vaddss") == 0


def test_lists_are_written_without_masked_stores(assembly):
    """Some processors run them in microcode, at many times the cost of a plain store."""
    assert occurrences(assembly, r"vp?maskmov") == 0
