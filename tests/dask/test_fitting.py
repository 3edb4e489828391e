"""References in shards on a real cluster: fitted, scored and mended with the bits of one machine."""

import os
import signal

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.dask.conftest import NAMES, suspects, waves

import treemend.dask
from treemend import TreeMender
from treemend.exceptions import InputError, ParameterError

TABLES = ("repaired", "mask", "corrupted", "missing", "spread")


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_shards_and_chunks_of_any_size_give_the_bits_of_one_machine(client, clean, chunk):
    reference = clean[: {1: 16, 7: 50}.get(chunk)]
    parameters = {"depth": 2, "false_alarm_rate": 0.2}
    whole = TreeMender(**parameters).fit(reference)
    parts = treemend.dask.fit(TreeMender(**parameters), da.from_array(reference, chunks=(chunk, 5)))
    rows = suspects(30 if chunk > 1 else 6)
    expected = whole.mend(rows)
    assert expected.corrupted.any()
    here = parts.mend(rows)
    there = treemend.dask.mend(parts, da.from_array(rows, chunks=(max(chunk, 3), 12)))
    computed = dask.compute(*(getattr(there, name) for name in TABLES))
    for name, table in zip(TABLES, computed, strict=True):
        np.testing.assert_array_equal(getattr(here, name), getattr(expected, name))
        np.testing.assert_array_equal(table, getattr(expected, name))
    scores = treemend.dask.score_samples(parts, da.from_array(rows, chunks=(20, 12)))
    np.testing.assert_array_equal(scores.compute(), whole.score_samples(rows))
    np.testing.assert_array_equal(parts.score_nodes(rows), whole.score_nodes(rows))


def test_frames_with_names_text_and_empty_partitions(client, clean):
    frame = pd.DataFrame(clean, columns=NAMES).assign(id="reference")
    frame.loc[[3, 90], "s4"] = np.nan
    parameters = {"passthrough": ["id"], "incomplete_reference": "drop", "calibration_rows": 60, "imputation": "map"}
    whole = TreeMender(**parameters).fit(frame)
    cut = dd.from_pandas(frame, npartitions=4)
    cut = dd.concat([cut, cut.partitions[0][cut.partitions[0]["s0"] > 100]])
    parts = treemend.dask.fit(TreeMender(**parameters), cut)
    rows = pd.DataFrame(suspects(30), columns=NAMES).assign(id="suspect")
    pd.testing.assert_frame_equal(parts.mend(rows).repaired, whole.mend(rows).repaired)
    assert list(parts.feature_names_in_) == NAMES


def test_a_shard_lost_with_its_worker_is_made_again(cluster, client, clean, mender):
    parts = treemend.dask.fit(TreeMender(depth=2), da.from_array(clean, chunks=(40, 12)))
    rows = suspects(30)
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    np.testing.assert_array_equal(parts.mend(rows).repaired, mender.mend(rows).repaired)
    client.wait_for_workers(2, timeout=60)


def test_what_cannot_be_is_refused(client, clean):
    with pytest.raises(ParameterError, match="one place"):
        treemend.dask.fit(TreeMender(clean_reference=True), da.from_array(clean))
    bad = clean.copy()
    bad[70, 2] = np.inf
    fitted = TreeMender().fit(waves(np.random.default_rng(0), 40, 5))
    with pytest.raises(InputError, match="Chunk 1, rows counted from its first"):
        treemend.dask.fit(fitted, da.from_array(bad, chunks=(50, 12)))
    assert fitted.n_features_in_ == 5
    parts = treemend.dask.fit(TreeMender(depth=2), da.from_array(clean, chunks=(50, 12)))
    with pytest.raises(InputError, match="several machines"):
        parts.save("nowhere")
    with pytest.raises(InputError, match="no rows"):
        treemend.dask.fit(TreeMender(), da.from_array(clean[:0]))
