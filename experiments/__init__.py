"""The published experiments, run again on the public interface of `treemend`.

One module a figure or table: `false_alarms`, `roc`, `imputation_quality`, `digit_pictures`, `scatter`, `table_1`,
`table_2`. Each has `compute`, which leaves CSV files, and `draw`, which turns those files into a picture or nothing at
all; `page` turns all of them into ``docs/paper.md``. ``make paper`` runs everything, ``python -m experiments --help``
tells the rest.
"""
