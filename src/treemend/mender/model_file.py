"""A model file on its way to other processes: its path and checksum travel, and each process opens it for itself.

Enters: the path of a file that `TreeMender.save` wrote, readable under the same path wherever it is opened. Leaves: its
mender. Sending a model costs every receiver its bytes, three times those of the file, and all of them wait for the
first; files are read by all at once.
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

    Its copies in other processes open it when their mender is asked for, once, and the mender lives as long as the copy
    does. Where the file has changed, or treemend is of another version, they refuse: answers would depend on who gives
    them.

    Parameters
    ----------
    path : path
        It is read at once, and refused as `TreeMender.load` refuses it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        self._mender: TreeMender | None = TreeMender.load(path)
        self._version = treemend.__version__
        self.path = os.path.abspath(path)
        self.checksum = _checksum(self.path)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without the mender."""
        return {"path": self.path, "checksum": self.checksum, "_version": self._version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive, and open nothing yet."""
        self.__dict__.update(state, _lock=threading.Lock(), _mender=None)

    @property
    def mender(self) -> TreeMender:
        """The mender; the same object for all threads."""
        with self._lock:
            if self._mender is None:
                self._mender = self._opened()
            return self._mender

    def _opened(self) -> TreeMender:
        here = socket.gethostname()
        if treemend.__version__ != self._version:
            raise ParameterError(
                f"{here} has treemend {treemend.__version__}, and the model was sent by {self._version}. Install the "
                "same version on all workers."
            )
        if not os.path.isfile(self.path) or _checksum(self.path) != self.checksum:
            raise ModelFileError(
                f"{self.path} is not there, or another file, on {here}. Workers must see the model under the same "
                "path, unchanged as long as they use it."
            )
        return TreeMender.load(self.path)


def _checksum(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
