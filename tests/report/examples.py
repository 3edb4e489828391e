"""Findings for tests of the report."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treemend.report import KINDS, Findings, Rule

NASTY = "<script>alert(1)</script>"
BY_ROW = ("before", "after", "mask", "missing", "spread", "unusual", "p_values", "row_scores", "kinds", "cell_evidence")


class Intervals(NamedTuple):
    """An attribute tree, as far as the report looks at it."""

    start: np.ndarray
    stop: np.ndarray
    depth: np.ndarray


def halves(n_columns, depth):
    """Cut the columns into halves, breadth first."""
    nodes, level = [(0, n_columns, 0)], [(0, n_columns)]
    for at in range(1, depth + 1):
        level = [part for a, b in level if b - a > 1 for part in ((a, (a + b) // 2), ((a + b) // 2, b))]
        nodes += [(a, b, at) for a, b in level]
    return Intervals(*np.array(nodes).T)


def some_findings(n_rows=12, n_columns=10, *, seed=0, tree_depth=None, **more):
    """Rows with runs found in every third one, gaps in every fifth one, and every seventh unusual unless corrupted."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(n_rows, n_columns))
    mask, missing = np.zeros(before.shape, bool), np.zeros(before.shape, bool)
    for row in range(0, n_rows, 3):
        start = int(rng.integers(0, n_columns - 1))
        mask[row, start : start + int(rng.integers(1, n_columns))] = True
    missing[::5, n_columns // 2] = True
    before[missing] = np.nan
    filled = mask | missing
    given = {
        "after": np.where(filled, rng.normal(size=before.shape), before),
        "missing": missing,
        "spread": np.where(filled, rng.uniform(0.1, 1, before.shape), np.nan),
        "unusual": (np.arange(n_rows) % 7 == 1) & ~mask.any(axis=1),
        "p_values": rng.integers(1, 102, n_rows) / 101,
        "row_scores": rng.uniform(size=n_rows).round(1),
        "kinds": np.where(mask, rng.integers(0, len(KINDS), (n_rows, 1)), -1).astype(np.int8),
        "cell_evidence": np.where(mask, rng.uniform(1, 9, before.shape), rng.normal(-5, 1, before.shape)),
        "rule": Rule("rate", 0.05, n_reference=100, reference_rate=0.04),
        "reference_low": np.full(n_columns, -2.0),
        "reference_high": np.full(n_columns, 2.0),
    }
    if tree_depth is not None:
        tree = halves(n_columns, tree_depth)
        scores = rng.integers(0, 101, (n_rows, len(tree.start))) / 100
        given |= {"tree": tree, "node_scores": lambda rows: scores[rows], "rule": Rule("tau", 0.02, 100, 0.04)}
    return Findings(before=before, mask=mask, **(given | more))


def nothing_found(findings):
    none = np.zeros_like(findings.mask)
    return replace(findings, mask=none, missing=None, unusual=None, kinds=None, after=findings.before)


def batches(findings, size):
    """Cut findings into batches of rows."""
    for first in range(0, len(findings.mask), size):
        yield findings.take(np.arange(first, min(first + size, len(findings.mask))))
