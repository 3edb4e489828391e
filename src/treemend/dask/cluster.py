"""A cluster on this machine: single-threaded worker processes, with little upkeep beside them.

Where all cores are workers, Dask's profiler, its clocks and its statistics of the machine take time from their work.
"""

import logging

import dask
from distributed import Client

_LITTLE_UPKEEP = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


def local_client(n_workers: int) -> Client:
    """Start worker processes of one thread each, which stop when the client is closed; it is not the default one."""
    with dask.config.set(_LITTLE_UPKEEP):
        return Client(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            set_as_default=False,
        )
