"""The record of an explanation: the tree, its names, and what it does to the training rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from spexplain._version import __version__
from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.arguments import check_integer
from spexplain.exceptions import ProfileWarning, quoted, quoted_list, warn_caller
from spexplain.export.labels import LabelKind, check_label, plain_labels
from spexplain.facts.goal import GoalRecord
from spexplain.facts.path import PathStep, mean_recall, path_of
from spexplain.facts.profiles import Profile, profile_of
from spexplain.messages import one_line
from spexplain.table.base import GroupSums, Margins, Table
from spexplain.table.columns import is_missing
from spexplain.table.host import HostTable
from spexplain.table.reference import NOISE, Reference, labels_of_codes
from spexplain.table.sparse import SparseTable, leaves_of
from spexplain.table.storage import is_collection, is_sparse, look_up
from spexplain.tree import LEAF, Column, Test, Tree
from spexplain.tree.column import as_columns, renamed
from spexplain.tree.reshaping import leaves_below

if TYPE_CHECKING:
    from spexplain.explanation.editing import Alternative, Preview, Sweep
    from spexplain.facts.segments import Telling
    from spexplain.graphs import Graph
    from spexplain.objectives import Objective

_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,64}")
_LONGEST_METHOD = 100
_WORDS = {  # of the edits
    "with_test": "node {node} asks {condition}",
    "split": "leaf {leaf} split by {condition}",
    "prune": "node {node} pruned",
    "flip": "yes and no of node {node} exchanged",
    "swap": "tests of nodes {node} and {other} exchanged",
    "regrow": "node {node} regrown by {method} to {n_leaves} leaves",
    "merge_clusters": "{one} and {other} merged into {name}",
    "rename": "{cluster} renamed to {name}",
    "forbid": "column {column} forbidden from node {below} on",
    "lock": "node {node} locked",
    "unlock": "node {node} unlocked",
}
_ROWS = 64  # of a matrix that are worked on at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Training:
    """What only the process that fitted a model holds: rows, their labels, and the objective.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Leaf id of every training row.
    reference : Reference, optional
        The clustering of the rows.
    table : Table, optional
        The rows; pickles leave them out.
    objective : Objective, optional
        The objective that was minimised, for a second search; pickles leave it out.
    graph : Graph, optional
        The graph that certificates are about.
    weights : array of float, shape (n_samples,), optional
        Weight of every training row; None means that all are one.
    columns : array of int, optional
        Columns that tests may use; None means all.
    searched : Tree, optional
        The tree with the cuts of the search, before their thresholds were rounded. It sends all rows to the
        same leaves, but maybe not centres that lie between two rows.
    min_samples_leaf : int
        Fewest rows of a leaf.
    n_jobs : int, optional
        Threads of a second search.
    is_found : bool
        Whether the reference was found in the table, not given.
    row_ids : array of shape (n_samples,), optional
        Names of the rows in the user's table, if they are not just numbered.
    """

    labels: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    reference: Reference | None = None
    table: Table | None = None
    objective: "Objective | None" = None
    graph: "Graph | None" = None
    columns: Ints | None = None
    searched: Tree | None = None
    min_samples_leaf: int = 1
    n_jobs: int | None = None
    weights: Floats | None = None
    is_found: bool = False
    row_ids: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"table": None, "objective": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it is never changed


class Edit(NamedTuple):
    """One line of the journal: the name of an edit and its arguments, as plain values."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The edit in words, for people.

        Examples
        --------
        >>> from spexplain.explanation import Edit
        >>> Edit("with_test", {"node": 3, "condition": "revenue > 750"}).text
        'node 3 asks revenue > 750'
        """
        words = _WORDS.get(self.name)
        try:
            if words is not None:
                return one_line(words.format_map(dict(self.arguments)))
        except (KeyError, IndexError):
            pass  # a journal of another version
        told = ", ".join(f"{key} {value}" for key, value in self.arguments.items())
        return one_line(f"{self.name.replace('_', ' ')} {told}".strip())


@dataclass(frozen=True, eq=False)
class Explanation:
    """A tree and what is known about it; estimators and models read from JSON both hold such a record.

    Parameters
    ----------
    tree : Tree
        The tests.
    columns : tuple of str or int, optional
        Names of the columns of the table; by default x0, x1, ...
    described : tuple of Column, optional
        What the columns hold; by default numbers. The names in it are ignored.
    leaf_reference : array of shape (n_leaves,), optional
        The reference label that each leaf stands for; by default the classes of `node_codes`.
    leaf_purity : array of float, shape (n_leaves,), optional
        Share of a leaf's training rows that carry that label; needed only where counts are unknown.
    method, version : str
        Name of the estimator, and the version of spexplain that fitted it.
    classes : array of shape (k,), optional
        The labels of the reference's clusters, without noise.
    node_codes : array of int, shape (n_nodes,), optional
        Number of the cluster that each node stands for while it is a leaf; -1 for noise.
    node_counts : array of int or float, shape (n_nodes, k), optional
        Training rows of each cluster in every node, or their weight.
    node_noise : array of int or float, shape (n_nodes,), optional
        Training rows in every node that belong to no cluster, or their weight.
    node_weights : array of int or float, shape (n_nodes,), optional
        Weight of the training rows in every node; None means that every row counts once.
    node_costs, cluster_costs : array of float, shape (n_nodes, k) and (k, k), optional
        Squared distances to every centre, summed over the clustered rows of each node, and of each
        cluster.
    scales : array of float, shape (n_features,), optional
        Standard deviations of the tested columns over the training rows; NaN elsewhere.
    parameters : mapping
        The settings of the estimator.
    steps : tuple of PathStep, optional
        The path, if it was stored; by default it is computed on request.
    own_steps : tuple of PathStep, optional
        The smaller trees within a refined tree, if they were stored; by default computed on request.
    grown : Explanation, optional
        The tree as it was grown, if this one is smaller or refined.
    is_refined : bool
        Whether tests were changed after growth, so that this tree is not a part of `grown`.
    training : Training, optional
        Data that depends on the training rows.
    profile : Profile, optional
        Statistics of the tested columns over the training rows, if they were stored; by default they are
        computed on request.
    goal : GoalRecord, optional
        The goal of the search for the tree, if there was one: value, bound and proof.
    leaves_for_all : int, optional
        Number of leaves with which every cluster has one, if some have none and this is known.
    told : tuple of tuple of Telling, optional
        The most telling columns of every cluster, for models that do not hold the training rows.
    locked : set of int
        Nodes that later edits, and fits with ``start=``, keep; the nodes above them are always included.
    forbidden : mapping from int to set of int
        Columns that tests at and below a node may not use.
    edits : tuple of Edit
        The journal of manual edits.
    past, future : tuple
        The states before each edit, for `undo`, and the undone states, for `redo`.

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5, sizes=(4, 6))
    >>> Explanation(tree, columns=("width", "height")).used
    [1]
    """

    tree: Tree
    columns: tuple[str | int, ...] | None = None
    leaf_reference: Array | None = None
    leaf_purity: Floats | None = None
    method: str = "Tree"
    version: str = __version__
    classes: Array | None = None
    node_codes: Ints | None = None
    node_counts: Array = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    node_noise: Array | None = None
    node_costs: Floats | None = None
    cluster_costs: Floats | None = None
    scales: Floats | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[PathStep, ...] | None = None
    own_steps: tuple[PathStep, ...] | None = None
    grown: "Explanation | None" = None
    is_refined: bool = False
    training: Training | None = None
    described: tuple[Column, ...] | None = None
    node_weights: Array | None = None
    profile: Profile | None = None
    goal: GoalRecord | None = None
    leaves_for_all: int | None = None
    told: tuple[tuple["Telling", ...], ...] | None = None
    locked: frozenset[int] = frozenset()
    forbidden: Mapping[int, frozenset[int]] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    past: tuple["Explanation", ...] = ()
    future: tuple[tuple[Edit, "Explanation"], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        # Pickles leave the rows out, but keep their profile.
        is_near = self.training is not None and isinstance(self.training.table, HostTable)
        return vars(self) | ({"profile": self.seen} if is_near else {})

    def __post_init__(self) -> None:
        tree = self.tree
        if self.columns is not None:
            _check_columns(self.columns, tree.n_features)
        if self.classes is None or len(self.node_counts) != tree.n_nodes:
            object.__setattr__(self, "node_counts", np.zeros((tree.n_nodes, 0), dtype=np.int64))
        if self.leaf_reference is None and self.classes is not None and self.node_codes is not None:
            labels = labels_of_codes(self.classes, self.node_codes[tree.leaves])
            object.__setattr__(self, "leaf_reference", labels)
        if self.leaf_purity is None and self.node_codes is not None:
            object.__setattr__(self, "leaf_purity", self._purity(self.node_codes[tree.leaves]))
        for name in ("leaf_reference", "leaf_purity"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (tree.n_leaves,):
                raise ValueError(
                    f"{name} must hold one entry for each of the {tree.n_leaves} leaves."
                )
        # Both are written into source code and comments, so only harmless characters are allowed.
        if not (self.method.isidentifier() and len(self.method) <= _LONGEST_METHOD):
            raise ValueError(f"method={quoted(self.method)} must be the name of a class.")
        if not _VERSION.fullmatch(self.version):
            raise ValueError(f"version={quoted(self.version)} must be a version number.")

    def _purity(self, codes: Ints) -> Floats:
        """Return the share of every leaf's rows, or of their weight, that carry its label."""
        assert self.node_noise is not None
        leaves = self.tree.leaves
        counts, noise = self.node_counts, self.node_noise[leaves]
        hits = noise.astype(np.result_type(counts, noise))
        own = (codes >= 0) & (codes < counts.shape[1])
        hits[own] = counts[leaves[own], codes[own]]
        totals = self.node_totals[leaves]
        shares: Floats = hits / np.where(totals > 0, totals, 1)
        return np.minimum(shares, 1.0)  # sums of fractions are rounded

    @classmethod
    def of(
        cls,
        tree: Tree,
        X: Table | Matrix,
        reference: Reference | None,
        *,
        weights: Floats | None = None,
        leaves: Ints | None = None,
        **more: Any,
    ) -> Self:
        """Return the explanation of a tree on the rows of X.

        Every node stands for its commonest cluster; see `with_codes`.

        Parameters
        ----------
        tree : Tree
            The tree.
        X : Table or array of shape (n_samples, n_features)
            The training rows.
        reference : Reference, optional
            Their clustering.
        weights : array of shape (n_samples,), optional
            Their weights.
        leaves : array of int, shape (n_samples,), optional
            Their leaves, if these are known.
        **more
            Other fields of the record.

        Returns
        -------
        explanation : Explanation
        """
        table = X if isinstance(X, Table) else HostTable(X)
        labels = table.fetch(table.leaves(tree)) if leaves is None else leaves
        more["training"] = replace(
            more.get("training") or Training(reference=reference), labels=labels
        )
        row_totals = _row_totals(reference, weights)
        if row_totals is not None:
            labels = np.asarray(labels)  # weights are in memory, so are leaves that were lazy
        if not is_collection(labels):
            # Rows of weight 0 are routed, too, but growth did not use them.
            sizes = tree.totals(table.leaf_sizes(labels, tree.n_leaves))
            tree = replace(tree, size=sizes)
        if row_totals is not None:
            more["node_weights"] = tree.totals(_summed(labels, row_totals, tree.n_leaves))
        if reference is None:
            return cls(tree, **more)
        counts, node_costs, cluster_costs = _counts_and_costs(
            tree, table.for_sums(), labels, reference, weights
        )
        totals = tree.size if row_totals is None else more["node_weights"]
        node_counts = tree.totals(counts)
        return cls(
            tree,
            classes=reference.classes,
            node_codes=majority_codes(node_counts),
            node_counts=node_counts,
            node_noise=noise_of(totals, node_counts),
            node_costs=node_costs,
            cluster_costs=cluster_costs,
            **more,
        )

    def with_codes(self, node_codes: Ints) -> Self:
        """Return the record with other clusters for the nodes than the commonest ones."""
        return replace(self, node_codes=node_codes, leaf_reference=None, leaf_purity=None)

    def with_rows(self, rows: Matrix) -> Self:
        """Return the record with the leaves of the training rows; refuse other rows."""
        known = None if self.training is None else self.training.labels
        if known is not None and (is_collection(known) or len(known) == rows.shape[0]):
            return self
        labels = leaves_of(self.tree, rows)
        sizes = _sizes(labels, self.tree.n_leaves)
        if not np.array_equal(sizes, self.tree.size[self.tree.leaves]):
            raise ValueError(
                "X must hold the training rows, but some rows fall into other leaves; pass their labels as y to "
                "describe other rows."
            )
        return replace(self, training=Training(labels))

    def with_labels(self, y: Any) -> Self:
        """Return the record with the clusters of the training rows, where it does not know them; refuse others."""
        if y is None or self.training is None or self.training.reference is not None:
            return self
        noise = self.parameters.get("noise", "ignore")
        n_rows = len(self.training.labels)
        reference = Reference.from_labels(y, n_samples=n_rows, noise=noise)
        if self.classes is None or reference.classes.tolist() != self.classes.tolist():
            raise ValueError(
                "y must hold the labels of the training rows, but it has other clusters."
            )
        return replace(self, training=replace(self.training, reference=reference))

    def with_row_ids(self, ids: Any) -> Self:
        """Return the record with names of the training rows, if any are given; there must be one per row."""
        if ids is None or self.training is None:
            return self
        names = np.asarray(ids)
        if names.shape != (len(self.training.labels),):
            raise ValueError(
                f"row_ids must hold one name for each of the {len(self.training.labels):,} rows, got shape "
                f"{names.shape}."
            )
        return replace(self, training=replace(self.training, row_ids=names))

    @cached_property
    def remembered(self) -> dict[str, Any]:
        """Cache of slow answers such as the verdict."""
        return {}

    def on_rows(self, rows: Matrix, y: Any) -> Self:
        """Return the record of the tree on other rows; leaves keep the labels that they stand for.

        Parameters
        ----------
        rows : array of shape (n_rows, n_features)
            The rows, as numbers.
        y : array of shape (n_rows,)
            Their labels.
        """
        reference = Reference.from_labels(
            y,
            n_samples=rows.shape[0],
            noise=self.parameters.get("noise", "ignore"),
            must_occur=False,
        )
        stands = self.needed_reference()
        known = stands[:0] if self.classes is None else self.classes
        kinds = {each.dtype.kind for each in (known, stands, reference.classes) if len(each)}
        if len(kinds & set("biuf")) and kinds - set("biuf"):
            raise ValueError(
                f"y holds labels of type {reference.classes.dtype}, but the leaves stand for labels of type "
                f"{stands.dtype}; pass labels of that type."
            )
        codes = np.full(self.tree.n_leaves, NOISE)
        is_cluster = np.ones(self.tree.n_leaves, dtype=np.bool_)
        if self.node_codes is not None:
            is_cluster = self.node_codes[self.tree.leaves] != NOISE
        classes = np.unique(np.concatenate([known, stands[is_cluster], reference.classes]))
        places = np.searchsorted(classes, reference.classes)
        codes[is_cluster] = np.searchsorted(classes, stands[is_cluster])
        same = replace(
            reference,
            classes=classes,
            codes=np.where(reference.codes < 0, NOISE, places[reference.codes]),
        )
        table: Table = (
            SparseTable(rows) if is_sparse(rows) else HostTable(rows, described=self.fields)
        )
        found = type(self).of(
            self.tree,
            table,
            same,
            columns=self.columns,
            described=self.described,
            method=self.method,
            version=self.version,
            scales=self.scales,
            parameters=self.parameters,
            profile=self.profile,
        )
        node_codes = majority_codes(found.node_counts)
        node_codes[self.tree.leaves] = codes
        steps = tuple(path_of(found, node_codes))
        return replace(found.with_codes(node_codes), steps=steps)

    @property
    def labels(self) -> Ints | None:
        """Leaf id of every training row, where they are known."""
        return None if self.training is None else self.training.labels

    def rows_of(self, node: int) -> Ints:
        """Return the training rows that reach a node."""
        chosen = np.zeros(self.tree.n_leaves, dtype=np.bool_)
        chosen[leaves_below(self.tree, node)] = True
        return np.flatnonzero(chosen[np.asarray(self.labels)])

    @property
    def reference(self) -> Reference | None:
        """The reference; where the training rows are unknown, only its classes."""
        if self.row_reference is not None or self.classes is None:
            return self.row_reference
        nothing = np.empty(0, dtype=np.int64)
        return Reference(self.classes[:0], nothing, self.classes)

    @property
    def row_reference(self) -> Reference | None:
        """The reference with the label of every training row, where they are known."""
        return None if self.training is None else self.training.reference

    @property
    def unexplained(self) -> list[Any]:
        """The clusters of the reference that no leaf stands for."""
        if self.classes is None or self.leaf_reference is None:
            return []
        named = set(self.leaf_reference.tolist())
        return [label for label in self.classes.tolist() if label not in named]

    @cached_property
    def needed_leaves(self) -> int | None:
        """Number of leaves with which every cluster has one, if some have none and this is known."""
        if self.unexplained and self.grown is not None and not self.is_refined:
            for n_leaves in range(self.tree.n_leaves + 1, self.grown.tree.n_leaves + 1):
                if not self.truncate(n_leaves).unexplained:
                    return n_leaves
        return self.leaves_for_all if self.unexplained else None

    @property
    def balanced(self) -> float:
        """Mean over the clusters of the share of their rows whose leaf stands for them; NaN without clusters."""
        return mean_recall(self.leaf_counts, self.node_codes, self.tree.leaves)

    @property
    def goal_value(self) -> float | None:
        """What the goal of the search measures of this tree; None where that is unknown, or nothing was searched.

        Of a tree that was changed after the search, it is counted if the goal is fidelity, balanced or agreement,
        every row belongs to one cluster, and the search gave clusters no weights of their own.
        """
        if self.goal is not None:
            return self.goal.value
        reference = self.row_reference
        is_shared = self.node_weights is not None and (
            reference is None or reference.memberships is not None
        )
        if is_shared or self.parameters.get("cluster_weight") is not None:
            return None
        name = self.parameters.get("goal")
        value = self.balanced if name == "balanced" else np.nan
        if name in ("fidelity", "agreement"):
            value = getattr(self.step, name)
        return None if np.isnan(value) else value

    @property
    def leaf_counts(self) -> Array:
        """Rows of each cluster in every leaf, or their weight, shape (n_leaves, k): the contingency table."""
        return self.node_counts[self.tree.leaves]

    @property
    def leaf_recall(self) -> list[float | None] | None:
        """Share of the rows of each leaf's cluster that are in the leaf; None for leaves of no cluster."""
        if self.classes is None or self.leaf_reference is None or not self.node_counts.shape[1]:
            return None
        places = {label: code for code, label in enumerate(self.classes.tolist())}
        codes = [places.get(label) for label in self.leaf_reference.tolist()]
        sizes = self.node_counts[0]
        return [
            None if code is None or not sizes[code] else min(float(own[code] / sizes[code]), 1.0)
            for code, own in zip(codes, self.leaf_counts, strict=True)
        ]

    @cached_property
    def node_sizes(self) -> Ints:
        """Training rows of every node."""
        if self.node_weights is None and self.node_noise is not None:
            return np.asarray(self.node_counts.sum(axis=1) + self.node_noise)
        if self.labels is None or is_collection(self.labels):
            return self.tree.size
        sizes: Ints = self.tree.totals(_sizes(self.labels, self.tree.n_leaves))
        return sizes

    @property
    def node_totals(self) -> Array:
        """Training rows of every node, or their weight: what counts and noise add up to."""
        return self.node_sizes if self.node_weights is None else self.node_weights

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every column for output; a column named 3 becomes x3."""
        columns = self.columns or range(self.tree.n_features)
        return tuple(each if isinstance(each, str) else f"x{each}" for each in columns)

    @cached_property
    def fields(self) -> tuple[Column, ...]:
        """The columns: their names for output, and what they hold."""
        return (
            as_columns(self.names)
            if self.described is None
            else renamed(self.described, self.names)
        )

    @property
    def has_objects(self) -> bool:
        """Whether some column holds categories, dates or durations rather than numbers."""
        kinds = () if self.described is None else (each.kind for each in self.described)
        return any(kind in ("category", "date", "duration") for kind in kinds)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers and no training row has missing values."""
        lacks = any(each.has_missing for each in self.described or ())
        return not (lacks or self.has_objects)

    @property
    def keys(self) -> tuple[str | int, ...]:
        """The name of every column as it stands in the table."""
        return self.names if self.columns is None else self.columns

    @cached_property
    def used(self) -> list[int]:
        """The columns that the tests use, in increasing order."""
        return sorted({int(feature) for feature in self.tree.feature if feature != LEAF})

    @property
    def tested(self) -> list[int]:
        """The columns that the tests use, here or in the tree as it was grown."""
        grown = () if self.grown is None else self.grown.used
        return sorted({*self.used, *grown})

    @cached_property
    def seen(self) -> Profile | None:
        """Statistics of the tested columns over the training rows; None if they are not available any more."""
        return self.profiled(self.tested)

    def profiled(self, columns: Sequence[int]) -> Profile | None:
        """Return statistics of some columns over the training rows, None if they are not available."""
        if self.profile is not None:
            return self.profile.over(columns)
        table = None if self.training is None else self.training.table
        if table is None:
            return None
        try:
            return profile_of(table, self.fields, columns)
        except Exception as error:
            # The table has changed or the workers of its partitions are gone; the tree itself is not affected.
            if not isinstance(error, ValueError) and table.engine != "dask":
                raise
            warn_caller(
                "The training rows can no longer be described, so new rows cannot be compared with them "
                f"({one_line(str(error)) or type(error).__name__})",
                ProfileWarning,
            )
            return None

    @cached_property
    def leaf_ids(self) -> dict[int, int]:
        """The leaf id of every node that is a leaf."""
        return {int(node): leaf for leaf, node in enumerate(self.tree.leaves)}

    def named(self, feature_names: Sequence[str] | None) -> Self:
        """Return the record with other names of the columns, if any are given."""
        if feature_names is None:
            return self
        return replace(self, columns=tuple(str(name) for name in feature_names))

    def with_segment_names(self, names: Mapping[Any, str] | None) -> Self:
        """Return the record with other names of the clusters, by label; refuse names that two clusters would have.

        Labels may be given as texts, as JSON has them.
        """
        if names is None:
            return self
        if self.classes is None:
            raise ValueError(
                "segment_names names clusters, but this explanation has none: its tree was grown without labels."
            )
        old = self.classes.tolist()
        given = {str(key): str(name) for key, name in names.items()}
        unknown = [key for key in given if key not in set(map(str, old))]
        if unknown:
            raise ValueError(
                f"segment_names has {quoted(unknown[0])}, but the clusters are {quoted_list(old)}."
            )
        for key, name in names.items():
            check_cluster_name(name, f"segment_names[{key!r}]")
        new = [given.get(str(label), str(label)) for label in old]
        if len(set(new)) < len(new):
            twice = next(name for name in new if new.count(name) > 1)
            raise ValueError(f"segment_names gives the name {quoted(twice)} to two clusters.")
        named = dict(zip(old, new, strict=True))

        def renamed(labels: Any) -> Array:
            return np.array([named.get(each, str(each)) for each in labels.tolist()])

        training, grown = self.training, self.grown
        if training is not None and training.reference is not None:
            reference = replace(
                training.reference, labels=renamed(training.reference.labels), classes=np.array(new)
            )
            training = replace(training, reference=reference)
        if grown is not None:
            grown = grown.with_segment_names(names)
        return replace(
            self,
            classes=np.array(new),
            leaf_reference=None if self.leaf_reference is None else renamed(self.leaf_reference),
            training=training,
            grown=grown,
        )

    def leaf_labels(self, label: LabelKind) -> list[Any]:
        """Return the label of every leaf as a Python value, or as text if its type is not a plain one."""
        check_label(label)
        if label == "leaf":
            return list(range(self.tree.n_leaves))
        reference = self.needed_reference()
        plain = plain_labels(reference)
        return [str(each) for each in reference] if plain is None else plain[1]

    def needed_reference(self) -> Array:
        """Return the labels that leaves stand for; refuse if there are none."""
        if self.leaf_reference is None:
            raise ValueError(
                f'label="reference" needs labels of the leaves: {self.method} was fitted without reference labels, '
                'or its file does not hold those of smaller trees; use label="leaf", or pass labels to fit as y.'
            )
        return self.leaf_reference

    def truncate(self, n_leaves: int) -> Self:
        """Return the explanation of the tree as it was with `n_leaves` leaves, before any refinement.

        Parameters
        ----------
        n_leaves : int
            Between 1 and the number of leaves that were grown.

        Returns
        -------
        explanation : Explanation

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.truncate(1).tree.n_leaves
        1
        """
        check_integer("n_leaves", n_leaves, 1)
        if n_leaves == self.tree.n_leaves:
            return self
        whole = self if self.grown is None else self.grown
        smaller = whole.tree.truncate(n_leaves)
        n_nodes = smaller.n_nodes
        home = np.arange(whole.tree.n_nodes)
        for node in range(n_nodes, whole.tree.n_nodes):  # parents are older
            home[node] = home[whole.tree.parents[node]]
        leaf_id = np.full(n_nodes, LEAF)
        leaf_id[smaller.leaves] = np.arange(smaller.n_leaves)
        new_id = leaf_id[home[whole.tree.leaves]]
        training = self.training
        if training is not None and whole.training is not None:
            searched = whole.training.searched
            training = replace(
                training,
                labels=look_up(new_id, whole.training.labels),
                searched=None if searched is None else searched.truncate(n_leaves),
            )
        elif training is not None:  # a file holds rows for the tree itself, not for the larger one
            known = training.table
            training = None if known is None else replace(training, labels=known.leaves(smaller))
        keeps: dict[str, Any] = {
            name: None if value is None else value[:n_nodes]
            for name in ("node_codes", "node_counts", "node_noise", "node_weights", "node_costs")
            for value in [getattr(whole, name)]
        }
        return replace(
            self,
            tree=smaller,
            leaf_reference=None,
            leaf_purity=None,
            grown=whole,
            is_refined=False,
            own_steps=None,
            training=training,
            goal=None,
            locked=frozenset(node for node in self.locked if node < n_nodes),
            forbidden={node: each for node, each in self.forbidden.items() if node < n_nodes},
            **keeps,
        )

    @cached_property
    def path(self) -> list[PathStep]:
        """The trees of 1, 2, ... leaves on the way to the final tree; after a refinement, the refined one is last."""
        if self.steps is not None:
            return list(self.steps)
        whole = self if self.grown is None else self.grown
        if not self.is_refined:
            return whole.trees
        return [*whole.trees[: self.tree.n_leaves - 1], self.step]

    @cached_property
    def trees(self) -> list[PathStep]:
        """The trees of 1, 2, ... leaves within this tree; the last is the tree itself."""
        stored = self.own_steps if self.is_refined else self.steps
        if stored is not None:
            return list(stored[: self.tree.n_leaves])
        if self.grown is not None and not self.is_refined:
            return self.grown.trees[: self.tree.n_leaves]
        return path_of(self)

    @cached_property
    def step(self) -> PathStep:
        """The step of the path for this tree."""
        if self.steps is not None and self.tree.n_leaves <= len(self.steps):
            return self.steps[self.tree.n_leaves - 1]
        return self.trees[-1]

    # --- Edits: each returns a new explanation, with its figures counted anew -----------------------

    def with_test(self, node: int, condition: "str | Test") -> "Explanation":
        """Return the explanation with another test at an inner node; the tests below stay.

        Branches stay with their rows: if "x > 750" replaces "x <= 752", the branches swap sides.

        Parameters
        ----------
        node : int
            Number of the node; see `nodes`.
        condition : str or Test
            A condition as tests are printed, such as "revenue > 750" or "channel in {app, web}".

        Returns
        -------
        explanation : Explanation

        Examples
        --------
        >>> from spexplain import CART, datasets
        >>> iris = datasets.load("iris")
        >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
        >>> explanation = CART(feature_names=names).fit(iris.data, iris.target).explanation_
        >>> explanation.nodes()[2]["text"], explanation.rows_right
        ('petal width ≤ 1.7', 144)
        >>> edited = explanation.with_test(2, "petal width ≤ 1.5")
        >>> edited.rows_right, edited.undo().rows_right
        (142, 144)
        """
        from spexplain.explanation import editing

        return editing.with_test(self, node, condition)

    def split(self, leaf: int, condition: "str | Test") -> "Explanation":
        """Return the explanation with a leaf, given by its id, split by a test; see `with_test`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["text"] for node in model.split(0, "age > 22").nodes()]
        ['age ≤ 40', 'age > 22', 'leaf 2', 'leaf 0', 'leaf 1']
        """
        from spexplain.explanation import editing

        return editing.split(self, leaf, condition)

    def prune(self, node: int) -> "Explanation":
        """Return the explanation with an inner node turned into a leaf.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["text"] for node in model.prune(0).nodes()]
        ['leaf 0']
        """
        from spexplain.explanation import editing

        return editing.prune(self, node)

    def flip(self, node: int) -> "Explanation":
        """Return the explanation with the yes and no branches of a node exchanged; no row changes its label.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["text"] for node in model.flip(0).nodes()]
        ['age > 40', 'leaf 0', 'leaf 1']
        """
        from spexplain.explanation import editing

        return editing.flip(self, node)

    def swap(self, node: int, other: int) -> "Explanation":
        """Return the explanation with the tests of a node and of one below it exchanged.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> edited = model.split(0, "orders > 1")
        >>> [node["text"] for node in edited.swap(0, 1).nodes()]
        ['orders > 1', 'age ≤ 40', 'leaf 2', 'leaf 0', 'leaf 1']
        """
        from spexplain.explanation import editing

        return editing.swap(self, node, other)

    def regrow(
        self,
        node: int,
        method: str = "cart",
        n_leaves: int | None = None,
        features: Sequence[int | str] | None = None,
    ) -> "Explanation":
        """Return the explanation with the tree below a node grown again from the rows that reach it.

        Parameters
        ----------
        node : int
            Number of the node, inner node or leaf.
        method : {"cart", "spex", "best"}
            "cart" grows by impurity, "spex" by the cliques of the clusters, "best" searches for the most rows right.
        n_leaves : int, optional
            Leaves below the node; by default as many as now, but at least two.
        features : list of int or str, optional
            Columns that tests may use; by default all that are not forbidden.

        Returns
        -------
        explanation : Explanation

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.regrow(0, n_leaves=2).rows_right
        6
        """
        from spexplain.explanation import editing

        return editing.regrow(self, node, method, n_leaves, features)

    def merge_clusters(self, one: Any, other: Any, name: Any = None) -> "Explanation":
        """Return the explanation with two clusters merged into one, under a new name or that of the first.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.merge_clusters("new", "VIP", "all").leaf_reference.tolist()
        ['all', 'all']
        """
        from spexplain.explanation import editing

        return editing.merge_clusters(self, one, other, name)

    def rename(self, cluster: Any, name: Any) -> "Explanation":
        """Return the explanation with another name of a cluster.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.rename("VIP", "gold").leaf_reference.tolist()
        ['new', 'gold']
        """
        from spexplain.explanation import editing

        return editing.rename(self, cluster, name)

    def forbid(self, column: int | str, below: int = 0) -> "Explanation":
        """Return the explanation without tests of a column at and below a node; branches that use it are regrown.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> edited = model.forbid("age").regrow(0, n_leaves=2)
        >>> [node["text"] for node in edited.nodes()]
        ['orders ≤ 4', 'leaf 0', 'leaf 1']
        """
        from spexplain.explanation import editing

        return editing.forbid(self, column, below)

    def lock(self, node: int | None = None, *, leaf: int | None = None) -> "Explanation":
        """Return the explanation with a node and the path to it locked for later edits and fits; a leaf stays unsplit.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["locked"] for node in model.lock(0).nodes()]
        [True, False, False]
        """
        from spexplain.explanation import editing

        return editing.lock(self, node, leaf)

    def unlock(self, node: int | None = None, *, leaf: int | None = None) -> "Explanation":
        """Return the explanation with a node and all nodes below it unlocked.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["locked"] for node in model.lock(0).unlock(0).nodes()]
        [False, False, False]
        """
        from spexplain.explanation import editing

        return editing.unlock(self, node, leaf)

    def undo(self) -> "Explanation":
        """Return the explanation as it was before the last edit.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.prune(0).undo().tree.n_leaves
        2
        """
        from spexplain.explanation import editing

        return editing.undo(self)

    def redo(self) -> "Explanation":
        """Return the explanation after the edit that was undone last.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.prune(0).undo().redo().tree.n_leaves
        1
        """
        from spexplain.explanation import editing

        return editing.redo(self)

    def states(self) -> "list[Explanation]":
        """Return all states of the journal with their rows: before the first edit, after each, and those undone."""
        from spexplain.explanation import editing

        n_states = len(self.edits) + len(self.future) + 1
        return [editing.restored(self, number) for number in range(n_states)]

    def alternatives(
        self, node: int, n: int = 10, features: Sequence[int | str] | None = None
    ) -> "list[Alternative]":
        """Return the best alternative tests for a node, or splits of a leaf: one per column, most rows right first.

        Parameters
        ----------
        node : int
            Number of the node; the tests below it stay as they are.
        n : int, default=10
            Most tests to return.
        features : list of int or str, optional
            Columns to look at; by default all others that are not forbidden.

        Returns
        -------
        alternatives : list of Alternative
            Test, text, column, score (fidelity of the whole tree), rows_right and rows_changed.

        Examples
        --------
        >>> from spexplain import CART, datasets
        >>> iris = datasets.load("iris")
        >>> explanation = CART().fit(iris.data, iris.target).explanation_
        >>> best = explanation.alternatives(2)[0]
        >>> best.text, best.rows_right, best.rows_changed
        ('x2 ≤ 4.7', 143.0, 9)
        """
        from spexplain.explanation import editing

        return editing.alternatives(self, node, n, features)

    def preview(self, node: int, condition: "str | Test") -> "Preview":
        """Return the effect of another test at a node, or of a split of a leaf.

        The figures are those of `with_test` and `split`, but quicker to get: only the rows of the node are counted.

        Parameters
        ----------
        node : int
            Number of the node, inner node or leaf; see `nodes`.
        condition : str or Test
            A condition as for `with_test`.

        Returns
        -------
        preview : Preview
            Test, text, rows_changed, the explanation after the change (without rows), and whether the branches
            of the node would swap sides.

        Examples
        --------
        >>> from spexplain import CART, datasets
        >>> iris = datasets.load("iris")
        >>> explanation = CART().fit(iris.data, iris.target).explanation_
        >>> there = explanation.preview(2, "x3 ≤ 1.5")
        >>> there.explanation.rows_right, there.rows_changed, explanation.rows_right
        (142, 6, 144)
        """
        from spexplain.explanation import editing

        return editing.preview(self, node, condition)

    def sweep(
        self, node: int, column: int | str, missing: bool | None = None, *, purity: bool = True
    ) -> "Sweep":
        """Return the effect of every threshold of a column at a node, counted exactly in one pass.

        Parameters
        ----------
        node : int
            Number of the node; the tests below it stay as they are.
        column : int or str
            A column of numbers or dates.
        missing : bool, optional
            Whether missing values pass; by default as now if the node tests this column, else not.
        purity : bool, default=True
            Whether to compute the purity of the leaves, too; if not, its entries are NaN, and the rest
            takes half of the time.

        Returns
        -------
        sweep : Sweep
            Arrays by threshold: thresholds, next_values, rows_left, rows_right, rows_changed,
            smallest_leaf, purity.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> sweep = model.sweep(0, "orders")
        >>> sweep.thresholds, sweep.rows_right
        (array([1., 2., 7., 8.]), array([5., 6., 5., 4.]))
        """
        from spexplain.explanation import editing

        return editing.sweep(self, node, column, missing, purity=purity)

    def counted(self, training: Training) -> "Explanation":
        """Return the explanation of the same tree with its figures counted on given rows."""
        from spexplain.explanation import editing

        return editing.recounted(self, training)

    @property
    def rows_right(self) -> Any:
        """Rows, or their weight, whose leaf stands for their own cluster; None if there are no clusters.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> model.rows_right
        6
        """
        if self.node_codes is None or self.classes is None:
            return None
        leaves = self.tree.leaves
        codes = self.node_codes[leaves]
        hits = self.node_counts[leaves, np.maximum(codes, 0)]
        return hits[codes >= 0].sum().item()

    def nodes(self) -> list[dict[str, Any]]:
        """Return one record per node: its number, test or leaf, depth, rows, cluster, and whether it is locked.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3).explanation_
        >>> [node["text"] for node in model.nodes()]
        ['age ≤ 40', 'leaf 0', 'leaf 1']
        """
        found: list[dict[str, Any]] = []
        depths, sizes = self.tree.node_depths, self.node_sizes
        for node in range(self.tree.n_nodes):
            is_leaf = node in self.leaf_ids
            test = None if is_leaf else self.tree.test(node)
            text = (
                f"leaf {self.leaf_ids[node]}"
                if test is None
                else test.text(self.fields[test.feature])
            )
            record = {
                "node": node,
                "text": text,
                "depth": int(depths[node]),
                "rows": int(sizes[node]),
            }
            if self.node_codes is not None and self.classes is not None:
                record["cluster"] = labels_of_codes(self.classes, self.node_codes)[node]
            found.append({**record, "locked": node in self.locked})
        return found


def _check_columns(columns: tuple[str | int, ...], n_features: int) -> None:
    kinds = {type(name) for name in columns}
    if not all(issubclass(kind, str) for kind in kinds) and kinds != {int}:
        raise ValueError("feature_names must hold strings only.")
    if len(columns) != n_features:
        raise ValueError(
            f"feature_names has {len(columns)} entries, but the table has {n_features} columns."
        )


def check_cluster_name(name: Any, argument: str = "name") -> None:
    """Refuse names that nobody could read, and those that mean rows of no cluster."""
    if is_missing(name) or not str(name).strip():
        raise ValueError(f"{argument}={name!r} must be a number, or a text that is not empty.")
    if str(name).strip() in ("-1", "-1.0"):
        raise ValueError(f"{argument}={name!r} means rows of no cluster; take another name.")


def majority_codes(counts: Array) -> Ints:
    """Return the commonest cluster of every node, of equal ones the lowest; -1 if it has no clustered row."""
    if not counts.shape[1]:
        return np.full(len(counts), NOISE)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), NOISE)


def noise_of(totals: Array, counts: Array) -> Array:
    """Return the rows without a cluster in every node, from its total and its rows of each cluster."""
    noise: Array = totals - counts.sum(axis=1)
    if noise.dtype.kind == "f":  # sums of fractions are rounded
        noise = np.where(noise > 1e-12 * totals[0], noise, 0.0)
    return noise


def counts_of_leaves(
    leaf: Ints, n_leaves: int, reference: Reference, weights: Floats | None
) -> tuple[Ints, Array, Array | None]:
    """Return rows, rows of each cluster, and weight of the leaves that rows are in; None where rows weigh nothing."""
    sizes = _sizes(leaf, n_leaves)
    row_totals = _row_totals(reference, weights)
    if row_totals is None:
        return sizes, reference.counts(leaf, n_leaves), None
    mass = _summed(leaf, row_totals, n_leaves)
    return sizes, _whole(_in_leaf(leaf, n_leaves).T @ reference.amounts(weights)), mass


def _in_leaf(leaf: Ints, n_leaves: int) -> Any:
    """Return a sparse matrix with a one for the leaf of every row."""
    entries = np.ones(len(leaf)), leaf, np.arange(len(leaf) + 1)
    return sparse.csr_array(entries, shape=(len(leaf), n_leaves))


def _sizes(labels: Ints, n_leaves: int) -> Ints:
    return np.bincount(labels, minlength=n_leaves)


def _summed(labels: Ints, values: Floats, n_leaves: int) -> Array:
    """Return the sums of values over the rows of every leaf; integers where they are whole."""
    return _whole(np.bincount(labels, values, minlength=n_leaves))


def _whole(sums: Array) -> Array:
    """Return sums of whole numbers as integers, others as they are."""
    is_whole = np.all(sums == np.floor(sums)) and np.all(sums < 2.0**53)
    return sums.astype(np.int64) if is_whole else sums


def _row_totals(reference: Reference | None, weights: Floats | None) -> Floats | None:
    """Return what every row adds to the total of its leaf; None where every row counts once.

    If the memberships of a row add up to less than 1, the rest is noise.
    """
    if reference is None or reference.memberships is None:
        return weights
    mass: Floats = np.maximum(reference.memberships.sum(axis=1), 1.0)
    return mass if weights is None else mass * weights


def _weighted_margins(table: Table, in_leaf: Any, amounts: Floats) -> Margins:
    """Return the same as `Table.margins`, for rows shared between clusters by `amounts`.

    Shapes: in_leaf (n_rows, n_leaves), sparse, with a one for the leaf of a row; amounts (n_rows, k).
    """
    of_rows = sparse.diags_array(amounts.sum(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):  # huge values have no finite squares
        shares = sparse.hstack([of_rows @ in_leaf, sparse.csr_array(amounts)], format="csr")
        found = table.shared_sums(shares)
    n_leaves = in_leaf.shape[1]
    by_leaf, by_cluster = (
        GroupSums(found.counts[part], found.sums[part], found.squares[part])
        for part in (slice(n_leaves), slice(n_leaves, None))
    )
    return Margins(_whole(np.asarray(in_leaf.T @ amounts)), by_leaf, by_cluster, table.origin)


def _counts_and_costs(
    tree: Tree,
    table: Table,
    labels: Ints,
    reference: Reference,
    weights: Floats | None = None,
) -> tuple[Array, Floats | None, Floats | None]:
    """Return rows of every leaf by cluster, and squared distances of nodes and clusters to the centres.

    These are None for weighted rows in partitions.
    """
    shape = tree.n_leaves, reference.n_clusters
    if weights is None and reference.memberships is None:
        counts, of_leaves, of_clusters, origin = table.margins(labels, reference.codes, shape)
    else:
        amounts = reference.amounts(weights)
        in_leaf = _in_leaf(labels, shape[0])
        if table.engine == "dask":  # costs would take another pass over all partitions
            return _whole(np.asarray(in_leaf.T @ amounts)), None, None
        counts, of_leaves, of_clusters, origin = _weighted_margins(table, in_leaf, amounts)
    with np.errstate(over="ignore", invalid="ignore"):  # huge values have no finite cost
        if reference.centers is None:
            means = of_clusters.sums / of_clusters.counts[:, None]
        else:
            means = reference.centers - origin

    def costs(group: GroupSums) -> Floats:
        """Squared distances of every group of rows to every centre."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Not a matrix product: its threads take longer to start and stop than this little work.
            total: Floats = 2 * np.einsum("ij,kj->ik", group.sums, means)
            lengths = np.sum(means**2, axis=1)
            for start in range(0, len(total), _ROWS):  # in place: leaves times clusters may be many
                rows = slice(start, start + _ROWS)
                some = total[rows]
                np.subtract(group.squares[rows, None], some, out=some)
                some += np.outer(group.counts[rows], lengths)
                np.maximum(some, 0.0, out=some)
        return total

    return counts, tree.totals(costs(of_leaves)), costs(of_clusters)
