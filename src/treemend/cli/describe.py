"""What a model file holds, for people. The file is loaded completely: one that can be described can be used."""

import os

import treemend
from treemend.cli.errors import printable
from treemend.mender import Mender
from treemend.model_file import checksum_of, read_model
from treemend.report.words import counted, percent
from treemend.tcs import TCS

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
        *_learnt(estimator),
        "parameters",
        *(f"  {name:18}{value!r}" for name, value in sorted(estimator.get_params(deep=False).items())),
    ]
    return [printable(line) for line in lines]


def _learnt(estimator: Mender | TCS) -> list[str]:
    """Say what was learnt, method by method."""
    if isinstance(estimator, TCS):
        declared = f"{percent(estimator.reference_rate_)} of the reference rows are declared"
        return [
            f"reference    {counted(len(estimator._model.rows), 'row')}",
            f"threshold    tau = {estimator.tau_:g}; {declared}",
            f"tree         {counted(len(estimator.tree_.start), 'node')}",
        ]
    layout = estimator._model.layout
    if layout.grid is not None:
        shape = f"images of {'x'.join(map(str, layout.grid))}"
    elif layout.groups is not None:
        shape = f"{counted(len(set(layout.groups.tolist())), 'group')} of columns"
    else:
        given = layout.order.tolist() == list(range(layout.n_features))
        shape = "the columns in their order" if given else "columns that are alike side by side"
    return [f"reference    {counted(estimator._model.calibration.n_rows, 'row')}", f"layout       {shape}"]
