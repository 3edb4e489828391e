"""Comparator networks sort, select, and stay small."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.examples import halving_tree, trees

from treemend.kernels.networks import full_network, odd_even_merge, pruned_network, smallest_of_two
from treemend.kernels.packing import _node_arrays


def run(comparators, numbers):
    numbers = list(numbers)
    for low, high in comparators:
        numbers[low], numbers[high] = min(numbers[low], numbers[high]), max(numbers[low], numbers[high])
    return numbers


@given(st.lists(st.integers(0, 9), max_size=20), st.lists(st.integers(0, 9), max_size=20))
def test_merging_gives_ascending_wires(left, right):
    numbers = sorted(left) + sorted(right)
    comparators = []
    wires = range(len(numbers))
    order = odd_even_merge(wires[: len(left)], wires[len(left) :], comparators)
    merged = run(comparators, numbers)
    assert [merged[wire] for wire in order] == sorted(numbers)


@given(st.lists(st.integers(0, 9), max_size=20), st.lists(st.integers(0, 9), max_size=20), st.integers(0, 40))
def test_selecting_brings_the_smallest_together(left, right, count):
    numbers = sorted(left) + sorted(right)
    count = min(count, len(numbers))
    comparators = []
    wires = range(len(numbers))
    order = smallest_of_two(wires[: len(left)], wires[len(left) :], count, comparators)
    selected = run(comparators, numbers)
    assert sorted(order) == list(wires)
    assert sorted(selected[wire] for wire in order[:count]) == sorted(numbers)[:count]


@settings(max_examples=60, deadline=None)
@given(trees(), st.sampled_from([0.9, 0.75, 0.5, 0.375, 0.1]), st.integers(0, 2**32 - 1))
def test_every_node_holds_its_smallest_numbers(tree, alpha, seed):
    nodes = _node_arrays(tree, alpha)
    numbers = np.random.default_rng(seed).integers(0, 30, size=int(tree.stop[0])).tolist()
    for network, in_order in ((full_network(nodes), True), (pruned_network(nodes), False)):
        state = list(numbers)
        for node in reversed(range(len(tree.start))):
            own = slice(network.first[node], network.first[node + 1])
            state = run(zip(network.low[own], network.high[own], strict=True), state)
            held = [state[w] for w in network.wires[network.first_wire[node] : network.first_wire[node + 1]]]
            smallest = sorted(numbers[tree.start[node] : tree.stop[node]])[: nodes.kept[node]]
            assert held == smallest if in_order else sorted(held) == smallest


def test_number_of_comparators():
    nodes = _node_arrays(halving_tree(256, 6), 0.75)
    assert len(full_network(nodes).low) == 3839
    assert len(pruned_network(nodes).low) == 2748
