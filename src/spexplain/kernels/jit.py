"""How kernels are compiled: serially, without the interpreter lock, and kept on disk for the next process."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def jit(function: _Kernel) -> _Kernel:
    """Compile a kernel when it is first called; type checkers still see the plain function."""
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        # No directory to keep compiled code in can be written to: compile anew in every process.
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(_Kernel, compiled)
