"""
The published method step by step
=================================

:class:`treemend.TCS` is the method of the paper: a tree over the columns, a score at each node, labels, a search for
patterns of labels, and a donor that fills what was declared. Here is each step on one row.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from treemend import TCS
from treemend.synthetic import waves

rng = np.random.default_rng(0)
reference = waves(500, 32, rng=rng, noise=0.05)
true = waves(1, 32, rng=rng, noise=0.05)
suspect = true.copy()
suspect[0, 16:24] = rng.uniform(-2, 2, 8)

tcs = TCS(false_alarm_rate=0.05, depth=4).fit(reference)
tree = tcs.tree_


def draw_nodes(ax, colours, texts=None):
    """Draw the nodes of the tree as bars, one level below the other."""
    for node in range(tree.n_nodes):
        width = tree.stop[node] - tree.start[node]
        ax.barh(tree.depth[node], width, 0.86, tree.start[node], color=colours[node], edgecolor="white", linewidth=1.5)
        if texts is not None:
            middle = tree.start[node] + width / 2
            dark = sum(to_rgb(colours[node])) < 1.4
            colour = "white" if dark else "0.1"
            ax.text(middle, tree.depth[node], texts[node], ha="center", va="center", fontsize=8, color=colour)
    ax.invert_yaxis()
    ax.set(ylabel="depth", xlim=(0, 32), yticks=range(tree.height + 1))
    ax.spines["left"].set_visible(False)


# %%
# 1. The tree
# -----------
# Each node is an interval of columns; its children are the two halves. Columns 16 to 23 of the row were overwritten.
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), height_ratios=[2, 3], sharex=True, layout="constrained")
above.axvspan(16, 24, color="C1", alpha=0.15, linewidth=0, label="overwritten")
above.plot(np.arange(32) + 0.5, true[0], color="0.7", linewidth=4, label="true")
above.plot(np.arange(32) + 0.5, suspect[0], color="C1", marker=".", label="suspect")
above.set(title="The row", ylabel="value")
above.legend(loc="upper left")
draw_nodes(below, ["0.88"] * tree.n_nodes, [f"{a}–{b - 1}" for a, b in zip(tree.start, tree.stop, strict=True)])
below.set(title="Attribute tree: the columns of each node", xlabel="column")
plt.show()

# %%
# 2. Scores
# ---------
# At each node, the distance to the K-th nearest reference row says how unusual the row is there. The score is the share
# of the reference rows that are at least as unusual: low is suspicious.
scores = tcs.score_nodes(suspect)[0]
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
draw_nodes(ax, plt.cm.cividis(0.25 + 0.75 * scores), [f"{score:.2f}".removeprefix("0") for score in scores])
ax.set(title="Score of each node: dark is unusual", xlabel="column")
plt.show()

# %%
# 3. Labels
# ---------
# A node is anomalous if its score is at most ``tau_``, which was chosen so that at most 5% of the reference rows are
# declared, each judged by the others. ``plot_tree`` draws the scores as colours and frames the anomalous nodes.
print(f"tau: {tcs.tau_:.4f}")
anomalous = scores <= tcs.tau_
mended = tcs.mend(suspect)
mended.plot_tree(0)
plt.show()

# %%
# 4. Patterns
# -----------
# Where a node and both its children are anomalous, corruption is declared for all its columns. Where only the node is,
# it is a rare combination, and nothing is declared. Everything else is searched further down; single leaves are
# declared by themselves.
declared = np.array([mended.mask[0, a:b].all() for a, b in zip(tree.start, tree.stop, strict=True)])
colours = np.where(declared, "#D55E00", np.where(anomalous, "#E69F00", "#e6e6e6"))
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
draw_nodes(ax, colours)
ax.set(title="Labels and what the search declares", xlabel="column")
legend = {"normal": "#e6e6e6", "anomalous": "#E69F00", "declared, with all below": "#D55E00"}
patches = [Patch(color=colour, label=word) for word, colour in legend.items()]
figure.legend(handles=patches, ncols=3, loc="outside lower center")
plt.show()

# %%
# 5. MAP
# ------
# The K reference rows nearest on the sibling of the declared node are candidates. The most usual one at the parent
# fills the gap. Here the candidates are found with NumPy, by the same ranked distance.
node = int(np.flatnonzero(declared)[0])
sibling = slice(tree.start[tree.sibling[node]], tree.stop[tree.sibling[node]])
gap = slice(tree.start[node], tree.stop[node])
squares = np.sort((reference[:, sibling] - suspect[0, sibling]) ** 2, axis=1)
kept = max(1, int(tcs.alpha * squares.shape[1]))
candidates = np.argsort(squares[:, :kept].sum(axis=1))[: tcs.n_neighbors]
chosen = next(row for row in candidates if np.array_equal(reference[row, gap], mended.repaired[0, gap]))

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
parent = np.arange(tree.start[tree.parent[node]], tree.stop[tree.parent[node]])
for number, row in enumerate(candidates):
    ax.plot(parent, reference[row, parent], color="0.8", label=None if number else f"{len(candidates)} candidates")
ax.axvspan(gap.start - 0.5, gap.stop - 0.5, color="C1", alpha=0.12, linewidth=0, label="declared")
ax.plot(parent, suspect[0, parent], color="C1", marker=".", label="suspect")
ax.plot(parent, true[0, parent], color="0.3", linestyle=":", linewidth=2, label="true")
ax.plot(parent, reference[chosen, parent], color="C0", linewidth=2, label="chosen donor")
ax.set(title="Candidates agree on the sibling's columns; one fills the gap", xlabel="column", ylabel="value")
figure.legend(ncols=5, loc="outside lower center")
plt.show()
