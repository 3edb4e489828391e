"""The published method, whole and by itself: `TCS`. Start at `pipeline`, which is the method in one screen.

Sections are those of the published method in docs/method.md; the paper's headings are beside them::

    section             in the paper                                             file
    2  attribute tree   Modeling of Localized Corruptions                        tree.py
    3  ranked distance  Ranked Euclidean Distances                               index.py and the kernels it calls
    4  scores           Detection of Statistical Deviations: Anomalies           scores.py
    5  separation       Modeling of Localized Corruptions, Algorithm TCS         search.py
    6  imputation       Maximum A Posteriori (MAP) Based Imputation              imputation.py
    7  false alarms     False Alarm Rate in Detecting Corruptions                false_alarms.py
                        its rate and threshold from data                         search.py: alarm_rates, largest_level

`estimator` is `TCS` itself and computes nothing; `observed` measures rows with missing values, which the paper does not
have. Nothing here imports `treemend.mender`, nor the other way round.
"""

from treemend.tcs import false_alarms
from treemend.tcs.estimator import TCS
from treemend.tcs.tree import AttributeTree, build_tree, grid_order

__all__ = ["TCS", "AttributeTree", "build_tree", "false_alarms", "grid_order"]
