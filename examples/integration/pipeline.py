"""
A pipeline before a classifier
==============================

A classifier that was trained on clean digits meets digits that are partly covered. A :class:`treemend.Mender` in front
of it puts back what the rest of the image tells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from treemend import Mender

# %%
# In training, each row is mended by a model that has not seen it, so that the classifier learns from rows like those it
# will get.
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=0)
alone = SVC().fit(X_train, y_train)
behind_mender = make_pipeline(Mender(layout=(8, 8)), SVC()).fit(X_train, y_train)

# %%
# Something covers a square of every second test digit: a sticker of one shade, or a patch of random grey values. If it
# covered all of them, the table would have drifted away from the reference, and would be left as it is.
stickers = {"A bright sticker": (16, 16), "A patch of random greys": (0, 16)}
sides = range(6)


def cover(digits, side, shades):
    """Return a copy of the digits with a square of random shades somewhere in every second one."""
    rng = np.random.default_rng(0)
    images = digits.reshape(-1, 8, 8).copy()
    for image in images[::2]:
        top, left = rng.integers(0, 9 - side, 2)
        image[top : top + side, left : left + side] = rng.uniform(*shades, (side, side))
    return images.reshape(-1, 64)


def accuracy(model, digits):
    """Return the share of right answers on the digits that were covered."""
    return (model.predict(digits) == y_test)[::2].mean()


# %%
# A small patch hardly troubles this classifier: mending it gains nothing, and may cost a little. A larger one does, all
# the more if it is bright; most of what it takes is given back.
share = [side**2 / 64 for side in sides]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for ax, (title, shades) in zip(axes, stickers.items(), strict=True):
    covered = [cover(X_test, side, shades) for side in sides]
    behind, without = ([accuracy(model, digits) for digits in covered] for model in (behind_mender, alone))
    gained = np.greater_equal(behind, without)
    ax.fill_between(share, without, behind, gained, color="C0", alpha=0.12, linewidth=0, interpolate=True)
    ax.plot(share, behind, color="C0", marker="o", linewidth=2, label="Mender, then SVC")
    ax.plot(share, without, color="C1", marker="o", linewidth=2, label="SVC alone")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set(title=title, xlabel="share of the image that is covered", ylim=(0, 1.02))
axes[0].set_ylabel("accuracy on covered digits")
axes[0].legend(loc="lower left")
plt.show()
