"""Rows in parts, so that no more memory is used than was allowed.

Enters: suspect rows as they came, and what is to be asked of them. Leaves: the answers for all rows. A row's answer
does not depend on the part it is in.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from treemend import progress
from treemend.memory import memory_budget
from treemend.mender.knowledge import Workshop

__all__ = ["in_parts", "row_parts"]

_MOST_ROWS = 4096
_FEWEST_ROWS = 64
_NUMBERS_AN_ATTRIBUTE = 24
_NUMBERS_A_NODE = 4
_NUMBERS_A_ROW = 1000


def row_parts(workshop: Workshop, n_rows: int, n_draws: int = 0) -> Iterator[slice]:
    """Yield slices that cover all rows, and tell the progress after each.

    Parameters
    ----------
    workshop : Workshop
    n_rows : int
    n_draws : int, default=0
        Number of random completions that are made of each row.
    """
    tree = workshop.tree
    numbers = (_NUMBERS_AN_ATTRIBUTE + n_draws) * tree.n_features + _NUMBERS_A_NODE * tree.n_nodes + _NUMBERS_A_ROW
    affordable = memory_budget(workshop.settings.means.memory_limit) // (8 * numbers)
    size = max(_FEWEST_ROWS, min(_MOST_ROWS, affordable))
    with progress.step(f"Looking at {n_rows:,} rows", n_rows):
        for begin in range(0, n_rows, size):
            part = slice(begin, min(begin + size, n_rows))
            yield part
            progress.advance(part.stop - part.start)


def in_parts(
    workshop: Workshop,
    values: NDArray[np.float64],
    ask: Callable[[NDArray[np.float64]], NDArray[np.generic]],
) -> NDArray[np.generic]:
    """Return what ``ask`` says of all rows, asked part by part.

    Parameters
    ----------
    workshop : Workshop
    values : ndarray, rows x attributes
        As they came.
    ask : callable
        Takes rows, scaled and in the order of the tree, and returns an array with one entry for each.
    """
    answers = [ask(workshop.to_tree(values[part])) for part in row_parts(workshop, len(values))]
    return np.concatenate(answers) if answers else ask(workshop.to_tree(values))
