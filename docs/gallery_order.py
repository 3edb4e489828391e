"""The order of the gallery's examples: from the first thing to try to the last, whatever the files are called."""

from pathlib import Path

ORDER = (
    "sensor_table",
    "spectra",
    "occluded_images",
    "dirty_table",
    "scattered_typos",
    "explain_row",
    "rate_or_fdr",
    "missing_values",
    "rare_rows",
    "pipeline",
    "published_method",
    "dask_chunks",
)


def position(example: str) -> int:
    """Return the place of an example's file within its section."""
    return ORDER.index(Path(example).stem)
