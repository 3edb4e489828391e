"""The recommended method: a density of clean rows, the evidence of any set of cells, one calibrated statistic a row.

`pipeline` shows it on one screen; every other module is a detail of one of its lines.
"""

from treemend.mender.estimator import Mender
from treemend.mender.one_table import mend

__all__ = ["Mender", "mend"]
