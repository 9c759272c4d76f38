"""The parameters and attributes that all estimators share: declared and documented once."""

from collections.abc import Sequence
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, Literal, TypedDict, TypeVar

from spexplain.aliases import EngineName, NoisePolicy
from spexplain.engines import Engine

_Class = TypeVar("_Class", bound=type)


class Shared(TypedDict, total=False):
    """Keyword parameters of every estimator; the defaults stand in `Explainer.__init__`."""

    n_leaves: int | Literal["auto"] | None
    max_depth: int | None
    min_samples_leaf: int
    features: Sequence[int | str] | None
    noise: NoisePolicy
    refine: Literal["objective", "agreement"] | None
    refine_passes: int | None
    engine: EngineName | Engine
    n_jobs: int | None
    random_state: Any
    verbose: int


_REFERENCE = """
reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
    How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
"""

_SHARED = """
n_leaves : int or "auto", optional
    Leaves of the tree; by default one per cluster. Fewer come out, with a warning, if no valid cut is
    left. "auto" grows three per cluster and takes the smallest tree on the path (see `path_`) to
    which further leaves add less than 1 % of fidelity each; without a reference, the tree at the
    sharpest bend of the objective.
max_depth : int, optional
    Most tests on the way to a leaf.
min_samples_leaf : int, default=1
    Fewest training rows in a leaf.
features : list of int or str, optional
    Columns that the tree may use, by number or name; by default all.
noise : {"ignore", "cluster"}, default="ignore"
    What the label -1 of an integer reference means: rows of no cluster, which are routed but neither
    attract nor repel, or a cluster like others.
refine : {"objective", "agreement"}, optional
    Re-optimise the cuts of the grown tree one after the other, the rest of the tree fixed, until
    nothing improves the objective, or the agreement with the reference.
refine_passes : int, optional
    Most rounds of `refine` over all nodes; by default until nothing improves.
engine : {"auto", "numpy", "histogram", "cupy", "dask"} or Engine, default="auto"
    How the best cuts are found; all engines give the same tree.
n_jobs : int, optional
    Threads; None means 1, -1 all processors. The tree does not depend on it.
random_state : int, RandomState or None, default=None
    Seed of the reference clustering, and of methods that draw at random.
verbose : int, default=0
    1 prints one line per stage with its time.
"""

_ATTRIBUTES = """
tree_ : Tree
    The tree, as immutable arrays.
labels_ : array of int, shape (n_samples,)
    Leaf id of every training row, 0 to ``n_leaves_ - 1`` from left to right.
n_leaves_ : int
    Number of leaves.
objective_ : float
    What the tree minimised: the sum of the values of its leaves.
path_ : list of PathStep
    The trees of 1, 2, ... leaves that were passed on the way: objective, agreement, price, depth, size.
reference_labels_ : array of shape (n_samples,)
    The reference clustering, if there was one.
leaf_reference_ : array of shape (n_leaves_,)
    The reference label that each leaf stands for.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : array of str
    Names of these columns, if the table had string names.
"""

_PARTS = {"<reference>": _REFERENCE, "<shared>": _SHARED, "<attributes>": _ATTRIBUTES}


def explainer(cls: _Class) -> _Class:
    """Complete an estimator: shared parameters in its signature, shared parts in its docstring.

    scikit-learn reads the parameters of an estimator from the signature of its constructor, so the
    keywords behind ``**shared`` are spelled out there.
    """
    own = list(signature(cls.__init__).parameters.values())  # type: ignore[misc]
    base = next(parent for parent in cls.__mro__ if parent.__name__ == "Explainer")
    declared = signature(base.__init__).parameters  # type: ignore[misc]
    named = {parameter.name for parameter in own}
    shared = [declared[name] for name in Shared.__annotations__ if name not in named]
    kept = [parameter for parameter in own if parameter.kind is not Parameter.VAR_KEYWORD]
    cls.__init__.__signature__ = Signature(kept + shared)  # type: ignore[misc]
    text = cleandoc(cls.__doc__ or "")
    for mark, part in _PARTS.items():
        text = text.replace(mark, part.strip())
    cls.__doc__ = text
    return cls
