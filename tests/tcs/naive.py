"""Naive twin of `treemend.tcs.index.NodeIndex`: plain NumPy, one row and node at a time, ties by row number."""

import math

import numpy as np


def n_kept(width, alpha):
    return max(1, math.floor(alpha * width + 1e-9))


def ranked_distances(reference, row, start, stop, alpha):
    """Section 3, from one row to all reference rows; over the observed columns, stretched, if some are missing."""
    observed = start + np.flatnonzero(~np.isnan(row[start:stop]))
    if len(observed) == 0:
        return np.zeros(len(reference))
    kept = n_kept(len(observed), alpha)
    squares = (reference[:, observed] - row[observed]) ** 2
    if kept < len(observed):
        squares = np.sort(squares, axis=1)
    # cumsum adds one after the other, sum does not.
    return np.sqrt(np.cumsum(squares, axis=1)[:, kept - 1]) * np.sqrt(n_kept(stop - start, alpha) / kept)


def nearest(reference, row, start, stop, alpha, n_neighbors, left_out=-1):
    distances = ranked_distances(reference, row, start, stop, alpha)
    order = np.lexsort((np.arange(len(distances)), distances))
    numbers = order[order != left_out][:n_neighbors]
    return distances[numbers], numbers


def radii(reference, tree, alpha, rows, n_neighbors, left_out=None):
    left_out = np.full(len(rows), -1) if left_out is None else left_out
    nodes = list(zip(tree.start, tree.stop, strict=True))
    return np.array(
        [
            [nearest(reference, row, a, b, alpha, n_neighbors, own)[0][-1] for a, b in nodes]
            for row, own in zip(rows, left_out, strict=True)
        ]
    ).reshape(len(rows), len(nodes))


def neighbors(reference, tree, alpha, rows, node, n_neighbors, left_out=None):
    left_out = np.full(len(rows), -1) if left_out is None else left_out
    found = [
        nearest(reference, row, tree.start[node], tree.stop[node], alpha, n_neighbors, own)[1]
        for row, own in zip(rows, left_out, strict=True)
    ]
    return np.array(found, dtype=np.int64).reshape(len(rows), n_neighbors)
