import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from tests.rows import correlated_rows, overwrite

import treemend
from treemend import ColumnsError, InputError, Mender, ParameterError

NAMES = [f"s{column}" for column in range(12)]
PASSED = ["id", "when", "note"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return correlated_rows(rng, 120, 12), overwrite(rng, correlated_rows(rng, 30, 12))[0]


def framed(values):
    """A pandas frame with foreign columns before, between and after the attributes, and integers that floats lose."""
    frame = pd.DataFrame(values, columns=NAMES, index=[f"r{row}" for row in range(len(values))])
    frame.insert(0, "id", np.arange(len(values)) + 2**60)
    frame.insert(5, "when", pd.date_range("2020-01-01", periods=len(values), tz="Europe/Berlin"))
    frame["note"] = pd.array([None if row % 3 else "=1+1" for row in range(len(values))], dtype="string")
    return frame


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_columns_come_back_untouched_in_their_place(kind, rows):
    reference, suspects = rows
    given = KINDS[kind](framed(suspects))
    mender = Mender(passthrough=PASSED, false_alarm_rate=0.2).fit(KINDS[kind](framed(reference)))
    assert mender.feature_names_in_.tolist() == NAMES
    mended = mender.mend(given)
    plain = Mender(false_alarm_rate=0.2).fit(reference).mend(suspects)
    assert mended.corrupted.any()
    assert type(mended.repaired) is type(given)
    assert list(mended.repaired.columns if kind != "pyarrow" else mended.repaired.column_names) == [*framed(suspects)]
    back = mended.repaired if kind == "pandas" else mended.repaired.to_pandas()
    before = given if kind == "pandas" else given.to_pandas()
    pd.testing.assert_frame_equal(back[PASSED], before[PASSED])
    assert np.array_equal(back[NAMES].to_numpy(), plain.repaired)
    assert np.array_equal(np.asarray(mended.mask), plain.mask)
    assert [*back.index] == [*before.index]
    lines = pd.DataFrame(mended.findings_table())
    assert lines.columns[:4].tolist() == [*PASSED, "row"]
    assert lines["id"].tolist() == before["id"].iloc[lines["row"]].tolist()
    assert len(lines) == len(plain.findings_table()["row"])
    if kind != "pandas":
        assert mended.repaired.schema == given.schema


def test_arrays_hold_the_attributes_only(rows):
    reference, suspects = rows
    mender = Mender(passthrough=PASSED).fit(framed(reference))
    plain = Mender().fit(reference)
    assert np.array_equal(mender.transform(framed(suspects)), plain.transform(suspects))
    assert np.array_equal(clone(mender).fit_transform(framed(reference)), plain.fit_transform(reference))
    assert np.array_equal(np.asarray(mender.mend(framed(suspects)).mask), plain.mend(suspects).mask)
    assert mender.set_output(transform="pandas").transform(framed(suspects)).columns.tolist() == NAMES


def test_suspects_may_lack_them(rows):
    reference, suspects = rows
    mender = Mender(passthrough=PASSED).fit(framed(reference))
    bare = framed(suspects)[NAMES]
    assert mender.mend(bare).repaired.columns.tolist() == NAMES


def test_models_keep_the_parameter(rows, tmp_path):
    mender = Mender(passthrough=tuple(PASSED)).fit(framed(rows[0]))
    mender.save(tmp_path / "model")
    loaded = treemend.load(tmp_path / "model")
    assert loaded.passthrough == tuple(PASSED)
    pd.testing.assert_frame_equal(loaded.mend(framed(rows[1])).repaired, mender.mend(framed(rows[1])).repaired)


@pytest.mark.parametrize(
    ("passthrough", "error", "message"),
    [
        ("id", ParameterError, "must be a list or tuple"),
        (["id", "id"], ParameterError, "different column names"),
        (["id", "when", "notes"], ColumnsError, "not there: 'notes'"),
        (["id"], InputError, "'when' .*'note' .*Name them in passthrough"),
        ([*PASSED, *NAMES], InputError, "0 feature"),
    ],
)
def test_wrong_names(passthrough, error, message, rows):
    with pytest.raises(error, match=message):
        Mender(passthrough=passthrough).fit(framed(rows[0]))


def test_arrays_have_no_names(rows):
    with pytest.raises(ColumnsError, match="no column names"):
        Mender(passthrough=["id"]).fit(rows[0])
