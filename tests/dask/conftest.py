"""A real cluster of two worker processes, and small rows to mend on it."""

import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from treemend import Mender
from treemend.synthetic import waves

NAMES = [f"s{column}" for column in range(12)]


def suspects(n_rows, seed=1):
    """Rows of which some are partly overwritten, some have gaps, and some both."""
    rng = np.random.default_rng(seed)
    rows = waves(n_rows, 12, rng=rng)
    rows[::5, 2:7] = rng.uniform(-2, 2, (len(rows[::5]), 5))
    rows[::7, 10] = np.nan
    return rows


@pytest.fixture(scope="session")
def clean():
    return waves(150, 12)


@pytest.fixture(scope="session")
def mender(clean):
    return Mender().fit(clean)


@pytest.fixture(scope="session")
def frame_mender(clean):
    frame = pd.DataFrame(clean, columns=NAMES).assign(id="reference")
    return Mender(passthrough=["id"]).fit(frame)


def expected_of(mender, rows):
    """Mend rows in one piece, as chunks do: whether they have drifted is not asked."""
    return mender.mend(rows, on_drift="repair")


@pytest.fixture(scope="session")
def cluster():
    with (
        warnings.catch_warnings(),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client
