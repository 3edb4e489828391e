"""
Explaining one row
==================

Why was this row changed? The findings hold, for every cell, how much speaks against it given the rest of its row, what
kind of corruption fits best, and what the filled values are worth.
"""

import matplotlib.pyplot as plt
import numpy as np

from treemend import Mender
from treemend.synthetic import waves

# %%
# A noisy wave with a stretch that was replaced by another wave, and one outlier.
rng = np.random.default_rng(4)
mender = Mender(layout="sequence", false_alarm_rate=0.01).fit(waves(600, 40, rng=rng, noise=0.1))
true = waves(2, 40, rng=rng, noise=0.1)
suspect = true[:1].copy()
suspect[0, 8:16] = true[1, 8:16]
suspect[0, 30] += 1.5

# %%
# One line for each run of cells is what ``findings_table`` returns; a data frame can be made of it.
mended = mender.mend(suspect)
table = mended.findings_table()
for line in zip(*table.values(), strict=True):
    print({name: value for name, value in zip(table, line, strict=True) if value is not None})

# %%
# Above: the row before and after, what was replaced, and as what. Below: the log odds that a cell is wrong given all
# others, from the same findings.
findings = mended.findings()
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6), height_ratios=[3, 2], sharex=True, layout="constrained")
mended.plot_row(0, true=true[0], ax=above)
above.set_xlabel("")
evidence = findings.cell_evidence[0]
below.bar(np.arange(40), evidence, color=np.where(findings.mask[0], "C1", "0.75"))
below.axhline(0, color="0.2", linewidth=0.8)
below.set(title="Evidence against each cell, given all others", xlabel="column", ylabel="log odds")
below.set_xticks(range(0, 40, 5), range(0, 40, 5))
plt.show()
