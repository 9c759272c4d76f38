"""How kernels are compiled: serially, without the interpreter lock, and kept on disk for the next process."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def jit(function: _Kernel, *, fastmath: bool | set[str] = False) -> _Kernel:
    """Compile a kernel when it is first called; type checkers still see the plain function."""
    compile_with = partial(numba.njit, nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        compiled = compile_with(cache=True)(function)
    except RuntimeError:
        # No directory to keep compiled code in can be written to: compile anew in every process.
        compiled = compile_with()(function)
    return cast(_Kernel, compiled)


def jit_any_order(function: _Kernel) -> _Kernel:
    """Compile a kernel whose floats are whole numbers below 2**53, so that any order of adding them is exact."""
    return jit(function, fastmath={"reassoc", "nsz", "nnan"})
