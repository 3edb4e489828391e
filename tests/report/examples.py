"""Findings for tests of the report."""

import numpy as np

from treemend.report import Findings, Reasons
from treemend.report.reasons import EXPLANATIONS
from treemend.tree import build_tree, lay_out

NASTY = "<script>alert(1)</script>"


def some_findings(n_rows=12, n_features=10, *, seed=0, layout="sequence", depth=3, **more):
    """Rows with stretches found in every third one, and gaps in every fifth one."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(n_rows, n_features))
    mask, missing = np.zeros(before.shape, bool), np.zeros(before.shape, bool)
    for row in range(0, n_rows, 3):
        start = int(rng.integers(0, n_features - 1))
        mask[row, start : start + int(rng.integers(1, n_features))] = True
    missing[::5, n_features // 2] = True
    before[missing] = np.nan
    filled = mask | missing
    tree = build_tree(lay_out(layout, n_features), depth)
    given = {
        "after": np.where(filled, rng.normal(size=before.shape), before),
        "missing": missing,
        "spread": np.where(filled, rng.uniform(0.1, 1, before.shape), np.nan),
        "row_scores": rng.uniform(size=n_rows).round(1),
        "node_scores": rng.integers(0, 101, (n_rows, tree.n_nodes)) / 100,
        "asked_rate": 0.05,
        "tau": 0.02,
        "n_reference": 100,
        "reference_rate": 0.04,
        "reference_low": np.full(n_features, -2.0),
        "reference_high": np.full(n_features, 2.0),
    }
    return Findings(before=before, mask=mask, tree=tree, **(given | more))


def some_reasons(findings):
    """The explanations in turn, each of the first half of what was found."""
    names = np.array(list(EXPLANATIONS))[np.arange(findings.n_rows) % len(EXPLANATIONS)]
    found = findings.mask.cumsum(axis=1)
    explained = findings.mask & (found <= (found[:, -1:] + 1) // 2)
    return Reasons(explanation=names, explained=explained, as_much_evidence=np.arange(findings.n_rows), n_weighed=100)


def batches(findings, size):
    """Cut findings into batches of rows."""
    by_row = ("before", "after", "mask", "missing", "spread", "row_scores", "row_ids", "node_scores")
    shared = {name: value for name, value in vars(findings).items() if name not in by_row}
    for first in range(0, findings.n_rows, size):
        rows = slice(first, first + size)
        cut = {name: getattr(findings, name) for name in by_row}
        reasons = findings.reasons
        if reasons is not None:
            shared["reasons"] = Reasons(
                explanation=reasons.explanation[rows],
                explained=reasons.explained[rows],
                as_much_evidence=reasons.as_much_evidence[rows],
                n_weighed=reasons.n_weighed,
            )
        yield Findings(**{name: None if value is None else value[rows] for name, value in cut.items()}, **shared)
