"""Fitting: methods by name, the clusters to explain, the estimator of `explain` and of `compare`."""

import time
import warnings
from typing import TYPE_CHECKING, Any, Literal

from spexplain.cli.columns import InputTable
from spexplain.cli.errors import usage_error
from spexplain.cli.options import ClusteringOptions, MethodName, TreeOptions
from spexplain.cli.terminal import Terminal
from spexplain.exceptions import NoiseWarning
from spexplain.messages import counted

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

METHODS: dict[MethodName, str] = {
    "best": "BestTree",
    "spex-clique": "SpexClique",
    "spex-knn": "SpexKNN",
    "spex-graph": "SpexGraph",
    "imm": "IMM",
    "emn": "EMN",
    "cart": "CART",
    "exkmc": "ExKMC",
    "kernel-imm": "KernelIMM",
    "random-cuts": "RandomCuts",
    "exgreedy": "ExGreedy",
    "exshallow": "ExShallow",
    "non-uniform-cut": "NonUniformCut",
}
REFERENCE_FREE = ("spex-knn", "spex-graph", "non-uniform-cut")
# How clusters that are not in the file are found, in words.
_FOUND_BY = {
    "spectral": "spectral clustering",
    "kmeans": "k-means",
    "kmedians": "k-medians",
    "kernel_kmeans": "kernel k-means",
}
_FEW_VALUES, _ROWS_PER_VALUE = 20, 5  # texts with more values, each in fewer rows, are like names
_SLOW_SPECTRAL = 50_000  # rows above which spectral clustering takes minutes
_SLOW_KERNEL = 20_000  # rows above which Kernel IMM, quadratic in them, takes minutes


def check_clustering(clustering: ClusteringOptions) -> None:
    """Refuse options that do not say what is explained, or say it twice."""
    if clustering.labels is None and clustering.n_clusters is None:
        usage_error(
            "Say what to explain: --labels COLUMN for your own clusters, or -k N to find N clusters."
        )
    for value, option in ((clustering.n_clusters, "-k"), (clustering.reference, "--reference")):
        if clustering.labels is not None and value is not None:
            usage_error(
                f"--labels gives the clusters, so {option} has no effect; --leaves sets the size of the tree."
            )


def n_leaves_of(tree: TreeOptions) -> int | Literal["auto"] | None:
    """Return the number of leaves that was asked for."""
    if tree.leaves is None or tree.leaves == "auto":
        return "auto" if tree.leaves else None
    if not tree.leaves.isdecimal() or int(tree.leaves) < 1:
        usage_error(f"--leaves must be a positive number or auto, not {tree.leaves}.")
    return int(tree.leaves)


def estimator_of(
    method: MethodName, table: InputTable, clustering: ClusteringOptions, tree: TreeOptions
) -> Any:
    """Return the unfitted estimator of a method."""
    import spexplain
    from spexplain.cli.imports import import_lightly

    import_lightly("sklearn.base")
    options: dict[str, Any] = {
        "n_leaves": n_leaves_of(tree),
        "max_depth": tree.max_depth,
        "min_samples_leaf": tree.min_samples_leaf,
        "features": table.features,
        "noise": table.noise,
        "missing": table.missing,
        "round_to": tree.round_to,
        "refine": tree.refine,
        "n_jobs": tree.jobs,
        "random_state": tree.seed,
    }
    if method == "best":
        options |= {"goal": tree.goal, "keep_clusters": tree.keep_clusters}
    is_free = method in REFERENCE_FREE
    n_clusters = clustering.n_clusters
    if table.labels is not None:
        # A tree that is grown without looking at labels has a leaf for noise too.
        n_clusters = table.n_labels if is_free else table.n_clusters
    if clustering.reference is not None and not is_free:
        options["reference"] = clustering.reference
    return getattr(spexplain, METHODS[method])(n_clusters, **options)


def fit(
    estimator: Any, table: InputTable, clustering: ClusteringOptions, terminal: Terminal
) -> tuple[Any, float]:
    """Return the fitted estimator and the seconds that it took."""
    name = clustering.reference or getattr(estimator, "reference", None)
    n_rows = len(table.X)
    if table.labels is None and name == "spectral" and n_rows > _SLOW_SPECTRAL:
        terminal.note(
            f"Spectral clustering of {n_rows:,} rows takes a while; --reference kmeans is quick."
        )
    if type(estimator).__name__ == "KernelIMM" and n_rows > _SLOW_KERNEL:
        terminal.note(
            f"The time of Kernel IMM grows with the square of the rows; {n_rows:,} rows take long."
        )
    start = time.perf_counter()
    with (
        terminal.stage(f"Growing the tree ({type(estimator).__name__})"),
        terminal.warnings_as_notes(),
    ):
        warnings.simplefilter("ignore", NoiseWarning)  # was said when the labels were read
        labels = table.labels
        if labels is None and not hasattr(estimator, "reference") and clustering.reference:
            labels = reference_labels(
                clustering.reference, table, clustering, estimator.random_state
            )
        estimator.fit(table.X, labels, **given_weights(table))
    seconds = time.perf_counter() - start
    for each in getattr(estimator, "rounding_", ()):
        terminal.note(
            f"Rounded {each.exact} to {each.rounded}: {counted(each.n_changed, 'row')} changed sides."
        )
    _note_names(estimator.explanation_, terminal)
    if table.labels is None and name is not None:
        note_origin(name, table, terminal)
    return estimator, seconds


def _note_names(model: "Explanation", terminal: Terminal) -> None:
    """Point out tests of texts that are nearly names of rows: such rules fit these rows only."""
    n_rows = int(model.tree.size[0])
    for place in model.used:
        column = model.fields[place]
        if (
            _ROWS_PER_VALUE * len(column.categories) > n_rows
            and len(column.categories) > _FEW_VALUES
        ):
            terminal.note(
                f"Rules test {column.name}, which has {len(column.categories):,} different values in "
                f"{counted(n_rows, 'row')}; --ignore leaves it out."
            )


def given_weights(table: InputTable) -> dict[str, Any]:
    """Return the weights as keyword arguments of `fit`."""
    return {} if table.weights is None else {"sample_weight": table.weights}


def note_origin(name: str, table: InputTable, terminal: Terminal) -> None:
    """Say where clusters come from that the file does not hold."""
    how = "on the columns as they are"
    if name == "spectral":
        how = "of the standardised columns"
    if not all(dtype.is_numeric() for dtype in table.X.dtypes):  # see table.coordinates
        how = "on the columns, numbers standardised and categories as 0 and 1"
    terminal.note(f"The clusters come from {_FOUND_BY[name]} {how} (--reference chooses).")


def reference_labels(name: str, table: InputTable, clustering: ClusteringOptions, seed: int) -> Any:
    """Return the clusters that a named clustering finds."""
    from spexplain import CART
    from spexplain.references.named import cluster
    from spexplain.table.read import read_table

    assert clustering.n_clusters is not None
    rows = read_table(table.X, CART(missing=table.missing)).as_points().values
    return cluster(name, rows, clustering.n_clusters, seed, table.weights)
