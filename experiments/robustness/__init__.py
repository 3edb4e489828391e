"""The proof: what the default settings find, repair and leave alone, measured on many sets.

One module a question, each with `compute` (leaves a CSV file in ``experiments/results/robustness``), `figures` (what
was asked and reached) and `tables`; `page` puts them together as ``docs/accuracy.md``. ``make robustness`` runs
everything, ``make peers`` runs other people's methods on the same rows in an environment of their own.

- Detection and repair: `one_stretch`, `several_stretches`, `scattered`, `grids`, `shuffled`, `typos`, `wide`.
- Filling: `missing`, `coverage`. Use: `classifier`, `improvement` (the paper's Table 1).
- Trust: `clean_rate`, `fdr`, `drift`, `moved`, `told_kinds`, `one_table`. Besides: `cost`, `real`.

Any estimator with ``fit(clean)`` and ``mend(suspect)`` can be measured (``--estimator module:name``).
"""
