"""The one place that knows Numba's options.

Enters: a plain function over contiguous arrays and scalars. Leaves: its compiled form, which releases the
GIL, is compiled at its first call and is cached on disk for later processes. Section 8 of the method rests
on it.

``kernel`` keeps IEEE semantics: no reassociation, no contraction, so that a sum has the same bits as the same
sum written in Python. Where fused operations are wanted, ``lanes`` asks for them one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

from treemend.kernels.helper_code import HelperCompiler

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` lazily, without the GIL, cached across processes."""
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)(function))


def inlined(function: Function) -> Function:
    """Compile a helper into the kernels that call it: a call would copy every array's description to the stack.

    References to arrays are not counted in it, which would be most of what Numba writes for a small helper; so it
    may not ask for memory, nor return an array.
    """
    return _helper(function, forceinline=True)


def called(function: Function) -> Function:
    """Compile a helper that kernels call: for large helpers that are called seldom, which compile sooner this way."""
    return _helper(function, forceinline=False)


def _helper(function: Function, *, forceinline: bool) -> Function:
    # Python never calls a helper; wrappers for it would be compiled in vain.
    compiled = numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=forceinline,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=not forceinline,
        pipeline_class=HelperCompiler,
    )
    return cast(Function, compiled(function))


def operation(emitter: Callable[..., Any]) -> Callable[..., Any]:
    """Make an operation that kernels can call from a function that types it and emits its instructions."""
    emitted: Callable[..., Any] = intrinsic(emitter)
    return emitted
