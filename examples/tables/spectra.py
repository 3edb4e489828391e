"""
Spectra
=======

A smudge on a window lifts a stretch of channels, a saturated detector cuts another one off. The other channels of the
same spectrum tell what should have been there.
"""

import matplotlib.pyplot as plt
import numpy as np

from treemend import Mender

# %%
# Absorbance of mixtures of five substances over a sloping baseline, in 90 channels.
rng = np.random.default_rng(3)
wavelength = np.linspace(900, 1700, 90)
centres, widths = np.array([980, 1110, 1230, 1390, 1540]), np.array([38, 62, 45, 70, 55])
substances = np.exp(-0.5 * ((wavelength - centres[:, None]) / widths[:, None]) ** 2)


def spectra(n_samples):
    """Return spectra of random mixtures."""
    amounts = rng.gamma(4, 0.22, (n_samples, 5))
    baseline = rng.uniform(0.1, 0.3, (n_samples, 1)) + rng.normal(0, 0.05, (n_samples, 1)) * np.linspace(-1, 1, 90)
    return amounts @ substances + baseline + rng.normal(0, 0.008, (n_samples, 90))


clean, true = spectra(700), spectra(3)
measured = true.copy()
measured[0, 22:40] += 0.35
measured[1, 48:66] = np.minimum(measured[1, 48:66], 0.55)
measured[2, 60:75] = rng.uniform(0.1, 1.6, 15)

# %%
# Nothing to set: the order of the channels is recognised as one that means something.
mended = Mender(false_alarm_rate=0.01).fit(clean).mend(measured)

# %%
# The band is twice the standard deviation that comes with each filled value.
titles = ("A smudge adds to some channels", "A detector saturates", "A connection is lost")
figure, axes = plt.subplots(3, 1, figsize=(8, 6.4), sharex=True, layout="constrained")
for row, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    ax.plot(wavelength, true[row], color="0.75", linewidth=5, label="true")
    ax.plot(wavelength, measured[row], color="C1", linewidth=1.2, label="measured")
    filled = np.where(mended.mask[row], mended.repaired[row], np.nan)
    ax.plot(wavelength, filled, color="C0", linewidth=2, label="filled in")
    band = 2 * mended.spread[row]
    ax.fill_between(wavelength, filled - band, filled + band, color="C0", alpha=0.25, linewidth=0, label="± 2 spread")
    ax.set(title=title, ylabel="absorbance")
axes[0].legend(ncols=4, loc="upper right")
axes[0].set_ylim(top=1.25 * measured[0].max())
axes[-1].set_xlabel("wavelength (nm)")
plt.show()
