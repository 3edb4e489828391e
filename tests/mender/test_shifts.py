"""A common shift of some cells: its odds against numerical integration, and that it is taken back."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_t, norm

from treemend import Mender
from treemend.mender.columns import learn_columns
from treemend.mender.density import make_density
from treemend.mender.evidence import SHIFT
from treemend.mender.shifts import common_shifts
from treemend.synthetic import waves


@pytest.fixture
def case():
    """Two components over five warped columns, and a row of which three cells were moved."""
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=(200, 5)) @ rng.normal(size=(5, 5))
    columns = learn_columns(values, np.arange(5))
    rows = columns.to_rows(values)[0]
    covariance = np.stack([np.cov(rows.T), 0.5 * np.cov(rows.T) + 0.01 * np.eye(5)])
    density = make_density(np.stack([rows.mean(axis=0), rows[3]]), covariance, np.log([0.7, 0.3]), 6.0)
    out = np.array([False, True, True, True, False])
    return density, columns, values[7] + 0.4 * out * columns.width, out


def log_density(density, row, cells):
    """Log density of some cells of a row in coordinates."""
    parts = [
        multivariate_t.logpdf(row[cells], centre[cells], covariance[np.ix_(cells, cells)], df=density.tail)
        for centre, covariance in zip(density.centre, density.mix.covariance, strict=True)
    ]
    return np.logaddexp.reduce(np.array(parts) + density.log_weight)


def test_odds_of_a_shift_equal_numerical_integration(case):
    density, columns, values, out = case
    everything = np.ones(5, bool)

    def integrand(amount):
        rows, slopes = columns.to_rows(np.stack([values, values - amount * out * columns.width]))
        odds = log_density(density, rows[1], everything) - log_density(density, rows[0], everything)
        return np.exp(odds + slopes[0].sum() - slopes[1].sum()) * norm.pdf(amount, scale=SHIFT)

    total = quad(integrand, -1, 1, limit=500)[0]
    mean = quad(lambda amount: amount * integrand(amount), -1, 1, limit=500)[0] / total
    row, slope = (part[0] for part in columns.to_rows(values[None]))
    odds, amount, deviation = common_shifts(
        [(columns, np.arange(5), density, values, row, slope, out)], np.array([-np.inf])
    )[:, 0]
    assert odds == pytest.approx(np.log(total), abs=0.05)
    assert amount == pytest.approx(mean, abs=0.1 * deviation)


def test_a_shift_is_taken_back_and_the_detail_stays():
    clean, suspect = waves(500, rng=0, noise=0.05), waves(30, rng=1, noise=0.05)
    moved = suspect.copy()
    moved[:, 8:20] += 0.8
    mended = Mender().fit(clean).mend(moved, on_drift="repair", n_draws=20)
    told = np.array([(mended.mask[i, 9:19]).all() for i in range(30)])
    assert told.mean() > 0.9
    error = np.abs(mended.repaired - suspect)[told, 10:18]
    # What is taken back is one number a row: the error of a cell is less than the noise that filling cannot know.
    assert np.median(error) < 0.03
    inside = np.abs(np.mean(mended.draws, axis=0) - suspect)[told, 10:18]
    assert np.median(inside) < 0.04
