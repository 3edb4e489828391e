"""Dask: rows that one machine cannot hold, mended chunk by chunk on many, with the bits of one (``treemend[dask]``).

Enters: a fitted mender, or the path of its model file, and a Dask array or data frame of suspect rows. Leaves: a
`DaskMended`, whose tables are Dask collections; nothing is computed before they are.

The way through: ``models`` makes the mender one key of the graph, so that a worker gets it once, however many chunks it
mends; ``chunked`` puts a function to every chunk of an array or a data frame; ``chunks`` is what runs on a worker, and
calls `TreeMender` as anyone would; ``mending`` calls these in order. ``fitting`` leaves a reference larger than one
worker where it is, and ``crew`` asks its shards; ``local`` starts workers on this machine. `TreeMender` knows nothing
of all this.
"""

try:
    import dask  # noqa: F401
except ImportError:
    raise ImportError("treemend.dask needs Dask, which is missing. pip install 'treemend[dask]'.") from None

from treemend.dask.fitting import fit
from treemend.dask.mending import mend, score_samples
from treemend.dask.result import DaskMended

__all__ = ["DaskMended", "fit", "mend", "score_samples"]
