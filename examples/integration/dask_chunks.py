"""
Dask: more rows than one machine holds
======================================

A fitted model goes to the chunks of a Dask array, and the answers are those of one machine, bit for bit. Here threads
of this machine do the work; with a :class:`dask.distributed.Client` a cluster does.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import treemend.dask
from treemend import Mender
from treemend.synthetic import waves

# %%
# Fourteen days of 300 rows, one chunk a day. On two of the days a device failed again and again.
rng = np.random.default_rng(0)
rows = waves(14 * 300, 24, rng=rng, noise=0.1)
for day, share in ((4, 0.5), (5, 0.25)):
    hit = day * 300 + rng.choice(300, int(300 * share), replace=False)
    rows[hit, 9:15] = rng.uniform(-2, 2, (len(hit), 6))
suspect = da.from_array(rows, chunks=(300, 24))

# %%
# Nothing is computed before it is asked for; what is asked for together is computed together.
mender = Mender(false_alarm_rate=0.01).fit(waves(800, 24, rng=rng, noise=0.1))
mended = treemend.dask.mend(suspect, mender)
with dask.config.set(scheduler="threads", num_workers=2):
    repaired, mask = dask.compute(mended.repaired, mended.mask)
print("as on one machine:", np.array_equal(repaired, mender.mend(rows, on_drift="repair").repaired))

# %%
# The share of replaced values by day and column shows which device it was, and when.
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
image = ax.pcolormesh(mask.reshape(14, 300, 24).mean(axis=1), cmap="Oranges", edgecolor="white", linewidth=0.5, vmin=0)
ax.set_yticks(np.arange(14) + 0.5, [f"day {day + 1}" for day in range(14)], fontsize=8)
ax.invert_yaxis()
ax.set(title="Share of values that were replaced", xlabel="column", ylabel="chunk")
bar = figure.colorbar(image, ax=ax, format=lambda value, _: f"{value:.0%}")
bar.outline.set_visible(False)
plt.show()
