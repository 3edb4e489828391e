"""
A false-alarm rate or a false discovery rate
============================================

A false-alarm rate is a share of the clean rows; a false discovery rate is a share of the rows that were repaired. In a
large table with few corrupted rows they differ much: five per cent of the many clean rows outnumber the corrupted ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from treemend import Mender
from treemend.synthetic import stretch_masks

# %%
# Two thousand random walks, fifty of them overwritten in part.
rng = np.random.default_rng(0)
reference = np.cumsum(rng.normal(size=(3000, 16)), axis=1)
suspect = np.cumsum(rng.normal(size=(2000, 16)), axis=1)
corrupted = np.zeros(2000, dtype=bool)
corrupted[:50] = True
overwritten = stretch_masks(50, 16, rng=rng)
suspect[:50][overwritten] = rng.uniform(-12, 12, overwritten.sum())

# %%
# One fit; the rule is chosen when rows are mended.
mender = Mender().fit(reference)
asked = [0.01, 0.02, 0.05, 0.1]
by_rate = [mender.mend(suspect, false_alarm_rate=rate).corrupted for rate in asked]
by_fdr = [mender.mend(suspect, fdr=rate).corrupted for rate in asked]

# %%
# Corrupted rows that were repaired are drawn upwards, clean rows that were changed by mistake downwards.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True, layout="constrained")
for ax, rows, title in zip(axes, (by_rate, by_fdr), ("false_alarm_rate", "fdr"), strict=True):
    right, wrong = (np.array([(flags & which).sum() for flags in rows]) for which in (corrupted, ~corrupted))
    ax.bar(range(len(asked)), right, color="C0", label="corrupted rows repaired")
    ax.bar(range(len(asked)), -wrong, color="C1", label="clean rows changed")
    for place, (up, down) in enumerate(zip(right, wrong, strict=True)):
        ax.annotate(str(up), (place, up), (0, 3), textcoords="offset points", ha="center")
        ax.annotate(str(down), (place, -down), (0, -13), textcoords="offset points", ha="center")
    ax.axhline(0, color="0.2", linewidth=0.8)
    ax.set_xticks(range(len(asked)), [f"{rate:.0%}" for rate in asked])
    ax.set(title=f"mend(rows, {title}=...)", xlabel="asked")
axes[0].set_ylabel("rows")
axes[0].yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
low, high = axes[0].get_ylim()
axes[0].set_ylim(1.08 * low, high + 0.06 * (high - low))
axes[1].legend(loc="lower left")
plt.show()
