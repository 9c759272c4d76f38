"""Dask collections: how estimators take rows and labels in partitions, and leave results lazy.

Dask is never loaded here: a table that is a Dask collection has done so.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints, NoisePolicy
from spexplain.engines.base import is_partitioned
from spexplain.tree import Tree

__all__ = [
    "LazyLabels",
    "check_collection",
    "is_collection",
    "is_partitioned",
    "labels_for",
    "look_up",
]


def is_collection(X: Any) -> bool:
    """Whether a table, or labels, is a Dask collection; loads nothing."""
    return type(X).__module__.partition(".")[0] == "dask"


def check_collection(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a Dask table in bins for a fit; for predictions the collection itself, to stay lazy."""
    if X.ndim != 2:
        raise ValueError(f"X must be a table of two dimensions, got a Dask collection of {X.ndim}.")
    kind = getattr(getattr(X, "dtype", None), "kind", "f")
    if kind not in "buif":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
    if not reset:
        _check_columns(estimator, X)
        return X
    _check_method(estimator)
    from spexplain.table.partitioned import DaskTable

    table = DaskTable.of(X, max_bins=getattr(estimator.engine, "max_bins", 255))
    if len(table) < 2:
        raise ValueError(f"X has {len(table)} row(s), but at least 2 are needed.")
    if not table.differs:
        raise ValueError("All columns of X are constant, so no cut can tell any rows apart.")
    estimator.n_features_in_ = table.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if table.source.names is not None and all(isinstance(name, str) for name in table.source.names):
        estimator.feature_names_in_ = np.array(table.source.names, dtype=object)
    return table


def _check_columns(estimator: Any, X: Any) -> None:
    """Refuse other columns than those of the training table."""
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and hasattr(X, "columns") and list(X.columns) != list(known):
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order."
        )


def _check_method(estimator: Any) -> None:
    name, engine = type(estimator).__name__, estimator.engine
    if "dask" not in estimator._beyond:
        raise ValueError(
            f"{name} needs the whole table in memory; pass X.compute(), or a sample of the rows, as X."
        )
    if isinstance(engine, str) and engine not in ("auto", "dask"):
        raise ValueError(
            f'engine={engine!r} works on tables in memory, but X is a Dask collection; use engine="dask" or '
            "pass X.compute()."
        )
    if hasattr(estimator, "graph") and (estimator.graph is None or _is_computed(estimator.graph)):
        raise ValueError(
            f"graph={estimator.graph!r} would be computed from the whole table in memory, but X is a Dask "
            "collection; pass an adjacency of its rows as graph."
        )
    if estimator.refine is not None:
        raise ValueError(
            f"refine={estimator.refine!r} needs the whole table in memory; pass X.compute(), or use refine=None."
        )


def _is_computed(graph: Any) -> bool:
    return callable(graph) or hasattr(graph, "fit_transform")


def refuse_whole_table(X: Any) -> None:
    """Say what to do instead where only a table in memory will do."""
    if is_partitioned(X):
        raise ValueError(
            "This needs the whole table in memory, but the estimator was fitted to a Dask collection; pass "
            "the training rows as X, computed, to an estimator that was fitted to them."
        )


def refuse_reference(estimator: Any) -> None:
    """Say where labels come from if the rows do not fit into memory."""
    raise ValueError(
        f"reference={estimator.reference!r} would cluster the whole table in memory, but X is a Dask collection; "
        "pass reference labels as y, for example those of a clusterer that was fitted to a sample."
    )


class LazyLabels:
    """Reference labels in partitions, with the chunks of the table."""

    def __init__(self, table: Any, y: Any) -> None:
        from spexplain.table.partitioned import aligned

        values = y
        if hasattr(y, "to_dask_array"):
            is_plain = isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)
            values = (y if is_plain else y.astype(object)).to_dask_array()
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"y must hold one label per row of X, got {values.ndim} dimensions.")
        self.values = aligned(values, table.lengths)
        self.workers = table.workers

    def coded(self, noise: NoisePolicy) -> tuple[Any, Any, Array]:
        """Return the labels, their codes in sorted order (-1 for noise), and the label of each code."""
        blocks = [(block,) for block in self.values.to_delayed().reshape(-1)]
        (classes,) = self.workers.ask("classes", _classes_of, blocks, _all_classes)
        n_noise = int(noise == "ignore" and classes.dtype.kind == "i" and -1 in classes[:1])
        codes = self.values.map_blocks(
            _encode, classes, n_noise, dtype=np.int32, meta=np.empty(0, np.int32)
        )
        return self.values, codes, classes[n_noise:]


def _classes_of(block: Any) -> list[Array]:
    """Return the distinct labels of a block; refuse missing ones."""
    from spexplain.table.reference import Reference

    labels = np.asarray(block)
    return [Reference.from_labels(labels, n_samples=len(labels), noise="cluster").classes]


def _all_classes(parts: list[list[Array]]) -> list[Array]:
    found = [classes for (classes,) in parts if len(classes)]
    if not found:
        return parts[0]
    try:
        return [np.unique(np.concatenate(found))]
    except TypeError:
        raise ValueError(
            "y mixes labels that cannot be sorted together; convert them to one type, for example to strings."
        ) from None


def _encode(block: Array, classes: Array, n_noise: int) -> Ints:
    return (np.searchsorted(classes, block) - n_noise).astype(np.int32)


def labels_for(X: Any, y: Any) -> Any:
    """Return labels as `Reference.from_labels` takes them: lazy if rows and labels both are."""
    return LazyLabels(X, y) if is_partitioned(X) and is_collection(y) else y


def look_up(values: Array, codes: Any) -> Any:
    """Return ``values[codes]``, lazy if the codes are."""
    if not is_collection(codes):
        return values[codes]
    from spexplain.table.partition_rows import take_labels

    return codes.map_blocks(take_labels, values, dtype=values.dtype, meta=values[:0])


def lazy_leaf_ids(tree: Tree, X: Any) -> Any:
    """Return the leaf id of every row of a Dask collection, or of a table that was fitted to, as a Dask array."""
    from spexplain.table import partition_rows as rows

    if not is_collection(X):
        return rows.map_rows(X, rows.leaf_of_rows, (tree,), np.int64)
    whole = X.to_dask_array() if hasattr(X, "to_dask_array") else X.rechunk({1: X.shape[1]})
    nothing = np.empty(0, dtype=np.int64)
    return whole.map_blocks(rows.leaf_of_rows, tree, drop_axis=1, dtype=np.int64, meta=nothing)


def lazy_scales(X: Any, features: Ints) -> Floats:
    """Return the standard deviations of some columns."""
    from spexplain.table import partition_rows as rows

    return rows.scales_of(X, features)


def lazy_means(X: Any, codes: Any, n_clusters: int, cost: str) -> Floats:
    """Return the mean of every cluster."""
    from spexplain.table import partition_rows as rows

    if cost == "kmedians":
        raise ValueError(
            'objective="kmedians" needs the medians of all clusters; pass them as centers, since X is a Dask '
            "collection."
        )
    return rows.cluster_means(X, codes, n_clusters)


def lazy_nearest(X: Any, centers: Floats, cost: str) -> Any:
    """Return the nearest centre of every row."""
    from spexplain.table import partition_rows as rows

    return rows.map_rows(X, rows.nearest_centers, (centers, cost), np.int64)


def lazy_leaf_sums(
    X: Any, tree: Tree, codes: Any, n_clusters: int
) -> tuple[Ints, Floats, Floats, Floats]:
    """Return rows, sums and summed squares of every (leaf, cluster), and the origin they are measured from."""
    from spexplain.table import partition_rows as rows

    origin = X.sample[:, X.sample.shape[1] // 2].copy()
    return *rows.leaf_sums(X, tree, codes, n_clusters, origin), origin
