"""Outputs: opened before the work begins, published together after all of it is done, or not at all.

Enters: the inputs, and the paths to write. Leaves: open files; no output equals an input or another output.
"""

import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import BinaryIO, Self, cast

from treemend.exceptions import OutputError
from treemend.files.kinds import STANDARD_STREAM
from treemend.atomic import AtomicFile

__all__ = ["Outputs"]


class Outputs:
    """The files that a command writes.

    Parameters
    ----------
    inputs : sequence of str
        Paths that must not be written to.
    force : bool
        Whether files that are there already are replaced.
    """

    def __init__(self, inputs: Sequence[str], *, force: bool) -> None:
        self._taken = {os.path.realpath(path): "an input" for path in inputs if path != STANDARD_STREAM}
        self._force = force
        self._files: list[AtomicFile] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.discard()

    def claim(self, path: str) -> None:
        """Make sure that a path can become an output."""
        real = os.path.realpath(path)
        if real in self._taken:
            raise OutputError(f"{path} is {self._taken[real]} already, and cannot be an output. Choose another name.")
        self._taken[real] = "an output"
        if os.path.exists(real) and not self._force:
            raise OutputError(f"{path} is there already and was left as it is. Choose another name, or give --force.")

    def open(self, path: str) -> BinaryIO:
        """Open an output for writing."""
        if path == STANDARD_STREAM:
            if STANDARD_STREAM in self._taken:
                raise OutputError("Standard output can take only one of the outputs. Give a file for the others.")
            self._taken[STANDARD_STREAM] = "an output"
            return cast(BinaryIO, sys.stdout.buffer)
        self.claim(path)
        whole = AtomicFile(path, replace=self._force)
        self._files.append(whole)
        return whole.file

    def publish(self) -> None:
        """Let all outputs appear, the first one last: where it is, the others are."""
        for file in reversed(self._files):
            file.publish()
