"""The engine contract, and the choice of an engine by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from typing import Any, ClassVar, Protocol, runtime_checkable

from spexplain.aliases import EngineName, Matrix
from spexplain.graphs import (
    CenterCosts,
    Graph,
    MembershipGraph,
    PairGraph,
    ProductGraph,
    SparseGraph,
    StarGraph,
    WeightedStar,
)
from spexplain.kernels.readiness import compiled_pays, count_table
from spexplain.objectives import Objective
from spexplain.records import Cut, Promise
from spexplain.table.storage import engine_of, is_sparse
from spexplain.table.views import written_out

_FEW_CENTERS = 64  # the table is searched about once for as many


class Search(Protocol):
    """One fit. The builder hands back the nodes it got from `root` and `split`, and never looks inside."""

    @property
    def n_features(self) -> int:
        """Number of columns that cuts may use."""

    def root(self) -> Any:
        """Return the node of all samples."""

    def size(self, node: Any) -> int:
        """Return the number of samples in a node."""

    def value(self, node: Any) -> float:
        """Return what the node adds to the objective while it is a leaf."""

    def best_cuts(self, nodes: Sequence[Any], rival: float = inf) -> Sequence[Cut | Promise | None]:
        """Return the best valid cut of each node, or None.

        The lowest score wins; equal scores resolve to the lowest feature, then the lowest
        threshold. Siblings are asked for together, so that an engine can share work between them.
        `rival` is the priority of the leaf that is split next unless one of these comes before it:
        a cut whose priority is surely larger may be promised instead of found. The builder asks
        again if that leaf ever comes first. An engine is free to find all cuts at once.
        """

    def split(self, node: Any, cut: Cut) -> tuple[Any, Any]:
        """Return the two parts of a node."""


def searches_empty_sides(objective: Objective, min_samples_leaf: int) -> bool:
    """Whether a node without a valid cut is searched again, for cuts that leave a side without samples.

    Centres with no samples between them are then parted all the same.
    """
    return objective.graph.extra is not None and min_samples_leaf == 1


@runtime_checkable
class Engine(Protocol):
    """Where arrays live and how features run in parallel; knows no trees."""

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""


@dataclass(frozen=True)
class AutoEngine:
    """The GPU or Dask for tables that lie there; else the exhaustive engine, or the compiled one where it pays.

    That depends on the size of the table, and on whether the compiled code is loaded already.
    """

    n_jobs: int | None = None
    takes_entries: ClassVar[bool] = True  # of sparse tables, and looks at nothing else
    takes_views: ClassVar[bool] = True  # of columns, as a `SearchedMatrix`

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        name = engine_of(X)
        kernel = "sparse.sweep_pieces" if is_sparse(X) else _kernel_for(objective.graph)
        n_values = X.size
        if isinstance(objective.graph, StarGraph):
            # IMM may cut off one centre after the other, and every time look at most of the table.
            n_values *= 1 + len(objective.graph.centers) // _FEW_CENTERS
        if name is None and compiled_pays(n_values, kernel):
            name = "histogram"
        elif name is None:
            name = "numpy"
            count_table(n_values)
            X = written_out(X)
        engine = resolve_engine(name, n_jobs=self.n_jobs)
        return engine.bind(X, objective, min_samples_leaf=min_samples_leaf)


def _kernel_for(graph: Graph) -> str:
    """Return the kernel that the compiled engine would sweep the graph with."""
    if isinstance(graph, PairGraph):
        graph = graph.graph
    if isinstance(graph, SparseGraph | WeightedStar):
        return "edges.walk_edges"
    if isinstance(graph, StarGraph):
        return "stars.walk_stars"
    if isinstance(graph, CenterCosts | MembershipGraph | ProductGraph):
        return "sums.walk_sums"
    return "labels.walk_labels"


def resolve_engine(engine: EngineName | Engine, *, n_jobs: int | None = None) -> Engine:
    """Return the engine of that name, or the engine itself."""
    if not isinstance(engine, str | type) and isinstance(engine, Engine):
        return engine
    if engine == "auto":
        return AutoEngine(n_jobs=n_jobs)
    if engine == "numpy":
        from spexplain.engines.exhaustive import NumpyEngine

        return NumpyEngine(n_jobs=n_jobs)
    if engine == "histogram":
        from spexplain.engines.histogram import HistogramEngine

        return HistogramEngine(n_jobs=n_jobs)
    if engine == "cupy":
        if find_spec("cupy") is None:
            raise ImportError(
                'engine="cupy" needs CuPy and an NVIDIA GPU; install it with: pip install "spexplain[gpu]"'
            )
        from spexplain.engines.cupy import CupyEngine

        return CupyEngine()
    if engine == "dask":
        if find_spec("dask") is None or find_spec("distributed") is None:
            raise ImportError(
                'engine="dask" needs Dask; install it with: pip install "spexplain[dask]"'
            )
        from spexplain.engines.dask import DaskEngine

        return DaskEngine(n_jobs=n_jobs)
    raise ValueError(
        f'engine={engine!r} is not known; use "auto", "numpy", "histogram", "cupy", "dask" or an object with a '
        "`bind` method."
    )
