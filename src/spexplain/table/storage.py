"""How values are stored: in memory, dense or sparse; on a GPU (CuPy); in partitions (Dask). Imports neither library."""

from typing import Any
from weakref import ref

from scipy import sparse

from spexplain.aliases import Array, EngineName


def is_on_device(X: Any) -> bool:
    """Whether a table, or labels, is a CuPy array."""
    return _library(X) == "cupy"


def is_collection(X: Any) -> bool:
    """Whether a table, or labels, is a Dask collection."""
    return _library(X) == "dask"


def is_sparse(X: Any) -> bool:
    """Whether a table is a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


def engine_of(X: Any) -> EngineName | None:
    """Return the engine that works where the values of a table are stored; None for any engine of the host.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.storage import engine_of
    >>> engine_of(np.ones((2, 1))) is None
    True
    """
    if is_on_device(X):
        return "cupy"
    return "dask" if is_collection(X) else getattr(X, "engine", None)


def on_host(array: Any) -> Any:
    """Return an array, or anything else, with CuPy arrays copied to NumPy."""
    return array.get() if is_on_device(array) else array


_COPIES: dict[int, tuple[Any, Any]] = {}  # by the host array's id: a weak reference to it, the copy


def remember_copy(array: Array, copy: Any) -> None:
    """Remember the copy of a host array on a device, as long as the array exists."""
    key = id(array)
    _COPIES[key] = ref(array, lambda _: _COPIES.pop(key, None)), copy


def known_copy(array: Any, kind: Any = None) -> Any:
    """Return the copy of an array on a device, if one is remembered; else the array itself.

    Parameters
    ----------
    array : array
        An array of the host.
    kind : type, optional
        The type that a copy must have.
    """
    owner, copy = _COPIES.get(id(array), (None, None))
    is_known = owner is not None and owner() is array
    return copy if is_known and (kind is None or isinstance(copy, kind)) else array


def look_up(values: Array, codes: Any) -> Any:
    """Return ``values[codes]`` where the codes are stored; lazy if the codes are.

    Only numbers can be on a device; other values are returned on the host.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.storage import look_up
    >>> look_up(np.array(["a", "b"]), np.array([1, 0, 1]))
    array(['b', 'a', 'b'], dtype='<U1')
    """
    if is_collection(codes):
        return codes.map_blocks(_take, values, dtype=values.dtype, meta=values[:0])
    if not is_on_device(codes):
        return values[codes]
    if values.dtype.kind not in "buif":
        return values[on_host(codes)]
    import cupy

    return cupy.asarray(values)[codes]


def _take(codes: Array, values: Array) -> Array:
    return values[codes]


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]
