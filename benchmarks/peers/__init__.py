"""Other people's methods on the same rows: one module a peer, run in an environment of their own.

Enters: the cases of `experiments.robustness`. Leaves: ``experiments/results/robustness/peers.csv``. Every peer gives
each cell a score and fills the cells it is told to. Its threshold is set so that 5 % of the clean test rows have a
cell beyond it: the rows on which its false alarms are counted, so that no peer loses by a threshold that does not
carry over. ``make peers`` makes the environment from ``requirements.txt`` and runs everything.
"""
