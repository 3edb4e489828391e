"""
Rows that are rare, not wrong
=============================

A cold day is not a broken thermometer. What is replaced is what does not fit the rest of its own row; a row that is odd
as a whole is left as it is, and flagged in ``unusual`` if the evidence against it is beyond the threshold.
"""

import matplotlib.pyplot as plt
import numpy as np

from treemend import Mender

# %%
# Temperatures of days, one value an hour. The suspects: a day whose sensor failed in the afternoon, a cold day with a
# weak sun, and a row that is not a day at all, but two days in one.
rng = np.random.default_rng(0)
hour = np.arange(24)


def days(n_days, level=12.0, swing=6.0):
    """Return days of one value an hour."""
    levels, swings = rng.normal(level, 2.5, (n_days, 1)), rng.normal(swing, 1.2, (n_days, 1))
    weather = np.cumsum(rng.normal(0, 0.35, (n_days, 24)), axis=1)
    return levels + swings * np.sin((hour - 9) * np.pi / 12) + weather


clean = days(800)
two_days = 12 + 14 * np.sin((hour - 9) * np.pi / 6) + days(1, level=0, swing=0)
suspect = np.concatenate([days(1), days(1, level=-6, swing=2), two_days])
suspect[0, 13:18] = rng.uniform(-5, 30, 5)

# %%
mended = Mender(false_alarm_rate=0.01).fit(clean).mend(suspect, on_drift="repair")
print("corrupted:", mended.corrupted, " unusual:", mended.unusual)

# %%
titles = ("A failing sensor", "A cold day", "Two days in one")
low, high = np.quantile(clean, [0.005, 0.995], axis=0)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), sharey=True, layout="constrained")
for row, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    ax.fill_between(hour, low, high, color="0.9", linewidth=0, label="99% of the clean days")
    ax.plot(hour, suspect[row], color="C1", marker=".", label="as it came")
    ax.plot(hour, mended.repaired[row], color="C0", linewidth=2, label="after mending")
    verdict = "repaired" if mended.corrupted[row] else "unusual, left" if mended.unusual[row] else "left as it is"
    ax.set(title=f"{title}: {verdict}", xlabel="hour", xticks=range(0, 24, 6))
axes[0].set_ylabel("temperature (°C)")
figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside lower center")
plt.show()
