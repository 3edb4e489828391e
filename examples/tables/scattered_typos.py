"""
Scattered typos
===============

Decimal points slip, signs flip, two neighbouring entries are exchanged: single cells here and there. Each typo is a
possible value of its column, but not beside the other values of its row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from treemend import Mender
from treemend.synthetic import TYPOS, corrupt, scattered_masks

# %%
# Thirty wines are typed in by hand, with different kinds of typos in the first, second and last third of the rows.
data = load_wine()
rng = np.random.default_rng(2)
wines = rng.permutation(data.data)
clean, true = wines[:148], wines[148:]
mask = scattered_masks(len(true), true.shape[1], 0.04, rng=rng)
typed = true.copy()
for kind, rows in zip(TYPOS, np.array_split(np.arange(len(true)), len(TYPOS)), strict=True):
    typed[rows] = corrupt(kind, true[rows], mask[rows], rng=rng)
wrong = typed != true

# %%
mended = Mender(false_alarm_rate=0.05).fit(clean).mend(typed)
print(f"wrong entries: {wrong.sum()}, found: {(mended.mask & wrong).sum()}")
print(f"right entries replaced: {(mended.mask & ~wrong).sum()} of {(~wrong).sum()}")

# %%
# Every column is drawn in units of its range in the clean rows, since units differ. A line leads from each entry that
# was replaced to what replaced it.
low, high = clean.min(axis=0), clean.max(axis=0)
scaled = {
    name: (rows - low) / (high - low)
    for name, rows in {"typed": typed, "repaired": mended.repaired, "true": true}.items()
}
row, column = np.nonzero(wrong | mended.mask)
replaced = mended.mask[row, column]
place = np.arange(len(row))
figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
ax.axhspan(0, 1, color="0.93", linewidth=0, label="range of the clean rows")
for name, marker, colour, size in (("true", "_", "0.35", 140), ("typed", "x", "C1", 45), ("repaired", "o", "C0", 32)):
    shown = replaced if name == "repaired" else np.ones(len(row), dtype=bool)
    heights = scaled[name][row, column][shown]
    ax.scatter(place[shown], heights, marker=marker, color=colour, s=size, zorder=3, label=name)
ends = [scaled[name][row, column][replaced] for name in ("typed", "repaired")]
ax.vlines(place[replaced], *ends, color="C0", linewidth=1, alpha=0.5)
words = ("factor of ten", "sign", "exchanged with a neighbour")
for rows, word in zip(np.array_split(np.arange(len(true)), len(TYPOS)), words, strict=True):
    here = place[np.isin(row, rows)]
    ax.text(here.mean(), 30, word, ha="center", va="bottom", color="0.3")
    ax.axvline(here[-1] + 0.5, color="0.8", linewidth=0.8, linestyle=":")
ax.set_yscale("symlog", linthresh=1)
ax.set_yticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])
ax.set_ylim(-20, 60)
ax.set_xticks(place, [data.feature_names[c].split("/")[0].replace("_", " ") for c in column], rotation=90, fontsize=8)
ax.set(title="Entries that are wrong or were replaced", ylabel="value, in units of the column's range")
figure.legend(ncols=4, loc="outside lower center")
plt.show()
