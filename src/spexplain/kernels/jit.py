"""How kernels are compiled: serially, without the interpreter lock, and kept on disk for the next process.

Numba compiles a kernel for every combination of types that it is called with, and the time that this
takes grows with the lines of Python: about 60 ms for a kernel, 15 ms for a loop, 30 ms for a row of a
table taken as an array, 50 ms for the first array of a kind that is made. Copying one array into
another (``a[:] = b``) costs 300 ms, because the message of the error that it could raise is put
together from strings; so do sums of arrays and other expressions. Hence kernels are plain loops over
single entries, written for few combinations of types; Python makes the arrays that they need as room
and calls them one after the other, rather than they each other.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def jit(function: _Kernel, *, fastmath: bool | set[str] = False) -> _Kernel:
    """Compile a kernel when it is first called; type checkers still see the plain function."""
    compile_with = partial(
        numba.njit, nogil=True, error_model="numpy", fastmath=fastmath, no_cfunc_wrapper=True
    )
    try:
        compiled = compile_with(cache=True)(function)
    except RuntimeError:
        # No directory to keep compiled code in can be written to: compile anew in every process.
        compiled = compile_with()(function)
    return cast(_Kernel, compiled)


def jit_inline(function: _Kernel) -> _Kernel:
    """Put the lines of a small part into every kernel that calls it; a large one is better a kernel of its own."""
    compiled = numba.njit(nogil=True, error_model="numpy", inline="always")(function)
    return cast(_Kernel, compiled)


def jit_any_order(function: _Kernel) -> _Kernel:
    """Compile a kernel whose floats are whole numbers below 2**53, so that any order of adding them is exact."""
    return jit(function, fastmath={"reassoc", "nsz", "nnan"})
