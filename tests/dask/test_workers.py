"""What happens on the workers: threads, what is sent, how large graphs are, and what a worker's death does."""

import os
import signal
import time

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.dask.conftest import NAMES, expected_of, suspects

import treemend.dask
from treemend import Mender, threads
from treemend.dask.api import model_key
from treemend.dask.chunks import ModelFile, local_client

pytestmark = pytest.mark.slow

TABLES = ("repaired", "mask", "corrupted", "unusual", "p_values", "missing", "spread")


def test_one_thread_in_a_worker_unless_told_otherwise(client, mender):
    counts = client.gather([client.submit(threads.thread_count, n_jobs, pure=False) for n_jobs in (None, 2)])
    assert counts == [1, 2]
    rows = suspects(200)
    assert (
        client.submit(mend_without_pools, mender, rows).result().tobytes()
        == expected_of(mender, rows).repaired.tobytes()
    )
    assert set(client.run(threads_of_libraries).values()) == {1}


def test_one_thread_a_chunk_in_dasks_own_threads(mender, monkeypatch):
    monkeypatch.setattr(threads, "ThreadPoolExecutor", no_pool)
    mended = treemend.dask.mend(da.from_array(suspects(200), chunks=(100, 12)), mender)
    mended.repaired.compute(scheduler="threads", num_workers=2)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_the_model_is_sent_once_to_a_worker(kind, client, mender, frame_mender):
    rows = suspects(200)
    if kind == "array":
        mended = treemend.dask.mend(da.from_array(rows, chunks=(5, 12)), mender)
    else:
        frame = pd.DataFrame(rows, columns=NAMES).assign(id="x")
        mended = treemend.dask.mend(dd.from_pandas(frame, chunksize=5), frame_mender)
    client.run(count_arrivals)
    dask.compute(mended)
    arrivals = client.run(arrived)
    assert min(arrivals.values()) >= 1
    assert max(arrivals.values()) <= 2, "once with the task that makes it, or once from another worker"
    assert sum(arrivals.values()) <= 3


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_graphs_are_proportional_to_chunks_and_hold_the_model_once(kind, mender, frame_mender):
    model = frame_mender if kind == "frame" else mender
    model_bytes = len(cloudpickle.dumps(model))
    n_tasks, n_bytes = {}, {}
    for n_rows, n_chunks in ((200, 10), (200, 100), (20_000, 100)):
        rows = np.zeros((n_rows, 12))
        if kind == "array":
            collection = da.zeros((n_rows, 12), chunks=(n_rows // n_chunks, 12))
        else:
            frame = pd.DataFrame(rows, columns=NAMES).assign(id=0)
            collection = dd.from_pandas(frame, npartitions=n_chunks)
        mended = treemend.dask.mend(collection, model)
        optimized = mended.repaired.optimize() if kind == "frame" else dask.optimize(mended.repaired)[0]
        graph = dict(optimized.__dask_graph__())
        n_tasks[n_rows, n_chunks] = len(graph)
        assert sum("treemend-model" in str(key) for key in graph) == 1
        n_bytes[n_rows, n_chunks] = len(cloudpickle.dumps(graph)) - n_rows * 12 * 8 * (kind == "frame")
    assert n_tasks[200, 100] == n_tasks[20_000, 100] <= 3 * 100 + 5
    assert n_tasks[200, 100] - n_tasks[200, 10] <= 3 * 90
    assert max(n_bytes.values()) < model_bytes + 100 * 3_000


def test_the_same_model_has_the_same_key(mender, clean, tmp_path):
    again = Mender().fit(clean)
    other = Mender().fit(clean[:-1])
    assert model_key(mender).key == model_key(again).key != model_key(other).key
    for name, model in (("model", mender), ("again", mender), ("other", other)):
        model.save(tmp_path / name)
    file = model_key(ModelFile.at(tmp_path / "model")).key
    assert file == model_key(ModelFile.at(tmp_path / "model")).key
    assert len({file, *(model_key(ModelFile.at(tmp_path / name)).key for name in ("again", "other"))}) == 3


def test_a_model_file_is_opened_once_by_each_worker_and_never_sent(client, mender, tmp_path):
    mender.save(tmp_path / "model")
    rows = suspects(200)
    mended = treemend.dask.mend(da.from_array(rows, chunks=(5, 12)).map_blocks(slowly, dtype=float), tmp_path / "model")
    client.run(count_arrivals)
    client.run(count_loads)
    assert mended.repaired.compute().tobytes() == expected_of(mender, rows).repaired.tobytes()
    assert set(client.run(arrived).values()) == {0}
    assert set(client.run(n_loads).values()) == {1}


def test_all_tables_together_mend_each_chunk_once(mender, monkeypatch):
    calls = []
    mend = Mender.mend
    lazy = treemend.dask.mend(da.from_array(suspects(50), chunks=(10, 12)), mender)
    monkeypatch.setattr(Mender, "mend", lambda self, rows, **how: (calls.append(len(rows)), mend(self, rows, **how))[1])
    dask.compute(lazy, scheduler="synchronous")
    assert calls == [10] * 5


def test_a_worker_killed_in_the_middle_changes_nothing(mender):
    rows = suspects(240)
    collection = da.from_array(rows, chunks=(4, 12)).map_blocks(slowly, dtype=float)
    # A cluster of its own: how soon the worker comes back is no matter of this test, nor of those after it.
    with local_client(2) as client:
        workers = client.run(os.getpid)
        lazy = treemend.dask.mend(collection, mender)
        results = client.compute([getattr(lazy, table) for table in TABLES])
        deadline = time.monotonic() + 30
        while not has_begun(client) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        assert not any(result.done() for result in results), "the worker died too late"
        expected = expected_of(mender, rows)
        for table, result in zip(TABLES, results, strict=True):
            assert result.result(timeout=60).tobytes() == getattr(expected, table).tobytes()


def slowly(chunk):
    time.sleep(0.05)
    return chunk


def has_begun(client):
    """Whether the model and some chunks are there."""
    held = [str(key) for keys in client.has_what().values() for key in keys]
    return any("treemend-model" in key for key in held) and len(held) > 5


def no_pool(*arguments):
    raise AssertionError("a pool of threads inside a worker")


def mend_without_pools(mender, rows):
    pool = threads.ThreadPoolExecutor
    threads.ThreadPoolExecutor = no_pool
    try:
        return expected_of(mender, rows).repaired
    finally:
        threads.ThreadPoolExecutor = pool


def threads_of_libraries():
    from threadpoolctl import threadpool_info

    return max((library["num_threads"] for library in threadpool_info()), default=1)


def count_arrivals():
    """Count how often a mender is unpickled in this process."""
    Mender.arrivals = 0

    def setstate(self, state):
        Mender.arrivals += 1
        self.__dict__.update(state)

    Mender.__setstate__ = setstate


def count_loads():
    """Count how often a model is read from its file in this process."""
    load = treemend.load
    Mender.loads = 0

    def counted(path):
        Mender.loads += 1
        return load(path)

    treemend.load = counted


def n_loads():
    del treemend.load
    return Mender.loads


def arrived():
    n_arrivals = Mender.arrivals
    del Mender.__setstate__
    return n_arrivals
