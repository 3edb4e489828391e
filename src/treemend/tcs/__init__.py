"""The published method, complete and by itself: `TCS`. Start at `pipeline`, which is the method in one screen.

Where the sections of docs/method.md are, and what the paper calls them::

    docs/method.md         in the paper                                        file
    2.2  attribute tree    Modeling of Localized Corruptions                   tree.py
    2.3  ranked distance   Ranked Euclidean Distances                          index.py, and the kernels that it calls
    2.4  scores            Detection of Statistical Deviations: Anomalies      model.py
    2.5  separation        Modeling of Localized Corruptions, Algorithm TCS    search.py
    2.6  imputation        Maximum A Posteriori (MAP) Based Imputation         imputation.py
    2.7  false alarms      False Alarm Rate in Detecting Corruptions           false_alarms.py; from data: search.py
    2.8  missing values    -                                                   index.py, imputation.py
    2.9  other layouts     -                                                   tree.py: grid_order

`estimator` is `TCS` itself and computes nothing. Nothing here imports `treemend.mender`, nor the other way round.
"""

from treemend.tcs import false_alarms
from treemend.tcs.estimator import TCS
from treemend.tcs.tree import AttributeTree, build_tree, grid_order

__all__ = ["TCS", "AttributeTree", "build_tree", "false_alarms", "grid_order"]
