"""Compiling and launching kernels: for the device at first use, cached by CuPy."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from spexplain.engines.cupy.records import Block

SHARED = 200 * 1024  # bytes of shared memory that a block may take
_USUAL_SHARED = 32 * 1024  # what every kernel gets beside its own
EDGES = 256  # room for the edges between the bins of a feature
_PARTS = ("common.cuh", "coding.cu", "labels.cu", "edges.cu", "search.cu", "walk.cu")


@lru_cache(maxsize=8)
def _module(real: str, counter: str) -> Any:
    import cupy

    folder = files("spexplain.engines.cupy").joinpath("cuda")
    source = "\n".join(folder.joinpath(name).read_text() for name in _PARTS)
    options = ("-std=c++17", f"-DREAL={real}", f"-DSUM={counter}")
    return cupy.RawModule(code=source, options=options)


class Launcher:
    """Kernels for tables of one number type, and edge weights that fit 32 bits or do not."""

    def __init__(self, dtype: Any, *, wide: bool = False) -> None:
        import cupy

        self.xp = cupy
        real = "float" if np.dtype(dtype) == np.float32 else "double"
        self._module = _module(real, "unsigned long long" if wide else "unsigned int")
        self._functions: dict[str, Any] = {}
        self._rooms: dict[str, int] = {}  # shared memory that kernels may take
        self.sum_dtype = np.dtype(np.uint64 if wide else np.uint32)
        self.n_processors = int(cupy.cuda.Device().attributes["MultiProcessorCount"])

    def run(
        self, name: str, grid: tuple[int, ...], block: int, args: tuple[Any, ...], shared: int = 0
    ) -> None:
        """Launch a kernel; more than the usual shared memory must be asked for."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._module.get_function(name)
        if shared > self._rooms.get(name, _USUAL_SHARED):
            function.max_dynamic_shared_size_bytes = self._rooms[name] = shared
        function(grid, (block,), args, shared_mem=shared)

    def fetch(self, array: Any) -> Any:
        """Return a small array on the host; waits for the device."""
        return array.get()


def steps_of(table: Any) -> tuple[Any, int, int]:
    """Return a table and its steps in numbers."""
    size = table.dtype.itemsize
    return table, table.strides[0] // size, table.strides[1] // size


def values_of(block: Block) -> tuple[Any, ...]:
    """Return where the values of samples and extra vertices lie."""
    extra = (0, 0) if block.extra is None else (block.extra, block.extra.strides[0] // 8)
    return *steps_of(block.table), *extra, len(block.table)
