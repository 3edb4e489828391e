"""
Occluded images
===============

Something stands in front of half of the digits. Which ones, and where, nobody says: ``layout=(8, 8)`` is all that is
told, so that neighbouring pixels are known to be neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from treemend import Mender
from treemend.plots import plot_images
from treemend.synthetic import square_masks

# %%
# A square of every second digit is overwritten with random grey values.
rng = np.random.default_rng(1)
digits = rng.permutation(load_digits().data)
clean, true = digits[:1200], digits[1200:1500]
mask = square_masks(len(true), (8, 8), rng=rng)
mask[1::2] = False
seen = np.where(mask, rng.uniform(0, 16, true.shape), true)

# %%
mended = Mender(layout=(8, 8), false_alarm_rate=0.05).fit(clean).mend(seen)
occluded = mask.any(axis=1)
print(f"occluded digits found: {mended.corrupted[occluded].mean():.0%}")
print(f"clean digits changed:  {mended.corrupted[~occluded].mean():.0%}")

# %%
# The first twelve digits that were occluded, whether they were found or not.
stacks = {"true": true, "seen": seen, "found": mended.mask, "repaired": mended.repaired}
figure = plot_images({name: stack[occluded][:12].reshape(-1, 8, 8) for name, stack in stacks.items()})
for ax in figure.axes:
    ax.spines[:].set_visible(False)
plt.show()
