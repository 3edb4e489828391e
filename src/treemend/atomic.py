"""Files that appear whole or not at all.

Enters: a path, and bytes. Leaves: a complete file under that path, or nothing under it, whatever happens meanwhile: an
error, a full disk, Ctrl-C, ``kill -9``.

Bytes go into a file beside the final one, in the same folder. Where the system can (Linux), that file has no name until
it is complete, so that even a killed process leaves nothing behind; elsewhere it is called ``.NAME.XXXXXXXX.part`` and
renamed at the end.
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

    Parameters
    ----------
    path : path
        Where the file shall appear.
    replace : bool
        Whether a file that is there already is replaced; otherwise it is an `OutputError`.

    Attributes
    ----------
    file : binary file
        Open for writing, reading and seeking.
    """

    def __init__(self, path: str | os.PathLike[str], *, replace: bool) -> None:
        self.path = Path(os.path.realpath(path))
        self.replace = replace
        self._check_target()
        self._beside: Path | None = None
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
        if self._beside is None and not self.replace:
            _name_open_file(self.file.fileno(), self.path)
        else:
            if self._beside is None:
                self._beside = self._hidden_name()
                _name_open_file(self.file.fileno(), self._beside)
            self.file.close()
            _move(self._beside, self.path, replace=self.replace)
            self._beside = None
        self.file.close()
        _sync_folder(self.path.parent)

    def discard(self) -> None:
        """Forget what was written; does nothing to a published file."""
        # A full disk refuses the last buffered bytes; they are not wanted any more.
        with suppress(OSError):
            self.file.close()
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
            self._beside = None

    def _check_target(self) -> None:
        try:
            mode = os.stat(self.path).st_mode
        except OSError:
            return
        if not stat.S_ISREG(mode):
            raise OutputError(f"{self.path} is not a plain file. Choose another name.")
        if not self.replace:
            raise _exists(self.path)

    def _open(self) -> BinaryIO:
        # Not Linux, or a file system without nameless files; if something else is wrong, the hidden file shows it.
        with suppress(AttributeError, OSError):
            return os.fdopen(os.open(self.path.parent, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
        beside = self._hidden_name()
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)
        self._beside = beside
        return os.fdopen(descriptor, "w+b")

    def _hidden_name(self) -> Path:
        return self.path.with_name(f".{self.path.name[:200]}.{secrets.token_hex(4)}.part")


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path} already exists; not overwritten. Choose another name, or ask to overwrite it.")


def _name_open_file(descriptor: int, path: Path) -> None:
    """Give a nameless open file a name that is not taken yet."""
    descriptors = os.open("/proc/self/fd", os.O_RDONLY)
    try:
        # The folder descriptor makes Python call linkat, which follows /proc's link to the file itself.
        os.link(str(descriptor), path, src_dir_fd=descriptors, follow_symlinks=True)
    except FileExistsError:
        raise _exists(path) from None
    finally:
        os.close(descriptors)


def _move(beside: Path, path: Path, *, replace: bool) -> None:
    if replace:
        os.replace(beside, path)
        return
    try:
        os.link(beside, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        # No hard links here; nothing better than the check just made keeps another process from being overwritten.
        os.replace(beside, path)
    else:
        beside.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
