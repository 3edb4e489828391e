"""How the kernels of this subpackage are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` at its first call, without the GIL, cached on disk.

    It is compiled again for each literal number or flag that another kernel passes: a variable costs less.

    No reassociation and no contraction: a sum has the bits of the same sum written in Python, so that a row's answer
    does not depend on the machine's vector width nor on the rows it comes with.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
