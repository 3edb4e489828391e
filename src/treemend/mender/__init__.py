"""The mender: the stages called in order, behind scikit-learn's names.

Enters: clean reference rows, then suspect rows, in any kind of table. Leaves: a `Mended`. No computing is done here.
"""

from treemend.mender.estimator import TreeMender
from treemend.mender.model_file import ModelFile
from treemend.mender.one_table import mend
from treemend.mender.result import Mended
from treemend.mender.tuning import Trial, tune

__all__ = ["Mended", "ModelFile", "TreeMender", "Trial", "mend", "tune"]
