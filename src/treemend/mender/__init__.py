"""The recommended method: a density of clean rows, evidence for sets of cells, one calibrated statistic a row."""
