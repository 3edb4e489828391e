"""What a model file holds, for people. The file is loaded completely: one that can be described can be used."""

import os

import treemend
from treemend.cli.errors import printable
from treemend.model_file import checksum_of, read_model

__all__ = ["describe"]

_NAMES_SHOWN = 12


def describe(path: str) -> list[str]:
    """Return lines that describe a model file."""
    stored = read_model(path)
    estimator = treemend.load(path)
    names = stored.names or ()
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    lines = [
        f"file         {path}, {os.path.getsize(path):,} bytes, checksum matches",
        f"SHA-256      {checksum_of(path)}",
        f"written by   {stored.written_by}",
        f"method       {stored.estimator}",
        f"columns      {estimator.n_features_in_}: {', '.join(names[:_NAMES_SHOWN]) + more if names else 'no names'}",
        *(f"{name:<13}{value}" for name, value in estimator.model_type.description(estimator._model)),
        "parameters",
        *(f"  {name:18}{value!r}" for name, value in sorted(estimator.get_params(deep=False).items())),
    ]
    return [printable(line) for line in lines]
