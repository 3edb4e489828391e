import numpy as np
import pytest

from treemend.mender.drift import DriftTest, learn_drift_reference


def told(reference, values, mask=None, unusual=None, batches=1):
    test = DriftTest(learn_drift_reference(reference))
    mask = np.zeros(values.shape, bool) if mask is None else mask
    unusual = np.zeros(len(values), bool) if unusual is None else unusual
    for part in np.array_split(np.arange(len(values)), batches):
        test.add(values[part], mask[part], unusual[part])
    return test.notes()


def tables(rng):
    mixing = np.linalg.cholesky(np.corrcoef(rng.normal(size=(12, 40))) + 0.2 * np.eye(12))
    return (rng.normal(size=(300, 12)) @ mixing.T for _ in range(2))


KINDS = {
    "all columns": lambda rows, sd: rows + 0.5 * sd,
    "one column": lambda rows, sd: rows + 0.5 * sd * (np.arange(rows.shape[1]) == 3),
    "gain": lambda rows, sd: rows * np.where(np.arange(rows.shape[1]) == 3, 1.6, 1.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_drift_is_told(kind):
    """In at least nine of ten tables of 300 rows, and with the column's name."""
    found = 0
    for seed in range(40):
        reference, rows = tables(np.random.default_rng(seed))
        notes = told(reference, KINDS[kind](rows, reference.std(axis=0)))
        found += any("column 3" in note for note in notes)
    assert found >= 36


def test_clean_tables_are_not_drifted():
    rng = np.random.default_rng(0)
    fired = 0
    for seed in range(60):
        fired += bool(told(*tables(np.random.default_rng(seed))))
        fired += bool(told(rng.poisson(0.2, (300, 12)).astype(float), rng.poisson(0.2, (300, 12)).astype(float)))
        fired += bool(told(rng.standard_cauchy((300, 12)), rng.standard_cauchy((300, 12))))
    assert fired <= 2


def test_a_column_that_is_wrong_in_most_rows():
    reference, rows = tables(np.random.default_rng(1))
    mask = np.zeros(rows.shape, bool)
    mask[:200, 4] = True
    assert "column 4 (in 67% of the rows)" in told(reference, rows, mask)[0]
    everywhere = np.random.default_rng(2).random(rows.shape) < 0.5
    assert told(reference, rows, everywhere) == ()


def test_many_unusual_rows():
    reference, rows = tables(np.random.default_rng(1))
    unusual = np.arange(300) < 60
    assert told(reference, rows, unusual=unusual) == (
        "20% of the rows are unusual as a whole: the reference does not cover them.",
    )
    assert told(reference, rows, unusual=np.arange(300) < 15) == ()


def test_batches_change_nothing_and_missing_values_do_not_count():
    reference, rows = tables(np.random.default_rng(3))
    rows = rows + reference.std(axis=0)
    rows[::2, :6] = np.nan
    assert told(reference, rows) == told(reference, rows, batches=7) != ()
    assert told(reference, rows[:20]) == ()
