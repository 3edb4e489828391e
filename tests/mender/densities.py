"""A density learnt, the log density of rows, their evidence and their best sets, in one call each."""

import numpy as np
from scipy.special import logsumexp

from treemend.mender.density import Density, Shape, expect_rows, learn_densities
from treemend.mender.detection import Detection
from treemend.mender.evidence import Scan, prepare_scans, window_evidence
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, calibrated, cross_fit_rows
from treemend.mender.model import Detector
from treemend.mender.sets import Answers, Starts, search_rows
from treemend.mender.windows import Rules


def learn_density(rows: np.ndarray, shape: Shape, seed: int) -> Density:
    return learn_densities([rows], shape, seed)[0][0]


def log_density(density: Density, rows: np.ndarray) -> np.ndarray:
    return logsumexp(expect_rows(density, np.ascontiguousarray(rows))[0], axis=1)


def learn_detector(values: np.ndarray, layout: Layout, seed: int = 0, n_jobs: int = 1) -> tuple[Detector, CrossFit]:
    clean, cross_fit = cross_fit_rows(values, layout, seed, n_jobs, learnable=values)
    return calibrated(clean, cross_fit, seed), cross_fit


def weigh_rows(detector: Detector, values: np.ndarray, n_jobs: int | None = 1) -> Detection:
    detection = Detection([detector], values, np.zeros(len(values), np.int64), n_jobs)
    detection.weigh_windows()
    detection.weigh_singles()
    return detection


def complete_scan(density: Density, layout: Layout) -> Scan:
    n_components, d = density.centre.shape
    return prepare_scans(layout, [(density, np.ones(d, bool), np.ones(n_components, bool))])[0]


def best_sets(
    scan: Scan, rules: Rules, rows: np.ndarray, noise: np.ndarray, stuck: np.ndarray, tried: tuple
) -> Answers:
    starts = Starts(np.isin(np.arange(5), tried), stuck, window_evidence([(scan, rows, noise)], 1)[0], scan.windows)
    return search_rows([(scan.density, rules, rows, noise - scan.cells.price, starts)], 1)[0]
