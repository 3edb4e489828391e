"""
A pipeline before a classifier
==============================

A classifier that was trained on clean digits meets occluded ones. A :class:`treemend.Mender` in front of it gives back
what can be given back.
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
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=800, random_state=0)
alone = SVC().fit(X_train, y_train)
behind_mender = make_pipeline(Mender(layout=(8, 8), false_alarm_rate=0.02), SVC()).fit(X_train, y_train)

# %%
# A square of random grey values covers a part of every fourth test digit. If it were all of them, the table would have
# drifted away from the reference, and would be left as it is.
rng = np.random.default_rng(0)
sides = range(6)
accuracies = []
for side in sides:
    seen = X_test.reshape(-1, 8, 8).copy()
    for image in seen[::4]:
        top, left = rng.integers(0, 9 - side, 2)
        image[top : top + side, left : left + side] = rng.uniform(0, 16, (side, side))
    labels = [model.predict(seen.reshape(-1, 64)) for model in (alone, behind_mender)]
    accuracies.append([(predicted == y_test)[::4].mean() for predicted in labels])

# %%
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
without, behind = np.array(accuracies).T
share = [side**2 / 64 for side in sides]
ax.fill_between(share, without, behind, color="C0", alpha=0.12, linewidth=0)
ax.plot(share, behind, color="C0", marker="o", linewidth=2, label="Mender, then SVC")
ax.plot(share, without, color="C1", marker="o", linewidth=2, label="SVC alone")
ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.set(
    title="Accuracy on the digits that are covered",
    xlabel="share of the image that is covered",
    ylabel="accuracy",
    ylim=(0.4, 1.01),
)
ax.legend(loc="lower left")
plt.show()
