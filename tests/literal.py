"""The published method, written down as it reads: one row at a time, recursion, plain NumPy, ties by row index.

Sections of the method are named beside each function. Nothing of the package is used here.
"""

import itertools
import math

import numpy as np


def interval_tree(n_features, depth):
    """Section 2: nodes as (start, stop) with children, as nested dictionaries."""

    def grow(start, stop, level):
        node = {"start": start, "stop": stop, "children": []}
        if level < depth and stop - start >= 2:
            middle = start + (stop - start) // 2
            node["children"] = [grow(start, middle, level + 1), grow(middle, stop, level + 1)]
        return node

    return grow(0, n_features, 0)


def ranked_distance(x, s, alpha):
    """Section 3."""
    kept = max(1, math.floor(alpha * len(x) + 1e-9))
    return math.sqrt(np.sort((x - s) ** 2)[:kept].sum())


def distances(x, reference, node, alpha):
    columns = slice(node["start"], node["stop"])
    return np.array([ranked_distance(x[columns], s[columns], alpha) for s in reference])


def nearest(x, reference, node, alpha, n_neighbors, left_out=None):
    far = distances(x, reference, node, alpha)
    order = [i for i in np.lexsort((np.arange(len(far)), far)) if i != left_out]
    return order[:n_neighbors], far[order[n_neighbors - 1]]


class LiteralMender:
    def __init__(self, reference, *, tau, alpha, depth, n_neighbors, imputation, stop_at_root=False):
        self.reference = np.asarray(reference, dtype=float)
        self.tau, self.alpha, self.n_neighbors = tau, alpha, n_neighbors
        self.imputation, self.stop_at_root = imputation, stop_at_root
        self.tree = interval_tree(self.reference.shape[1], depth)
        self.usual = {}

    def usual_radii(self, node):
        """Section 4: every reference row's K-th radius, itself left out."""
        key = (node["start"], node["stop"])
        if key not in self.usual:
            self.usual[key] = np.array(
                [
                    nearest(s, self.reference, node, self.alpha, self.n_neighbors, left_out=i)[1]
                    for i, s in enumerate(self.reference)
                ]
            )
        return self.usual[key]

    def score(self, x, node):
        radius = nearest(x, self.reference, node, self.alpha, self.n_neighbors)[1]
        return np.mean(radius <= self.usual_radii(node))

    def mend(self, x):
        """Sections 5 and 6 for one row: mask and repaired row."""
        repaired, mask = x.copy(), np.zeros(len(x), dtype=bool)

        def anomalous(node):
            return self.score(x, node) <= self.tau

        def declare(node, sibling, parent):
            columns = slice(node["start"], node["stop"])
            donors, _ = nearest(x, self.reference, sibling, self.alpha, self.n_neighbors)
            if self.imputation == "map":
                radii = self.usual_radii(parent)
                donor = min(donors, key=lambda i: radii[i])
            else:
                donor = donors[0]
            mask[columns] = True
            repaired[columns] = self.reference[donor, columns]

        def search(node, sibling=None, parent=None):
            if not node["children"]:
                return
            left, right = node["children"]
            labels = (anomalous(node), anomalous(left), anomalous(right))
            if all(labels):
                if parent is not None:
                    declare(node, sibling, parent)
                    return
                if self.stop_at_root:
                    return
            elif labels == (True, False, False):
                return
            for child, other in ((left, right), (right, left)):
                if child["children"]:
                    search(child, other, node)
                elif anomalous(child):
                    declare(child, other, node)

        search(self.tree)
        return mask, repaired


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
