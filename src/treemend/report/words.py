"""Sentences of the report: what was done, which rule decided and what it promises, why a row was declared."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treemend.arrays import Floats, Integers
from treemend.report.findings import KINDS, Findings, Rule
from treemend.tables import counted

_RULES = {
    "rate": "False-alarm rate {share}: on average, at most this share of clean rows is changed.",
    "fdr": "False discovery rate {share}: on average, at most this share of the repaired rows was clean.",
    "tau": "Threshold tau = {value:g}: a part of a row is anomalous if its score is at most this.",
}
_KINDS = {
    "noise": ("looks like noise", "look like noise", "given the rest of the row"),
    "foreign": ("does not fit the rest of the row", "do not fit the rest of the row", "as if taken from another row"),
    "shifted": ("is shifted", "are shifted together", "compared with what the rest of the row suggests"),
    "stuck": ("is stuck", "are stuck at one value", "which clean rows like this one do not show there"),
}
_UNUSUAL = "The row is unusual as a whole, or too little of it is usual to tell what is wrong. It was left as it is."
_NONE_AT_FDR = "No row was declared: no p-value is small enough."
_MOST_RUNS, _LONGEST_NAME = 3, 40


def percent(share: float) -> str:
    """Return a share in percent with three digits, as in ``1.23%``."""
    return f"{100 * share:.3g}%"


def clip(text: str, length: int, *, tail: int = 0) -> str:
    """Return the text, shortened to `length` characters if it is longer: all but the last `tail` of its end go."""
    return text if len(text) <= length else text[: length - 1 - tail] + "…" + text[len(text) - tail :]


def name_run(first: str, last: str) -> str:
    """Name a run of columns by its first and last one."""
    first, last = clip(first, _LONGEST_NAME), clip(last, _LONGEST_NAME)
    if first == last:
        return first
    if first.startswith("column ") and last.startswith("column "):
        first, last = f"columns {first[7:]}", last[7:]
    return f"{first} to {last}"


def name_columns(columns: Integers, names: Sequence[str]) -> str:
    """Name columns in the order of the table, by at most three runs, whatever their order in charts."""
    columns = np.sort(columns)
    runs = np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)
    words = [name_run(names[run[0]], names[run[-1]]) for run in runs[:_MOST_RUNS]]
    n_left = sum(map(len, runs[_MOST_RUNS:]))
    words += [f"{n_left:,} more"] * (n_left > 0)
    return ", ".join([*words[:-2], " and ".join(words[-2:])])


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def headline(totals: dict[str, int], *, repaired: bool) -> str:
    """Say in one sentence what was done, or only found."""
    if totals["rows"] == 0:
        return "There are no rows."
    rows, corrupted = counted(totals["rows"], "row"), totals["corrupted_rows"]
    parts = [f"No corrupted values were found in {rows}"]
    if corrupted:
        found = f"{corrupted:,} of {rows}"
        parts = [f"{found} {_was(corrupted)} repaired" if repaired else f"Corrupted values were found in {found}"]
    if totals["unusual_rows"]:
        parts.append(f"{totals['unusual_rows']:,} flagged as unusual and left alone")
    if totals["missing_cells"]:
        parts.append(f"{counted(totals['missing_cells'], 'missing value')} {'filled' if repaired else 'found'}")
    return ", ".join(parts) + "."


def row_words(record: dict[str, Any], *, repaired: bool) -> str:
    """Say in a few words what was done to a row, or only found in it."""
    corrupted, missing = ("replaced", "filled") if repaired else ("found", "missing")
    counts = {corrupted: record["n_corrupted"], missing: record["n_missing"]}
    parts = [f"{count:,} {word}" for word, count in counts.items() if count]
    return ", ".join(["unusual, left alone"] * record["unusual"] + parts) or "unchanged"


def rule_summary(rule: Rule | None, n_rows: int, n_corrupted: int) -> dict[str, Any] | None:
    """Say which rule declared rows, the rate in force, how many mistakes to expect, and a number rarely exceeded."""
    if rule is None:
        return None
    rate = rule.reference_rate if rule.name == "tau" else rule.value
    told: dict[str, Any] = {"name": rule.name, "value": rule.value, "rate": rate, "reference_rows": rule.n_reference}
    told |= {"reference_rate": rule.reference_rate, "powerless": rule.powerless}
    told["tau"] = rule.value if rule.name == "tau" else rule.tau
    words = [_RULES[rule.name].format(share=percent(rule.value), value=rule.value)]
    reference = counted(rule.n_reference or 0, "reference row")
    if rule.powerless:
        too_few = f"{reference} are too few for this, so no row could be declared."
        words.append(f"{too_few} Give more clean rows or ask for a higher rate.")
    elif rule.name == "fdr":
        told["expected"] = expected = rule.value * n_corrupted
        declared = f"{counted(n_corrupted, 'row')} {_was(n_corrupted)} declared"
        words.append(f"{declared}: expect {_about(expected)} of them to be clean." if n_corrupted else _NONE_AT_FDR)
    elif rate is not None:
        told["expected"] = expected = rate * n_rows
        # All rows share one threshold, learnt from the reference: mean plus two deviations of a beta-binomial.
        shared = 1 + (n_rows - 1) / (rule.n_reference + 2) if rule.n_reference else 1.0
        told["rarely_above"] = bound = expected + 2 * math.sqrt(expected * (1 - rate) * shared)
        if_clean = f"If all {counted(n_rows, 'row')} were clean, {_about(expected)} would be declared by mistake"
        words.append(f"{if_clean}, rarely more than {int(bound):,}. {_found(n_corrupted, expected, bound)}")
        if rule.n_reference is not None and rule.reference_rate is not None:
            share = percent(rule.reference_rate)
            words.append(f"Measured on {reference}, each judged without itself: {share} of them are declared.")
    return {name: value for name, value in told.items() if value is not None} | {"words": words}


def _about(expected: float) -> str:
    return f"about {expected:,.0f}" if expected >= 1 else "fewer than one"


def _found(n_corrupted: int, expected: float, rarely_above: float) -> str:
    if n_corrupted == 0:
        return "None was found."
    if n_corrupted > rarely_above:
        more = max(1, round(n_corrupted - expected))
        return f"{n_corrupted:,} were found: about {more:,} more than mistakes explain."
    found = f"{n_corrupted:,} {_was(n_corrupted)} found"
    return f"{found}, which mistakes alone could explain: check each before you rely on it."


def why(row: Findings, names: Sequence[str], nodes: Floats | None = None) -> str:
    """Say why the only row of some findings was declared; `nodes` are the scores of the tree's nodes, if it has one."""
    labels, n_reference = row.cell_labels[0], row.rule.n_reference if row.rule else None
    sentences = [_UNUSUAL] if row.left_alone[0] else []
    for number, kind in enumerate(KINDS):
        columns = np.flatnonzero(labels == number)
        if len(columns):
            one, several, rest = _KINDS[kind]
            subject = name_columns(columns, names) if row.grid is None else counted(len(columns), "value")
            sentences.append(f"{subject} {one if len(columns) == 1 else several}, {rest}.")
    if row.p_values is not None and (sentences or row.mask.any()):
        sentences.append(_evidence(row.p_values[0], n_reference))
    if nodes is not None and n_reference is not None and np.isfinite(nodes).any() and row.mask.any():
        sentences.append(_strongest_node(nodes, row, names, n_reference))
    return " ".join(sentences)


def _evidence(p_value: float, n_reference: int | None) -> str:
    if n_reference is None:
        return f"p-value {p_value:.2g}."
    rank = p_value * (n_reference + 1)
    as_much = round(rank) - 1
    # Small p-values follow a tail, not the count of the rows.
    extrapolated = ", extrapolated" if rank < 0.999 else ""
    rows = f"{as_much:,}" if as_much > 0 else "Hardly any" if extrapolated else "None"
    shown = f"{rows} of {counted(n_reference, 'reference row')} {'show' if as_much > 1 else 'shows'} as much evidence"
    return f"{shown} (p-value {p_value:.2g}{extrapolated})."


def _strongest_node(scores: Floats, row: Findings, names: Sequence[str], n_reference: int) -> str:
    """Name the tree's node with the lowest score, inside what was found where possible."""
    tree, order = row.tree, row.layout_order
    before = np.concatenate(([0], np.cumsum(row.mask[0, order])))
    inside = before[tree.stop] - before[tree.start] == tree.stop - tree.start
    candidates = (inside if inside.any() else np.ones(len(scores), dtype=bool)) & np.isfinite(scores)
    node = int(np.lexsort((tree.start - tree.stop, np.where(candidates, scores, np.inf)))[0])
    part = name_columns(order[tree.start[node] : tree.stop[node]], names)
    count = round(float(scores[node]) * n_reference)
    rows = "no reference row is" if count == 0 else f"{counted(count, 'reference row')} {'is' if count == 1 else 'are'}"
    return f"Lowest score: {part}. Of {n_reference:,}, {rows} as far from the others there."
