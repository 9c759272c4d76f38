"""Codes, values and sums as the twins of the kernels read them."""

import numpy as np

from spexplain.kernels.cuda.records import LANES, FeatureBlock


def unpacked(codes, n_features):
    """Codes as (n_features, n_vertices)."""
    n_groups, n_vertices, _ = codes.shape
    return codes.transpose(0, 2, 1).reshape(n_groups * LANES, n_vertices)[:n_features]


def values_of(block: FeatureBlock, vertices, feature):
    table = block.table[:, feature].astype(np.float64)
    if block.extra is not None:
        table = np.append(table, block.extra[:, feature])
    return table[vertices]


def key_of(value):
    bits = int(np.array([value], dtype=np.float64).view(np.uint64)[0])
    key = (~bits & (2**64 - 1)) if bits >> 63 else bits | 2**63
    return key - 2**64 if key >= 2**63 else key  # as int64


def six(fields):
    """All six fields of all nodes, shape (6, nodes, d, borders)."""
    stored = [each[np.minimum(np.arange(6), len(each) - 1)] for each in fields]
    return np.stack(stored, axis=1).astype(np.int64)


def add(sums, place, amount):
    """Add to one sum as a whole number: old NumPy adds unsigned scalars and integers as floats."""
    sums[place] = int(sums[place]) + amount
