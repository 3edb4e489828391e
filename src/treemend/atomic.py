"""Files that appear complete or not at all, whatever happens meanwhile: an error, a full disk, Ctrl-C, ``kill -9``.

Bytes go into a file in the folder of the final one. On Linux that file has no name until it is complete, so that even a
killed process leaves nothing behind; elsewhere it is called ``.NAME.XXXXXXXX.part`` until then.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from treemend.exceptions import OutputError

__all__ = ["AtomicFile"]


class AtomicFile:
    """A file being written, which gets its name when it is complete.

    Leaving the ``with`` block without an error publishes the file, unless `publish` was called before; leaving it with
    an error discards it.

    Links are followed. An existing file is replaced if ``replace`` says so, and is an `OutputError` otherwise.

    Attributes
    ----------
    file : binary file
        Open for writing, reading and seeking.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        if self.replace:
            if self._temporary is None:
                # A file without a name can only get one that is not taken.
                temporary = self._temporary_path()
                self._link(temporary)
                self._temporary = temporary
            os.replace(self._temporary, self.path)
            self._temporary = None
        else:
            self._link(self.path)
        self.discard()
        if os.name != "nt":
            # The new name survives a power cut.
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def discard(self) -> None:
        """Forget what was written; does nothing to a published file."""
        # A full disk refuses the last buffered bytes; they are not wanted any more.
        with suppress(OSError):
            self.file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

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
        temporary = self._temporary_path()
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(temporary, flags, 0o666), "w+b")
        self._temporary = temporary
        return file

    def _temporary_path(self) -> Path:
        return self.path.with_name(f".{self.path.name[:200]}.{secrets.token_hex(4)}.part")

    def _link(self, path: Path) -> None:
        """Give the file another name, which must be free; the old one, if it has any, goes when it is discarded."""
        try:
            if self._temporary is not None:
                os.link(self._temporary, path)
                return
            # The folder descriptor makes Python call linkat, which follows /proc's link to the file itself.
            descriptors = os.open("/proc/self/fd", os.O_RDONLY)
            try:
                os.link(str(self.file.fileno()), path, src_dir_fd=descriptors, follow_symlinks=True)
            finally:
                os.close(descriptors)
        except FileExistsError:
            raise _exists(path) from None


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path} already exists; not overwritten. Choose another name, or ask to overwrite it.")
