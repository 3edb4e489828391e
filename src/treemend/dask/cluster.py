"""A cluster on this machine: single-threaded worker processes, with little upkeep beside them.

Where all cores are workers, Dask's profiler, its clocks and its statistics of the machine take time from their work.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import Client

_LITTLE_UPKEEP = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextmanager
def local_client(n_workers: int) -> Iterator[Client]:
    """Start worker processes of one thread each, and stop them in the end; the client is not the default one."""
    with (
        dask.config.set(_LITTLE_UPKEEP),
        Client(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            set_as_default=False,
        ) as client,
    ):
        yield client
