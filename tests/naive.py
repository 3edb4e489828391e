"""Naive twins of the kernels: plain NumPy, as readable as the method, slow.

Each has the name and signature of its kernel, but takes the reference rows, the tree and alpha instead of packed rows.
"""

from __future__ import annotations

import math

import numpy as np


def kept(width, alpha):
    return max(1, math.floor(alpha * width + 1e-9))


def ranked_distances(values, row, alpha):
    """Distances of section 3 from one row to all values, summed from the smallest square to the largest."""
    squares = (values - row) ** 2
    width = values.shape[1]
    m = kept(width, alpha)
    if m < width:
        squares = np.sort(squares, axis=1)
    return np.sqrt(np.cumsum(squares, axis=1)[:, m - 1])


def nearest(distances, n_neighbors, left_out):
    """The K nearest, by distance, then by row index."""
    order = [i for i in np.lexsort((np.arange(len(distances)), distances)) if i != left_out]
    indices = np.array(order[:n_neighbors])
    return indices, distances[indices]


def node_radii(values, tree, alpha, rows, n_neighbors, left_out=None):
    radii = np.empty((len(rows), len(tree.start)))
    for r, row in enumerate(rows):
        for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
            distances = ranked_distances(values[:, a:b], row[a:b], alpha)
            radii[r, node] = nearest(distances, n_neighbors, -1 if left_out is None else left_out[r])[1][-1]
    return radii


def left_out_radii(values, tree, alpha, n_neighbors):
    return node_radii(values, tree, alpha, values, n_neighbors, left_out=range(len(values)))


def node_neighbors(values, tree, alpha, rows, nodes, n_neighbors, exclude=None):
    found = []
    for r, (row, node) in enumerate(zip(rows, nodes, strict=True)):
        a, b = tree.start[node], tree.stop[node]
        distances = ranked_distances(values[:, a:b], row[a:b], alpha)
        found.append(nearest(distances, n_neighbors, -1 if exclude is None else exclude[r]))
    return np.array([i for i, _ in found]), np.array([d for _, d in found])


def masked_neighbors(values, rows, observed, n_neighbors, exclude=None):
    found = []
    for r, (row, mask) in enumerate(zip(rows, observed, strict=True)):
        squares = (values[:, mask] - row[mask]) ** 2
        sums = np.cumsum(squares, axis=1)[:, -1] if mask.any() else np.zeros(len(values))
        found.append(nearest(np.sqrt(sums), n_neighbors, -1 if exclude is None else exclude[r]))
    return np.array([i for i, _ in found]), np.array([d for _, d in found])


def declared_nodes(anomalous, tree, *, stop_at_root=False):
    declared = np.zeros_like(anomalous)

    def search(row, node):
        left, right = tree.left[node], tree.right[node]
        label, label_left, label_right = (bool(anomalous[row, v]) for v in (node, left, right))
        if label and label_left and label_right:
            if node != 0:
                declared[row, node] = True
                return
            if stop_at_root:
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


def alarm_curve(counts, tree, n_levels, *, stop_at_root=False):
    curve = []
    for level in range(n_levels):
        declared = declared_nodes(counts <= level, tree, stop_at_root=stop_at_root)
        curve.append(declared.any(axis=1).sum())
    return np.array(curve, dtype=np.int64)
