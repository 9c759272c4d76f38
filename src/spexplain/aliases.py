"""Names for the arrays and options that every layer passes."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
# A table of samples × features, float32 or float64: comparisons with float64 thresholds are exact
# in both.
Matrix: TypeAlias = NDArray[np.floating[Any]]

EngineName: TypeAlias = Literal["auto", "numpy", "histogram", "cupy", "dask"]
Symmetrization: TypeAlias = Literal["sum", "union", "mutual"]
# What to do with noise, or the label (or labels) that mean it.
NoisePolicy: TypeAlias = Any
LeafWeight: TypeAlias = Literal["none", "size"]
