"""What mending gives back.

Enters: what the stages found. Leaves: one frozen object, in the caller's kind of table.
"""

import os
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

if TYPE_CHECKING:
    from treemend.mender.evidence import Evidence
    from treemend.report import Findings

__all__ = ["Mended"]


@dataclass(frozen=True, eq=False, repr=False)
class Mended:
    """The result of mending rows.

    Attributes
    ----------
    repaired : table of the input's kind
        The rows, with corrupted and missing values replaced and all others bit for bit as they came.
    mask : table of the input's kind, boolean
        True where a value was judged corrupted; columns that were passed through are not in it.
    corrupted : ndarray of bool, one a row
        True where a row holds a corrupted value.
    missing : table of the input's kind, boolean
        True where a value was missing (NaN) and has been filled; never True where ``mask`` is.
    spread : table of the input's kind
        Standard deviation of every filled value, as the donors tell it; NaN where nothing was filled.
    draws : list of tables of the input's kind
        Random completions for multiple imputation, as many as were asked for.
    """

    repaired: Any
    mask: Any
    corrupted: NDArray[np.bool_]
    missing: Any
    spread: Any
    draws: list[Any]
    _evidence: "Evidence | None" = None

    def report(self, path: str | os.PathLike[str], *, title: str = "treemend report") -> None:
        """Write a report to look at: one HTML file that needs nothing else (``pip install treemend[report]``).

        Parameters
        ----------
        path : path
            Where to; an existing file is replaced.
        title : str
            Stands above the page.
        """
        from treemend.report import write_html

        write_html(self.summary(), path, title)

    def summary(self) -> dict[str, Any]:
        """Return what was found as plain numbers, words and lists, as the report and its JSON form tell it.

        Returns
        -------
        dict
            See `treemend.report.summarise`.
        """
        from treemend.report import summarise

        return summarise(self.findings())

    def findings(self, *, in_detail: bool = True) -> "Findings":
        """Return what was found as plain arrays, for `treemend.report.Gathering` and for plots.

        Parameters
        ----------
        in_detail : bool, default=True
            Whether nodes have scores, which are made again for the rows that are shown.
        """
        if self._evidence is None:
            raise InputError(
                "A report needs to know how the rows were mended, and this Mended was made without that. Take the one "
                "that TreeMender.mend returns."
            )
        return self._evidence.findings(in_detail=in_detail)

    def _repr_html_(self) -> str:
        from treemend.report import fragment, summarise

        if self._evidence is None:
            return f"<pre>{escape(repr(self))}</pre>"
        return fragment(summarise(self._evidence.findings(in_detail=False)))

    def __repr__(self) -> str:
        n_cells = int(np.asarray(self.mask).sum())
        return f"Mended({int(self.corrupted.sum())} of {len(self.corrupted)} rows repaired, {n_cells} cells)"
