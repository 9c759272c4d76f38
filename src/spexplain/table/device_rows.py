"""What is done with the rows of a device table beside the search: routing them, adding them up."""

from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.kernels.cuda.kernels import CudaKernels
from spexplain.tree import LEAF, Tree


def route(tree: Tree, X: Any) -> Any:
    """Return the leaf id of every row, on the device."""
    leaf_id = np.full(tree.n_nodes, LEAF, dtype=np.int64)
    leaf_id[tree.leaves] = np.arange(tree.n_leaves)
    return CudaKernels(X.dtype).route_rows(X, tree, leaf_id)


def group_sums(X: Any, origin: Floats, groups: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Return the sums of rows and of squared lengths of every group, measured from `origin`.

    Rows of group -1 are left out. Always added in the same order.
    """
    kernels = CudaKernels(X.dtype)
    xp = kernels.xp
    on_device = xp.asarray(groups)
    rows = xp.argsort(on_device)
    starts = xp.searchsorted(on_device[rows], xp.arange(n_groups + 1)).astype(np.int64)
    sums, squares = kernels.sum_groups(X, xp.asarray(origin), rows, starts)
    return sums.get(), squares.get()
