"""On two worker processes: the bits of one machine, for any chunks."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.dask.conftest import NAMES, expected_of, suspects

import treemend.dask
from treemend import TCS, InputError, Mender, ParameterError
from treemend.exceptions import ColumnsError

pytestmark = pytest.mark.slow

TABLES = ("repaired", "mask", "corrupted", "unusual", "p_values", "missing", "spread")
ROWS_FOR_CHUNKS = {1: 24, 7: 100, 1000: 1100}


def same_bits(one, other):
    one, other = np.asarray(one), np.asarray(other)
    assert (one.shape, one.dtype) == (other.shape, other.dtype)
    assert one.tobytes() == other.tobytes()


def framed(rows):
    """Columns of several types, one that is passed through, and an index with a name."""
    frame = pd.DataFrame(rows, columns=NAMES, index=pd.RangeIndex(100, 100 + len(rows), name="when"))
    frame = frame.astype({"s3": np.float32})
    frame["s8"] = (frame["s8"] * 10).round().astype(np.int64)
    frame.insert(4, "id", pd.array([f"row {row}" for row in range(len(rows))], dtype="string[pyarrow]"))
    return frame


@pytest.mark.parametrize("chunk", ROWS_FOR_CHUNKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays(chunk, dtype, client, mender):
    rows = suspects(ROWS_FOR_CHUNKS[chunk]).astype(dtype)
    collection = da.from_array(rows, chunks=(chunk, 12))
    lazy, lazy_scores = treemend.dask.mend(collection, mender), treemend.dask.score_samples(collection, mender)
    mended, scores = dask.compute(lazy, lazy_scores)
    expected = expected_of(mender, rows)
    assert expected.corrupted.any()
    for table in TABLES:
        same_bits(getattr(mended, table), getattr(expected, table))
        assert getattr(lazy, table).dtype == getattr(expected, table).dtype
    same_bits(scores, mender.score_samples(rows))


@pytest.mark.parametrize("chunk", ROWS_FOR_CHUNKS)
def test_frames(chunk, client, frame_mender):
    rows = framed(suspects(ROWS_FOR_CHUNKS[chunk]))
    collection = dd.from_pandas(rows, chunksize=chunk)
    lazy = treemend.dask.mend(collection, frame_mender)
    lazy_scores = treemend.dask.score_samples(collection, frame_mender)
    mended, scores = dask.compute(lazy, lazy_scores)
    expected = expected_of(frame_mender, rows)
    for table in ("repaired", "mask", "missing", "spread"):
        computed, promised = getattr(mended, table), getattr(lazy, table)
        wanted = getattr(expected, table)
        if table == "repaired":
            wanted = wanted.astype({"s8": float})
        pd.testing.assert_frame_equal(computed, wanted, check_exact=True)
        assert promised.divisions == collection.divisions
        assert (promised.dtypes == computed.dtypes).all()
        assert list(promised.columns) == list(computed.columns)
        assert promised._meta.index.name == "when"
    assert mended.repaired.dtypes[["s0", "s3", "s8"]].tolist() == [np.float64, np.float32, np.float64]
    for series, values, promised in (
        (mended.corrupted, expected.corrupted, lazy.corrupted),
        (mended.unusual, expected.unusual, lazy.unusual),
        (mended.p_values, expected.p_values, lazy.p_values),
        (scores, frame_mender.score_samples(rows), lazy_scores),
    ):
        same_bits(series, values)
        assert series.index.equals(rows.index)
        assert (promised.name, promised.dtype) == (series.name, series.dtype)
        assert promised.divisions == collection.divisions


def test_uneven_and_empty_chunks_also_split_between_columns(client, mender):
    rows = suspects(60)
    collection = da.from_array(rows, chunks=((20, 0, 1, 30, 9), (5, 7)))
    mended = dask.compute(treemend.dask.mend(collection, mender))[0]
    expected = expected_of(mender, rows)
    for table in TABLES:
        same_bits(getattr(mended, table), getattr(expected, table))


def test_chunks_of_unknown_length(client, mender):
    rows = suspects(60)
    kept = rows[:, 0] > 0
    kept[:20] = False
    collection = da.from_array(rows, chunks=(10, 6))
    collection = collection[da.from_array(kept, chunks=10)]
    assert np.isnan(collection.shape[0])
    lazy = treemend.dask.mend(collection, mender)
    assert np.isnan(lazy.corrupted.shape[0])
    mended = dask.compute(lazy)[0]
    expected = expected_of(mender, rows[kept])
    for table in TABLES:
        same_bits(getattr(mended, table), getattr(expected, table))


def test_frames_with_empty_partitions_and_unknown_divisions(client, frame_mender):
    rows = framed(suspects(60))
    collection = dd.from_pandas(rows, npartitions=6).clear_divisions()
    collection = collection[collection["s8"] > 5]
    kept = rows[rows["s8"] > 5]
    assert 0 < len(kept) < len(rows)
    nothing = dd.from_pandas(rows, npartitions=3)
    nothing = nothing[nothing["s8"] > 10**6]
    mended, empty = dask.compute(
        treemend.dask.mend(collection, frame_mender), treemend.dask.mend(nothing, frame_mender)
    )
    expected = expected_of(frame_mender, kept)
    pd.testing.assert_frame_equal(mended.repaired, expected.repaired.astype({"s8": float}), check_exact=True)
    pd.testing.assert_frame_equal(mended.spread, expected.spread, check_exact=True)
    for table in ("repaired", "mask", "missing", "spread"):
        pd.testing.assert_frame_equal(getattr(empty, table), getattr(expected, table)[:0])


def test_nullable_columns_keep_one_type_in_all_chunks(frame_mender):
    rows = framed(suspects(40)).astype({"s8": "Int64", "s9": "Float64"})
    rows.loc[rows.index[3], "s8"] = pd.NA
    lazy = treemend.dask.mend(dd.from_pandas(rows, chunksize=5), frame_mender)
    parts = [part.compute(scheduler="synchronous").dtypes for part in lazy.repaired.partitions]
    assert all((part == lazy.repaired.dtypes).all() for part in parts)
    repaired = lazy.repaired.compute(scheduler="synchronous")
    same_bits(repaired[NAMES].to_numpy(float), expected_of(frame_mender, rows).repaired[NAMES].to_numpy(float))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_other_schedulers(scheduler, mender):
    rows = suspects(50)
    mended = treemend.dask.mend(da.from_array(rows, chunks=(11, 12)), mender)
    with dask.config.set(scheduler=scheduler):
        same_bits(mended.repaired.compute(), expected_of(mender, rows).repaired)


def test_the_published_method(client, clean):
    published = TCS(false_alarm_rate=0.1, depth=2).fit(clean)
    rows = suspects(30)
    collection = da.from_array(rows, chunks=(7, 12))
    lazy = treemend.dask.mend(collection, published)
    mended, scores = dask.compute(lazy, treemend.dask.score_samples(collection, published))
    same_bits(mended.repaired, published.mend(rows).repaired)
    same_bits(scores, published.score_samples(rows))
    assert lazy.p_values is None
    with pytest.raises(ParameterError, match="set by fit"):
        treemend.dask.mend(collection, published, false_alarm_rate=0.2)


def test_another_rate_than_the_models(mender):
    rows = suspects(60)
    lazy = treemend.dask.mend(da.from_array(rows, chunks=(20, 12)), mender, false_alarm_rate=0.005)
    expected = mender.mend(rows, false_alarm_rate=0.005, on_drift="repair")
    same_bits(lazy.mask.compute(scheduler="synchronous"), expected.mask)
    assert expected.mask.sum() < expected_of(mender, rows).mask.sum()


def test_a_model_by_its_path(client, mender, tmp_path):
    mender.save(tmp_path / "model.safetensors")
    rows = suspects(50)
    mended = treemend.dask.mend(da.from_array(rows, chunks=(11, 12)), tmp_path / "model.safetensors")
    same_bits(mended.repaired.compute(), expected_of(mender, rows).repaired)


def test_refusals_before_anything_is_computed(mender, frame_mender):
    with pytest.raises(InputError, match="Dask array or a Dask data frame, got numpy.ndarray.*Mender.mend"):
        treemend.dask.mend(suspects(3), mender)
    with pytest.raises(InputError, match="two dimensions"):
        treemend.dask.mend(da.zeros(12), mender)
    with pytest.raises(ColumnsError, match="11 features"):
        treemend.dask.mend(da.zeros((4, 11)), mender)
    with pytest.raises(ColumnsError, match="missing: 's11'"):
        treemend.dask.mend(dd.from_pandas(framed(suspects(4)).drop(columns="s11"), npartitions=1), frame_mender)
    with pytest.raises(ParameterError, match="fitted Mender or TCS, or the path"):
        treemend.dask.mend(da.zeros((4, 12)), 7)
    with pytest.raises(ValueError, match="not fitted"):
        treemend.dask.mend(da.zeros((4, 12)), Mender())


def test_an_error_says_in_which_chunk(client, mender, frame_mender):
    rows = suspects(40)
    rows[25, 3] = np.inf
    with pytest.raises(InputError, match=r"Chunk 2, rows counted from its first: .*row 5, column 3"):
        treemend.dask.mend(da.from_array(rows, chunks=(10, 12)), mender).mask.compute()
    frame = framed(suspects(40))
    frame.loc[frame.index[25], "s5"] = np.inf
    with pytest.raises(InputError, match=r"Chunk 2, rows counted from its first: .*row 5, column 5 \('s5'\)"):
        treemend.dask.mend(dd.from_pandas(frame, chunksize=10), frame_mender).mask.compute()
