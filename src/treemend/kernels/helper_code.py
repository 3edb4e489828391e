"""Code of helpers, which kernels take in and nobody else calls.

Enters: a helper that Numba translates for LLVM. Leaves: its code, ready to be linked into a kernel's, but neither
optimised nor turned into machine instructions by itself: that happens once, with the kernel it goes into.

Numba would do both for every helper as well and throw the outcome away: nearly half of LLVM's work before the first fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _NoEngine:
    """Stands for the engine that would run a helper by itself."""

    def set_env(self, name: str, environment: Any) -> None:
        """Numba would write the environment to where the helper's code is: nowhere."""


class HelperLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A helper's code in LLVM's representation."""

    @property
    def codegen(self) -> Any:
        """Return what Numba hands the finished code to."""
        return _NoEngine()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return Numba's sign for a function that has no machine code."""
        return 0


_HOOKS = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "get_pointer_to_function")


class HelperCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, but for the library it writes to."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a helper for the types that the kernel calls it with."""
        # A Numba without these hooks compiles helpers its own way, which takes longer.
        if all(hasattr(JITCodeLibrary, hook) for hook in _HOOKS):
            self.state.library = HelperLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
