"""Outputs: opened before the work begins, published together after all of it is done, or not at all."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from treemend.atomic import AtomicFile
from treemend.exceptions import OutputError
from treemend.files.formats import STANDARD_STREAM


@contextmanager
def opened_outputs(targets: dict[str, str], inputs: Sequence[str], *, force: bool) -> Iterator[dict[str, BinaryIO]]:
    """Open outputs by name; they appear when the block has ended, the first one last: where it is, the others are."""
    taken = {os.path.realpath(path): "an input" for path in inputs if path != STANDARD_STREAM}
    if list(targets.values()).count(STANDARD_STREAM) > 1:
        raise OutputError("Standard output can take only one of the outputs. Give a file for the others.")
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        published: list[AtomicFile] = []
        for name, path in targets.items():
            if path == STANDARD_STREAM:
                files[name] = stack.enter_context(tempfile.TemporaryFile())
                continue
            check_output(path, taken, force=force)
            published.append(AtomicFile(path, replace=force))
            stack.callback(published[-1].discard)
            files[name] = published[-1].file
        yield files
        for file in reversed(published):
            file.publish()
        for name, path in targets.items():
            if path == STANDARD_STREAM:
                files[name].seek(0)
                shutil.copyfileobj(files[name], sys.stdout.buffer)


def check_output(path: str, taken: dict[str, str], *, force: bool) -> None:
    """Refuse an output that is an input or another output, by their real paths, or that exists."""
    real = os.path.realpath(path)
    if real in taken:
        raise OutputError(f"{path} is already {taken[real]} and cannot be an output. Choose another name.")
    taken[real] = "an output"
    if os.path.exists(real) and not force:
        raise OutputError(f"{path} already exists; not overwritten. Choose another name, or give --force.")
