"""What a model file holds, for people.

Enters: a path. Leaves: lines of text. The file is loaded as a whole, so that a file that can be inspected can be used.
"""

import os
from typing import Any

from treemend.cli.failures import printable
from treemend.mender import TreeMender
from treemend.mender.saving import FORMAT_VERSION, KIND
from treemend.storage import read

__all__ = ["described"]

_NAMES_SHOWN = 12
_DEPTHS_DRAWN = 3


def described(path: str) -> list[str]:
    """Return lines that describe a model file."""
    stored = read(path, KIND, FORMAT_VERSION)
    mender = TreeMender.load(path)
    names = list(getattr(mender, "feature_names_in_", []))
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    lines = [
        f"file             {path}, {os.path.getsize(path):,} bytes, checksums match",
        f"format           version {stored.version}, written by {_writer(stored.contents)}",
        f"reference        {len(mender.reference_):,} rows x {mender.n_features_in_} columns",
        f"columns          {', '.join(names[:_NAMES_SHOWN]) + more if names else 'without names'}",
        f"threshold        tau = {mender.tau_:g}; {mender.reference_rate_:.2%} of the reference rows are touched",
        f"tree             {mender.tree_.n_nodes} nodes, depth {mender.tree_.height}",
    ]
    lines += [f"  {line}" for line in _drawn(mender.tree_, 0, names)]
    lines.append("parameters")
    lines += [f"  {name:22s}{value!r}" for name, value in sorted(mender.get_params(deep=False).items())]
    return [printable(line) for line in lines]


def _writer(contents: Any) -> str:
    return str(contents.get("written_by", "an early treemend"))


def _drawn(tree: Any, node: int, names: list[str]) -> list[str]:
    """Draw the upper levels of the tree, one node a line."""
    first, last = (int(tree.order[place]) for place in (tree.start[node], tree.stop[node] - 1))
    ends = [repr(names[column]) if names else f"column {column}" for column in (first, last)]
    width = int(tree.stop[node] - tree.start[node])
    reach = ends[0] if width == 1 else f"{ends[0]} to {ends[1]}, {width} attributes"
    lines = [f"{'  ' * int(tree.depth[node])}{reach}"]
    if tree.left[node] >= 0 and tree.depth[node] + 1 < _DEPTHS_DRAWN:
        lines += _drawn(tree, int(tree.left[node]), names) + _drawn(tree, int(tree.right[node]), names)
    return lines
