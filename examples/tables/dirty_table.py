"""
A dirty table without a reference
=================================

There is one table, and nobody knows which of its rows are clean. :func:`treemend.mend` learns from what looks clean and
judges each row by a model that has not seen it.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_breast_cancer

import treemend
from treemend.synthetic import stretch_masks

# %%
# In every tenth row of scikit-learn's breast cancer table, neighbouring columns get values of other patients, as when
# lines slip in a spreadsheet.
data = load_breast_cancer()
true = data.data
rng = np.random.default_rng(0)
overwritten = np.zeros(true.shape, dtype=bool)
overwritten[::10] = stretch_masks(len(true[::10]), true.shape[1], rng=rng)
table = np.where(overwritten, true[rng.permutation(len(true))], true)

# %%
mended = treemend.mend(table, false_alarm_rate=0.02)
slipped = overwritten.any(axis=1)
print(f"rows that slipped, found: {mended.corrupted[slipped].mean():.0%}")
print(f"other rows changed:       {mended.corrupted[~slipped].mean():.1%}")

# %%
# The rows that slipped, cell by cell: what was overwritten against what was found.
cells = 2 * overwritten[slipped] + mended.mask[slipped]
meanings = {"as it was": "#f0f0f0", "changed by mistake": "#E69F00", "missed": "#56B4E9", "found": "#0072B2"}
figure, ax = plt.subplots(figsize=(8, 7), layout="constrained")
ax.pcolormesh(
    cells, cmap=ListedColormap(list(meanings.values())), vmin=-0.5, vmax=3.5, edgecolor="white", linewidth=0.4
)
ax.invert_yaxis()
ax.set_xticks(np.arange(30) + 0.5, data.feature_names, rotation=90, fontsize=8)
ax.set(title="Rows that slipped", ylabel="row")
patches = [plt.Rectangle((0, 0), 1, 1, color=colour, label=word) for word, colour in meanings.items()]
figure.legend(handles=patches, ncols=4, loc="outside lower center")
plt.show()
