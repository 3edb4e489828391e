"""
A sensor table
==============

Twelve probes on one machine are read once a minute. In the suspect hours one probe hangs, a cable that carries four
probes is loose, and single readings are garbled. One row is one reading of all probes; the clean hours before teach how
the probes go together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treemend import Mender

# %%
# Three slow processes drive the twelve probes. The table has a column of times, which is not a measurement.
rng = np.random.default_rng(0)
names = [f"{part}_{k}" for part in ("inlet", "kettle", "outlet") for k in range(1, 5)]
mixing = np.kron(np.eye(3), np.ones((1, 4))) + rng.uniform(0.1, 0.5, (3, 12))


def hours(n_minutes):
    """Return a table of readings."""
    minutes = np.arange(n_minutes)[:, None]
    drivers = np.sin(minutes * [[0.19, 0.29, 0.13]] + rng.uniform(0, 6, 3)) + rng.normal(0, 0.25, (n_minutes, 3))
    readings = 60 + 8 * drivers @ mixing + rng.normal(0, 0.6, (n_minutes, 12))
    table = pd.DataFrame(readings, columns=names)
    table.insert(0, "time", pd.date_range("2026-03-01", periods=n_minutes, freq="min"))
    return table


clean, suspect = hours(900), hours(240)
suspect.loc[40:89, "kettle_2"] = suspect.loc[40, "kettle_2"]
suspect.loc[130:169, ["outlet_1", "outlet_2", "outlet_3", "outlet_4"]] = rng.uniform(30, 95, (40, 4))
for minute in (15, 107, 205, 222):
    suspect.loc[minute, rng.choice(names)] += rng.choice([-35, 35])

# %%
# Groups say which columns belong to one part of the machine: what is wrong in one does not run on into the next.
groups = {part: [name for name in names if name.startswith(part)] for part in ("inlet", "kettle", "outlet")}
mender = Mender(passthrough=["time"], layout=groups, false_alarm_rate=0.01).fit(clean)
mended = mender.mend(suspect)
print(mended)

# %%
# All readings, with what was replaced in red; below, the probe that hung, before and after.
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7), height_ratios=[3, 2], layout="constrained")
values = suspect[names].to_numpy().T
image = above.imshow(values, aspect="auto", cmap="cividis", interpolation="nearest", vmin=30, vmax=95)
found = np.ma.masked_equal(mended.mask[names].to_numpy().T, False)
above.imshow(found, aspect="auto", cmap="autumn", interpolation="nearest", alpha=0.9)
above.set_yticks(range(12), names)
above.set_title("Readings; red: found corrupted and replaced")
figure.colorbar(image, ax=above, label="temperature (°C)", pad=0.01)
below.plot(suspect["kettle_2"], color="C1", label="as read")
below.plot(mended.repaired["kettle_2"], color="C0", label="repaired")
below.set(title="kettle_2 hung for fifty minutes", xlabel="minute", ylabel="temperature (°C)", xlim=(0, 239))
below.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
plt.show()

# %%
# ``plot_map`` shows the same as a table of rows and columns, coloured by what each replaced cell looks like: noise, the
# values of another row, a shift, or a value that is stuck.
mended.plot_map()
plt.show()
