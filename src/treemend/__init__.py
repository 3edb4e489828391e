"""Find the overwritten stretches of numeric rows and put back what most likely stood there.

Names are loaded when first used, so that ``import treemend`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treemend import false_alarms
    from treemend.exceptions import (
        ColumnsError,
        InputError,
        ModelFileError,
        OutputError,
        ParameterError,
        TreemendError,
    )
    from treemend.mender import Mended, TreeMender, mend, tune

__version__ = "0.1.0"

__all__ = [
    "ColumnsError",
    "InputError",
    "Mended",
    "ModelFileError",
    "OutputError",
    "ParameterError",
    "TreeMender",
    "TreemendError",
    "false_alarms",
    "mend",
    "tune",
]

_ROOM_OF = {
    "ColumnsError": "exceptions",
    "InputError": "exceptions",
    "Mended": "mender",
    "ModelFileError": "exceptions",
    "OutputError": "exceptions",
    "ParameterError": "exceptions",
    "TreeMender": "mender",
    "TreemendError": "exceptions",
    "mend": "mender",
    "tune": "mender",
}


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"treemend.{_ROOM_OF[name]}"), name)
    if name in __all__:
        return import_module(f"treemend.{name}")
    raise AttributeError(f"module 'treemend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
