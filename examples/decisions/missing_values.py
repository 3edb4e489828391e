"""
Missing values and multiple imputation
======================================

NaN may be anywhere, also in the reference. Each is filled with its most likely value, with a standard deviation; for
statistics, which need the variation that a single best value hides, ask for random completions.
"""

import matplotlib.pyplot as plt
import numpy as np

from treemend import Mender

# %%
# Random walks of 24 steps; a third of the rows lack six neighbouring values.
rng = np.random.default_rng(0)
true = np.cumsum(rng.normal(size=(600, 24)), axis=1)
holes = true.copy()
for row in range(0, 600, 3):
    start = rng.integers(4, 18)
    holes[row, start : start + 6] = np.nan

# %%
# ``n_draws`` asks for completions. Here the table with the gaps is its own reference.
mended = Mender(false_alarm_rate=0.01).fit_mend(holes, n_draws=20)

# %%
# Left: one row, its mean completion and the random ones. Right: the standard deviation of the steps within the gaps.
# Walks that are filled with means are too smooth; random completions come close to the true roughness.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), width_ratios=[3, 2], layout="constrained")
row = 0
gap = np.flatnonzero(mended.missing[row])
around = np.arange(gap[0] - 1, gap[-1] + 2)
for number, draw in enumerate(mended.draws):
    left.plot(around, draw[row, around], color="C0", linewidth=0.8, alpha=0.45, label=None if number else "20 draws")
left.plot(true[row], color="0.7", linewidth=4, label="true")
left.plot(holes[row], color="0.2", marker="o", markersize=4, label="observed")
left.plot(around, mended.repaired[row, around], color="C1", linewidth=2, label="mean")
left.set(title="One walk", xlabel="step", ylabel="value")
left.legend(loc="best")

within = mended.missing[:, 1:] | mended.missing[:, :-1]


def roughness(table):
    """Return the standard deviation of the steps from, to and between missing values."""
    return np.diff(table, axis=1)[within].std()


by_draw = [roughness(draw) for draw in mended.draws]
right.axhline(roughness(true), color="0.7", linewidth=4, label="true")
right.scatter(np.full(20, 1) + np.linspace(-0.15, 0.15, 20), by_draw, color="C0", s=22, alpha=0.8)
right.scatter([0], [roughness(mended.repaired)], color="C1", s=60, zorder=3)
right.set_xticks([0, 1], ["filled with\nthe mean", "20 draws"])
right.set(title="Steps within the gaps", ylabel="standard deviation", xlim=(-0.5, 1.5), ylim=(0, 1.4))
right.legend(loc="lower right")
plt.show()
