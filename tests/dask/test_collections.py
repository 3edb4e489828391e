"""On two worker processes: the bits of one machine, for any chunks."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.dask.conftest import NAMES, suspects

import treemend.dask
from treemend import InputError, ParameterError, TreeMender
from treemend.exceptions import ColumnsError

TABLES = ("repaired", "mask", "corrupted", "missing", "spread")
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
    lazy, lazy_scores = treemend.dask.mend(mender, collection), treemend.dask.score_samples(mender, collection)
    mended, scores = dask.compute(lazy, lazy_scores)
    expected = mender.mend(rows)
    assert expected.corrupted.any()
    for table in TABLES:
        same_bits(getattr(mended, table), getattr(expected, table))
        assert getattr(lazy, table).dtype == getattr(expected, table).dtype
    same_bits(scores, mender.score_samples(rows))


@pytest.mark.parametrize("chunk", ROWS_FOR_CHUNKS)
def test_frames(chunk, client, frame_mender):
    rows = framed(suspects(ROWS_FOR_CHUNKS[chunk]))
    collection = dd.from_pandas(rows, chunksize=chunk)
    lazy = treemend.dask.mend(frame_mender, collection)
    lazy_scores = treemend.dask.score_samples(frame_mender, collection)
    mended, scores = dask.compute(lazy, lazy_scores)
    expected = frame_mender.mend(rows)
    for table in ("repaired", "mask", "missing", "spread"):
        computed, promised = getattr(mended, table), getattr(lazy, table)
        pd.testing.assert_frame_equal(computed, getattr(expected, table), check_exact=True)
        assert promised.divisions == collection.divisions
        assert (promised.dtypes == computed.dtypes).all()
        assert list(promised.columns) == list(computed.columns)
        assert promised._meta.index.name == "when"
    assert mended.repaired.dtypes[["s0", "s3", "s8"]].tolist() == [np.float64, np.float32, np.float64]
    for series, values, promised in (
        (mended.corrupted, expected.corrupted, lazy.corrupted),
        (scores, frame_mender.score_samples(rows), lazy_scores),
    ):
        same_bits(series, values)
        assert series.index.equals(rows.index)
        assert (promised.name, promised.dtype) == (series.name, series.dtype)
        assert promised.divisions == collection.divisions


def test_uneven_and_empty_chunks_also_split_between_columns(client, mender):
    rows = suspects(60)
    collection = da.from_array(rows, chunks=((20, 0, 1, 30, 9), (5, 7)))
    mended = dask.compute(treemend.dask.mend(mender, collection))[0]
    expected = mender.mend(rows)
    for table in TABLES:
        same_bits(getattr(mended, table), getattr(expected, table))


def test_chunks_of_unknown_length(client, mender):
    rows = suspects(60)
    kept = rows[:, 0] > 0
    kept[:20] = False
    collection = da.from_array(rows, chunks=(10, 6))
    collection = collection[da.from_array(kept, chunks=10)]
    assert np.isnan(collection.shape[0])
    lazy = treemend.dask.mend(mender, collection)
    assert np.isnan(lazy.corrupted.shape[0])
    mended = dask.compute(lazy)[0]
    expected = mender.mend(rows[kept])
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
        treemend.dask.mend(frame_mender, collection), treemend.dask.mend(frame_mender, nothing)
    )
    expected = frame_mender.mend(kept)
    pd.testing.assert_frame_equal(mended.repaired, expected.repaired, check_exact=True)
    pd.testing.assert_frame_equal(mended.spread, expected.spread, check_exact=True)
    for table in ("repaired", "mask", "missing", "spread"):
        pd.testing.assert_frame_equal(getattr(empty, table), getattr(expected, table)[:0])


def test_nullable_columns_keep_one_type_in_all_chunks(frame_mender):
    rows = framed(suspects(40)).astype({"s8": "Int64", "s9": "Float64"})
    rows.loc[rows.index[3], "s8"] = pd.NA
    lazy = treemend.dask.mend(frame_mender, dd.from_pandas(rows, chunksize=5))
    parts = [part.compute(scheduler="synchronous").dtypes for part in lazy.repaired.partitions]
    assert all((part == lazy.repaired.dtypes).all() for part in parts)
    repaired = lazy.repaired.compute(scheduler="synchronous")
    same_bits(repaired[NAMES].to_numpy(float), frame_mender.mend(rows).repaired[NAMES].to_numpy(float))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_other_schedulers(scheduler, mender):
    rows = suspects(50)
    mended = treemend.dask.mend(mender, da.from_array(rows, chunks=(11, 12)))
    with dask.config.set(scheduler=scheduler):
        same_bits(mended.repaired.compute(), mender.mend(rows).repaired)


def test_a_model_by_its_path(client, mender, tmp_path):
    mender.save(tmp_path / "model.safetensors")
    rows = suspects(50)
    mended = treemend.dask.mend(tmp_path / "model.safetensors", da.from_array(rows, chunks=(11, 12)))
    same_bits(mended.repaired.compute(), mender.mend(rows).repaired)


def test_refusals_before_anything_is_computed(mender, frame_mender):
    with pytest.raises(InputError, match="Dask array or a Dask data frame, got numpy.ndarray.*TreeMender.mend"):
        treemend.dask.mend(mender, suspects(3))
    with pytest.raises(InputError, match="two dimensions"):
        treemend.dask.mend(mender, da.zeros(12))
    with pytest.raises(ColumnsError, match="11 features"):
        treemend.dask.mend(mender, da.zeros((4, 11)))
    with pytest.raises(ColumnsError, match="missing: 's11'"):
        treemend.dask.mend(frame_mender, dd.from_pandas(framed(suspects(4)).drop(columns="s11"), npartitions=1))
    with pytest.raises(ParameterError, match="fitted TreeMender or the path"):
        treemend.dask.mend(7, da.zeros((4, 12)))
    with pytest.raises(ValueError, match="not fitted"):
        treemend.dask.mend(TreeMender(), da.zeros((4, 12)))


def test_an_error_says_in_which_chunk(client, mender, frame_mender):
    rows = suspects(40)
    rows[25, 3] = np.inf
    with pytest.raises(InputError, match=r"Chunk 2, rows counted from its first: .*row 5, column 3"):
        treemend.dask.mend(mender, da.from_array(rows, chunks=(10, 12))).mask.compute()
    frame = framed(suspects(40))
    frame.loc[frame.index[25], "s5"] = np.inf
    with pytest.raises(InputError, match=r"Chunk 2, rows counted from its first: .*row 5, column 5 \('s5'\)"):
        treemend.dask.mend(frame_mender, dd.from_pandas(frame, chunksize=10)).mask.compute()
