"""
Explaining one row
==================

Why was this row changed? The findings hold, for every cell, how much speaks against it given the rest of its row, what
kind of corruption fits best, and what the filled values are worth.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treemend import Mender
from treemend.synthetic import waves

# %%
# A noisy wave with a stretch that was replaced by another wave, and one outlier.
rng = np.random.default_rng(5)
mender = Mender(layout="sequence", false_alarm_rate=0.01).fit(waves(600, 40, rng=rng, noise=0.1))
true = waves(2, 40, rng=rng, noise=0.1)
suspect = true[:1].copy()
suspect[0, 8:16] = true[1, 8:16]
suspect[0, 30] += 1.5

# %%
# ``findings_table`` returns one line for each run of cells, ready for a data frame.
mended = mender.mend(suspect)
table = pd.DataFrame(mended.findings_table())
table[["first_column", "last_column", "kind", "p_value", "before_mean", "after_mean", "spread_mean"]]

# %%
# Above: the row before and after, what was replaced, and as what. Below: the log odds that a cell is wrong given all
# others, from the same findings. Wrong neighbours support each other, so a single cell of a long stretch may show
# little; what is weighed is the stretch as a whole.
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
