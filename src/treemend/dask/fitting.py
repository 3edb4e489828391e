"""Fitting to a reference that is larger than one worker: its shards stay where they are.

Enters: a mender and a Dask array or data frame of clean rows. Leaves: the mender, fitted, with the bits that one
machine would give; its reference lives on the cluster as long as the mender does.
"""

from typing import Any

import dask
import numpy as np
from distributed import Client, Future, get_client

from treemend import tables
from treemend.dask.chunked import chunked
from treemend.dask.chunks import reference_chunk
from treemend.dask.crew import ClusterCrew
from treemend.exceptions import InputError, ParameterError
from treemend.mender import TreeMender
from treemend.reference import RawShard, ShardedRows

__all__ = ["fit"]


def fit(mender: TreeMender, collection: Any) -> TreeMender:
    """Learn what is usual from the clean rows of a Dask collection, whose chunks stay on their workers.

    Every question that learning and mending ask of the reference goes to all shards, and their answers are merged. The
    mender is the one that `TreeMender.fit` gives on one machine, bit for bit.

    Parameters
    ----------
    mender : TreeMender
        ``clean_reference=True`` needs all rows in one place and is refused.
    collection : Dask array or Dask data frame, rows x attributes
        Clean reference rows, finite. Each chunk is a shard; what a worker needs for its shards,
        ``docs/scaling.md`` tells.

    Returns
    -------
    TreeMender
        The same mender, fitted. It can mend rows here, or, by `treemend.dask.mend`, rows on the cluster. It cannot be
        saved, since its reference is not here.

    Notes
    -----
    Needs a client of a distributed cluster. As many reference rows as ``calibration_rows`` says set the thresholds;
    what is learnt beyond the nearest rows comes from samples of at most 8,000 rows, on one machine as on a cluster.
    """
    if mender.clean_reference:
        raise ParameterError(
            "clean_reference=True compares all reference rows in rounds and needs them in one place. Clean a sample "
            "with TreeMender(clean_reference=True).fit, or give clean rows."
        )
    client = get_client()
    rows = chunked(collection)
    before = dict(vars(mender))
    try:
        names = mender._read(rows.example(), reset=True).names
        reader = TreeMender(passthrough=mender.passthrough, incomplete_reference=mender.incomplete_reference)
        reader.n_features_in_ = mender.n_features_in_
        if names is not None:
            reader.feature_names_in_ = mender.feature_names_in_
        read = rows.mapped(reference_chunk, dask.delayed(reader, traverse=False))
        sharded = _sharded(client, client.compute(rows.parts(read)), mender.n_features_in_)
        tables.check_range(np.array(sharded.extremes()), names)
        mender._learn_rows(sharded, names)
    except BaseException:
        mender.__dict__ = before
        raise
    mender._warn_if_powerless()
    return mender


def _sharded(client: Client, chunks: list[Future], n_attributes: int) -> ShardedRows:
    """Count the rows of the chunks, leave out those that have none, and number the rows."""
    sizes = client.gather(client.map(len, chunks, pure=False))
    firsts = np.concatenate(([0], np.cumsum(sizes))).tolist()
    there = [place for place, size in enumerate(sizes) if size > 0]
    if not there:
        raise InputError("The reference has no rows.")
    shards = [client.submit(RawShard, chunks[place], firsts[place], pure=False) for place in there]
    return ShardedRows(ClusterCrew(shards, tuple(sizes[place] for place in there)), n_attributes)
