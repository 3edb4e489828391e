"""Outputs: opened before the work begins, published together after all of it is done, or not at all."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from typing import BinaryIO, Self

from treemend.atomic import AtomicFile
from treemend.exceptions import OutputError
from treemend.files import STANDARD_STREAM

__all__ = ["Outputs"]


class Outputs:
    """The files that a command writes; standard output gets its bytes when all of them are there.

    Parameters
    ----------
    inputs : sequence of str
        Paths that must not be written to.
    force : bool
        Whether existing files are replaced.
    """

    def __init__(self, inputs: Sequence[str], *, force: bool) -> None:
        self._taken = {os.path.realpath(path): "an input" for path in inputs if path != STANDARD_STREAM}
        self._force = force
        self._files: list[AtomicFile] = []
        self._standard_output: BinaryIO | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        for file in self._files:
            file.discard()

    def claim(self, path: str) -> None:
        """Make sure that a path can become an output."""
        real = os.path.realpath(path)
        if real in self._taken:
            raise OutputError(f"{path} is already {self._taken[real]} and cannot be an output. Choose another name.")
        self._taken[real] = "an output"
        if os.path.exists(real) and not self._force:
            raise OutputError(f"{path} already exists; not overwritten. Choose another name, or give --force.")

    def open(self, path: str) -> BinaryIO:
        """Open an output for writing."""
        if path == STANDARD_STREAM:
            if self._standard_output is not None:
                raise OutputError("Standard output can take only one of the outputs. Give a file for the others.")
            self._standard_output = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            return self._standard_output
        self.claim(path)
        self._files.append(AtomicFile(path, replace=self._force))
        return self._files[-1].file

    def publish(self) -> None:
        """Let all outputs appear, the first one last: where it is, the others are."""
        for file in reversed(self._files):
            file.publish()
        if self._standard_output is not None:
            self._standard_output.seek(0)
            shutil.copyfileobj(self._standard_output, sys.stdout.buffer)
