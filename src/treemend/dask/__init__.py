"""Dask: rows that one machine cannot hold, mended chunk by chunk, with the bits of one machine (``treemend[dask]``).

``api`` has the public functions; ``chunks`` is what runs on a worker, and calls the estimators as anyone would. The
estimators know nothing of all this.
"""

try:
    import dask  # noqa: F401
except ImportError:
    raise ImportError("treemend.dask needs Dask, which is missing. pip install 'treemend[dask]'.") from None

from treemend.dask.api import DaskResult, fit, mend, score_samples

__all__ = ["DaskResult", "fit", "mend", "score_samples"]
