"""Other people's methods on the same rows: one module a peer, run in an environment of their own.

Peers that detect give each cell a score and fill the cells they are told to. Their threshold is set so that 5 % of the
clean test rows have a cell beyond it: the rows on which false alarms are counted, so that no peer loses by a threshold
that does not carry over. Peers that impute fill the gaps of `experiments.robustness.missing`. ``make peers`` makes the
environment from ``requirements.txt`` and leaves ``peers_<question>.csv`` beside the results of the proof.
"""
