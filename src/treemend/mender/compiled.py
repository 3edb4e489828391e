"""How the kernels of this subpackage are compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` at its first call, without the GIL, cached on disk.

    No reassociation and no contraction: a sum has the bits of the same sum written in Python, so that a row's answer
    does not depend on the machine's vector width nor on the rows it comes with.
    """
    return cast(Function, _compiled(no_cpython_wrapper=False, no_rewrites=False)(function))


def inner_kernel(function: Function) -> Function:
    """Compile ``function`` like a `kernel`, for calls from other kernels: without what a call from Python needs.

    It is compiled again for each literal of Python that another kernel passes: pass integers of NumPy, or variables.
    It is optimised again with each kernel that calls it, by whatever way: many short loops cost much time.
    A kernel that calls others counts a reference each time it reads a field of a tuple: it reads fields before loops.
    """
    return cast(Function, _compiled(no_cpython_wrapper=True)(function))


def inlined_kernel(function: Function) -> Function:
    """Compile ``function`` as a part of the one kernel that calls it, for long ones that are called in one place.

    What it calls is not optimised once more for it alone. With inlined functions inside, that costs more than it saves.
    """
    return cast(Function, numba.njit(inline="always", **_OPTIONS)(function))


# No rewrites: there are no expressions of whole arrays in kernels, and to look for them takes time. Only kernels that
# Python calls have them: without, branches that an argument of None rules out would be compiled as well.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_rewrites": True}
_compiled = partial(numba.njit, cache=True, no_cfunc_wrapper=True, **_OPTIONS)
