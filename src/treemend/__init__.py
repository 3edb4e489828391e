"""Find what was overwritten in rows of numbers, and put back what most likely stood there.

`Mender` is the method to use; `TCS` is the published method, exactly. Names are imported when they are first used, so
that ``import treemend`` costs next to nothing. Everything that is not named here, in `treemend.tcs`, `treemend.dask`,
`treemend.plots` or `treemend.synthetic` is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treemend.exceptions import ColumnsError, InputError, ModelFileError, OutputError, ParameterError, TreemendError
    from treemend.loading import load
    from treemend.mender import Mender, mend
    from treemend.result import Result
    from treemend.tcs import TCS

__version__ = "0.1.0"

__all__ = ["TCS", "ColumnsError", "InputError", "Mender", "ModelFileError", "OutputError", "ParameterError", "Result"]
__all__ += ["TreemendError", "load", "mend"]

_MODULES = {"Mender": "mender", "Result": "result", "TCS": "tcs", "load": "loading", "mend": "mender"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"treemend.{_MODULES.get(name, 'exceptions')}"), name)
    raise AttributeError(f"module 'treemend' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
