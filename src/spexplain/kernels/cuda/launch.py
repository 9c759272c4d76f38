"""Compiling and launching kernels: for the device at first use, cached by CuPy."""

from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from spexplain.kernels.cuda.records import Block

SHARED = 200 * 1024  # bytes of shared memory that a block may take
_USUAL_SHARED = 32 * 1024  # what every kernel gets beside its own
EDGES = 256  # room for the edges between the bins of a feature
_C_NAMES = {1: "unsigned char", 4: "unsigned int", 8: "unsigned long long"}
_PARTS = ("common.cuh", "coding.cu", "labels.cu", "edges.cu", "search.cu", "walk.cu")


@lru_cache(maxsize=16)
def _module(real: str, counter: str, weight: str, field: str) -> Any:
    import cupy

    folder = files("spexplain.kernels.cuda")
    source = "\n".join(folder.joinpath(name).read_text() for name in _PARTS)
    types = {"REAL": real, "SUM": counter, "WEIGHT": weight, "FIELD": field}
    options = ("-std=c++17", *(f"-D{name}={type_}" for name, type_ in types.items()))
    return cupy.RawModule(code=source, options=options)


class EdgeTypes(NamedTuple):
    """The least number types that hold what is added up over edges."""

    sums: Any
    weights: Any


class Launcher:
    """Kernels for tables of one number type, and edges of the given types if there are some."""

    def __init__(self, dtype: Any, edges: EdgeTypes | None = None) -> None:
        import cupy

        self.xp = cupy
        self.edges = EdgeTypes(np.uint32, np.uint8) if edges is None else edges
        real = "float" if np.dtype(dtype) == np.float32 else "double"
        types = [_C_NAMES[np.dtype(each).itemsize] for each in self.edges]
        self._module = _module(real, *types, "long long" if edges is None else types[0])
        self._functions: dict[str, Any] = {}
        self._rooms: dict[str, int] = {}  # shared memory that kernels may take
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


def fields_of(fields: list[Any]) -> tuple[Any, ...]:
    """Return the fields of one or two nodes, their steps in numbers, and how many are stored."""
    size = fields[0].itemsize
    steps = (step // size for step in fields[0].strides[:2])
    return fields[0], fields[-1], *steps, len(fields[0])


def values_of(block: Block) -> tuple[Any, ...]:
    """Return where the values of samples and extra vertices lie."""
    extra = (0, 0) if block.extra is None else (block.extra, block.extra.strides[0] // 8)
    return *steps_of(block.table), *extra, len(block.table)
