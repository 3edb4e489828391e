"""The published method, written down as it reads: one row at a time, recursion, plain NumPy, ties by row number.

Sections of the method are named beside each function; section 3, the ranked distance, is in `tests.tcs.naive`. Nothing
of the package is used here.
"""

import itertools
import math

import numpy as np
from tests.tcs.naive import nearest


def interval_tree(n_features, depth):
    """Section 2: nodes as (start, stop) with children, as nested dictionaries, numbered breadth first."""

    def grow(start, stop, level):
        node = {"start": start, "stop": stop, "children": []}
        if level < depth and stop - start >= 2:
            middle = start + (stop - start) // 2
            node["children"] = [grow(start, middle, level + 1), grow(middle, stop, level + 1)]
        return node

    root = grow(0, n_features, 0)
    nodes = [root]
    for node in nodes:
        nodes += node["children"]
    for number, node in enumerate(nodes):
        node["number"] = number
    return nodes


class LiteralTCS:
    def __init__(self, reference, *, tau, alpha, depth, n_neighbors, imputation, root_rule="continue"):
        self.reference = np.asarray(reference, dtype=float)
        self.tau, self.alpha, self.n_neighbors = tau, alpha, n_neighbors
        self.imputation, self.root_rule = imputation, root_rule
        self.nodes = interval_tree(self.reference.shape[1], depth)
        self.usual = {}

    def neighbors(self, x, node, left_out=-1):
        """Section 3: distances and numbers of the K nearest reference rows, nearest first."""
        return nearest(self.reference, x, node["start"], node["stop"], self.alpha, self.n_neighbors, left_out)

    def usual_radii(self, node):
        """Section 4: every reference row's K-th radius, itself left out."""
        if node["number"] not in self.usual:
            self.usual[node["number"]] = np.array(
                [self.neighbors(s, node, left_out=i)[0][-1] for i, s in enumerate(self.reference)]
            )
        return self.usual[node["number"]]

    def score(self, x, node, left_out=-1):
        """Section 4; a reference row is left out of the ranking as well."""
        radius = self.neighbors(x, node, left_out)[0][-1]
        at_least = radius <= self.usual_radii(node)
        return (at_least.sum() - (left_out >= 0)) / len(self.reference)

    def scores(self, x):
        return np.array([self.score(x, node) for node in self.nodes])

    def mend(self, x, left_out=-1):
        """Sections 5 and 6 for one row: mask and repaired row."""
        mask = np.zeros(len(x), dtype=bool)
        repaired = x.copy()

        def anomalous(node):
            return self.score(x, node, left_out) <= self.tau

        def declare(node, sibling, parent):
            columns = slice(node["start"], node["stop"])
            mask[columns] = True
            donors = self.neighbors(x, sibling, left_out)[1]
            repaired[columns] = self.reference[self.chosen(donors, parent), columns]

        def search(node, sibling=None, parent=None):
            if not node["children"]:
                return
            left, right = node["children"]
            labels = (anomalous(node), anomalous(left), anomalous(right))
            if all(labels):
                if parent is not None:
                    declare(node, sibling, parent)
                    return
                if self.root_rule == "stop":
                    return
            elif labels == (True, False, False):
                return
            for child, other in ((left, right), (right, left)):
                if child["children"]:
                    search(child, other, node)
                elif anomalous(child):
                    declare(child, other, node)

        search(self.nodes[0])
        if np.isnan(x).any():
            mask &= ~np.isnan(x)
            repaired = self.filled(x, mask | np.isnan(x), left_out)
        return mask, repaired

    def chosen(self, donors, parent):
        if self.imputation == "nearest":
            return donors[0]
        radii = self.usual_radii(parent)
        return min(donors, key=lambda i: radii[i])

    def filled(self, x, gaps, left_out):
        """Not in the paper: a row with missing values is filled from rows near on all of its clean columns."""
        others = [i for i in range(len(self.reference)) if i != left_out]
        if (~gaps).mean() < 0.05:
            distance = self.usual_radii(self.nodes[0])
        else:
            distance = np.sqrt([sum((s[k] - x[k]) ** 2 for k in np.flatnonzero(~gaps)) for s in self.reference])
        donors = sorted(others, key=lambda i: distance[i])[: self.n_neighbors]
        return np.where(gaps, self.reference[self.chosen(donors, self.nodes[0])], x)


def declared_nodes(anomalous, tree, root_rule):
    """Section 5 for labels that are given, rows x nodes."""
    declared = np.zeros_like(anomalous)

    def search(row, node):
        left, right = tree.left[node], tree.right[node]
        label, label_left, label_right = (bool(anomalous[row, v]) for v in (node, left, right))
        if label and label_left and label_right:
            if node != 0:
                declared[row, node] = True
                return
            if root_rule == "stop":
                return
        elif label and not label_left and not label_right:
            return
        for child in (left, right):
            if tree.left[child] < 0:
                declared[row, child] = anomalous[row, child]
            else:
                search(row, child)

    for row in range(len(anomalous)):
        if tree.left[0] >= 0:
            search(row, 0)
    return declared


def enumerated_rate(tau, thetas):
    """Section 7 by brute force: every label vector of the full tree, run through the search."""
    depth = len(thetas)
    n_nodes = 2 ** (depth + 1) - 1
    total = 0.0
    for labels in itertools.product((False, True), repeat=n_nodes):
        probability = tau if labels[0] else 1 - tau
        for node in range(1, n_nodes):
            parent = (node - 1) // 2
            theta = thetas[int(math.log2(parent + 1))]
            own = tau if labels[node] else 1 - tau
            probability *= (1 - theta) * own + theta * (labels[node] == labels[parent])
        if _alarms(labels, 0, depth):
            total += probability
    return total


def _alarms(labels, node, depth, level=0):
    left, right = 2 * node + 1, 2 * node + 2
    triple = (labels[node], labels[left], labels[right])
    if triple == (True, True, True) and node != 0:
        return True
    if triple == (True, False, False):
        return False
    if level + 1 == depth:
        return labels[left] or labels[right]
    return _alarms(labels, left, depth, level + 1) or _alarms(labels, right, depth, level + 1)
