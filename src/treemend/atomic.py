"""Files that appear complete or not at all, whatever happens meanwhile: an error, a full disk, Ctrl-C, ``kill -9``.

Bytes go into a file in the same folder. On Linux that file has no name until it is complete, so that even a killed
process leaves nothing behind; elsewhere it is called ``.NAME.XXXXXXXX.part`` until then.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from treemend.exceptions import OutputError


class AtomicFile:
    """A file being written, ``file``, which gets its name when it is complete.

    Leaving the ``with`` block publishes the file unless that was done before; leaving it with an error discards it.
    Links are followed. An existing file is replaced if ``replace`` says so, and is an `OutputError` otherwise.
    """

    def __init__(self, path: str | os.PathLike[str], *, replace: bool) -> None:
        self.path = Path(os.path.realpath(path))
        self.replace = replace
        self._check_target()
        self._temporary: Path | None = None
        try:
            self.file: BinaryIO = self._open()
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}. Choose another place.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self.file.closed:
                self.publish()
        finally:
            self.discard()

    def publish(self) -> None:
        """Put the bytes on the disk and give the file its name."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self._check_target()
        folder = None if os.name == "nt" else os.open(self.path.parent, os.O_RDONLY)
        try:
            if self._temporary is None:
                self._temporary = self._temporary_path()
                # Because of the folder, Python calls linkat, which follows the link in /proc to the file itself.
                os.link(f"/proc/self/fd/{self.file.fileno()}", self._temporary, dst_dir_fd=folder, follow_symlinks=True)
            (os.replace if self.replace else os.link)(self._temporary, self.path)
            if folder is not None:
                # The new name survives a power cut.
                os.fsync(folder)
        except FileExistsError:
            raise _exists(self.path) from None
        finally:
            if folder is not None:
                os.close(folder)
        self.discard()

    def discard(self) -> None:
        """Forget what was written; does nothing to a published file."""
        with suppress(OSError):  # A full disk refuses the last buffered bytes.
            self.file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    def _check_target(self) -> None:
        with suppress(OSError):
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                raise OutputError(f"{self.path} is not a plain file. Choose another name.")
            if not self.replace:
                raise _exists(self.path)

    def _open(self) -> BinaryIO:
        # Not Linux, or a file system without nameless files; if something else is wrong, the hidden file shows it.
        with suppress(AttributeError, OSError):
            return os.fdopen(os.open(self.path.parent, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
        self._temporary = self._temporary_path()
        return open(self._temporary, "x+b")

    def _temporary_path(self) -> Path:
        return self.path.with_name(f".{self.path.name[:200]}.{secrets.token_hex(4)}.part")


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path} already exists; not overwritten. Choose another name, or ask to overwrite it.")
