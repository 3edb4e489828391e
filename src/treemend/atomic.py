"""Files that appear complete or not at all, whatever happens meanwhile: an error, a full disk, Ctrl-C, ``kill -9``.

Bytes go into a file in the same folder. On Linux that file has no name until it is complete, so that even a killed
process leaves nothing behind; elsewhere it is called ``.NAME.XXXXXXXX.part`` until then.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from treemend.exceptions import OutputError


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, replace: bool) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when the block ends; an error in the block discards it.

    Links are followed. An existing file is replaced if ``replace`` says so, and is an `OutputError` otherwise.
    """
    target = Path(os.path.realpath(path))
    _check_target(target, replace)
    hidden = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        file = _open(hidden)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}. Choose another place.") from None
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        _check_target(target, replace)
        _publish(file, hidden, target, replace)
    finally:
        with suppress(OSError):  # A full disk refuses the last buffered bytes.
            file.close()
        hidden.unlink(missing_ok=True)


def _check_target(target: Path, replace: bool) -> None:
    if os.path.exists(target):
        if not os.path.isfile(target):
            raise OutputError(f"{target} is not a plain file. Choose another name.")
        if not replace:
            raise _exists(target)


def _open(hidden: Path) -> BinaryIO:
    # Not Linux, or a file system without nameless files; if something else is wrong, the hidden file shows it.
    with suppress(AttributeError, OSError):
        return os.fdopen(os.open(hidden.parent, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    return open(hidden, "x+b")


def _publish(file: BinaryIO, hidden: Path, target: Path, replace: bool) -> None:
    """Give the file its name, which then survives a power cut."""
    folder = None if os.name == "nt" else os.open(target.parent, os.O_RDONLY)
    try:
        if not hidden.exists():
            # Because of the folder, Python calls linkat, which follows the link in /proc to the file itself.
            os.link(f"/proc/self/fd/{file.fileno()}", hidden, dst_dir_fd=folder, follow_symlinks=True)
        (os.replace if replace else os.link)(hidden, target)
        if folder is not None:
            os.fsync(folder)
    except FileExistsError:
        raise _exists(target) from None
    finally:
        if folder is not None:
            os.close(folder)


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path} already exists; not overwritten. Choose another name, or ask to overwrite it.")
