"""The proof: what the default settings find and repair, measured on many sets and six kinds of corruption.

Enters: the data folder of `experiments.datasets`. Leaves: CSV files and pictures in ``experiments/results/robustness``
and the page ``docs/accuracy.md``. One module a question: `sweep` (six kinds x sets), `improvement` (Table 1 with the
defaults, and with a dirty reference), `one_table` (no clean rows known), `cost`, and `real` (sets with corruption of
their own). ``make robustness`` runs everything; ``make peers`` runs other people's methods on the same rows.

`sets`, `kinds`, `cases` and `measures` need NumPy and scikit-learn only, so that other environments can use them.
"""
