"""A model file on its way to other processes: its path and checksum travel, and each process opens it for itself.

Enters: the path of a file that `TreeMender.save` wrote, readable under the same path wherever it is opened. Leaves: its
mender. A mender that is sent takes two to three times the bytes of its file, and all receivers wait for the first;
files are read by all at once.
"""

import hashlib
import os
import socket
import threading
from typing import Any

import treemend
from treemend.exceptions import ModelFileError, ParameterError
from treemend.mender.estimator import TreeMender

__all__ = ["ModelFile"]


class ModelFile:
    """The file of a fitted mender.

    It is opened when the mender is asked for, once in every process that got a copy of this object, and the mender
    lives as long as the copy does. Where the file is not the one that was named in the beginning, or treemend is of
    another version, it is refused: answers would depend on who gives them.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._version = treemend.__version__
        try:
            self.checksum = _checksum(self.path)
        except OSError as error:
            raise ModelFileError(
                f"{self.path} cannot be read: {error.strerror}. Give a file that save wrote."
            ) from None
        self._closed()

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the mender."""
        return {"path": self.path, "checksum": self.checksum, "_version": self._version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive, and open nothing yet."""
        self.__dict__.update(state)
        self._closed()

    def _closed(self) -> None:
        self._lock = threading.Lock()
        self._mender: TreeMender | None = None

    @property
    def mender(self) -> TreeMender:
        """The mender; the same object for all threads."""
        with self._lock:
            if self._mender is None:
                self._mender = self._opened()
            return self._mender

    def _opened(self) -> TreeMender:
        if treemend.__version__ != self._version:
            raise ParameterError(
                f"{socket.gethostname()} has treemend {treemend.__version__}, and the model was sent by treemend "
                f"{self._version}. Install the same version on all workers."
            )
        self._check()
        mender = TreeMender.load(self.path)
        # Again, since it may have been replaced meanwhile.
        self._check()
        return mender

    def _check(self) -> None:
        if not os.path.isfile(self.path) or _checksum(self.path) != self.checksum:
            raise ModelFileError(
                f"{self.path} is not there, or another file, on {socket.gethostname()}. Workers must see the model "
                "under the same path, unchanged as long as they use it."
            )


def _checksum(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
