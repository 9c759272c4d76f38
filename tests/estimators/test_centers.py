"""IMM, EMN, ExKMC, ExGreedy, ExShallow and random cuts against their definitions."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import searched_tree
from oracles import centers as oracle
from spexplain import EMN, IMM, ExGreedy, ExKMC, ExShallow, RandomCuts
from spexplain.engines import Engine
from spexplain.estimators.centers import CenterExplainer, first_of_equals
from spexplain.exceptions import LeafCountWarning
from spexplain.tree import LEAF, Tree
from strategies import labels_for, tables

pytestmark = pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")


@st.composite
def problems(draw: st.DrawFn) -> oracle.Problem:
    """Integer tables with integer centres, so that every cost is exact; centres may coincide or be bare."""
    X = np.rint(draw(tables(max_rows=9, scale=1.0)))
    labels = draw(labels_for(len(X), noise=False))
    n_centers = int(labels.max()) + 1
    rows = st.lists(st.integers(-3, 3), min_size=X.shape[1], max_size=X.shape[1])
    drawn = draw(st.lists(rows, min_size=n_centers, max_size=n_centers + 1))
    return oracle.Problem(X, labels, np.array(drawn, dtype=float))


def merged(problem: oracle.Problem) -> oracle.Problem:
    """The same problem with coincident centres taken as one, as the methods do."""
    first = first_of_equals(problem.centers)
    distinct, place = np.unique(first, return_inverse=True)
    return oracle.Problem(problem.X, place[problem.labels], problem.centers[distinct])


def nested(tree: Tree, centers: np.ndarray) -> Any:
    """The tree in the oracle's form."""
    where = tree.leaves[tree.apply(centers)]

    def form(node: int) -> Any:
        if tree.feature[node] == LEAF:
            return tuple(np.flatnonzero(where == node).tolist())
        below = form(int(tree.left[node])), form(int(tree.right[node]))
        return int(tree.feature[node]), float(tree.threshold[node]), *below

    return form(0)


def fitted(explainer: CenterExplainer, problem: oracle.Problem) -> Any:
    explainer.fit(problem.X, problem.labels, centers=problem.centers)
    return nested(searched_tree(explainer, problem.X), merged(problem).centers)


@given(problem=problems())
@pytest.mark.parametrize("pairs", ["any", "furthest"])
@pytest.mark.parametrize("objective", ["kmeans", "kmedians"])
def test_imm(problem: oracle.Problem, pairs: str, objective: str, engine: Engine) -> None:
    ours = fitted(IMM(pairs=pairs, objective=objective, engine=engine), problem)
    assert ours == oracle.imm(merged(problem), pairs, metric=1 if objective == "kmedians" else 2)


@given(problem=problems())
@pytest.mark.parametrize("denominator", ["min", "product"])
def test_emn(problem: oracle.Problem, denominator: str, engine: Engine) -> None:
    ours = fitted(EMN(denominator=denominator, engine=engine), problem)
    assert ours == oracle.emn(merged(problem), denominator)


@given(problem=problems())
def test_ex_greedy(problem: oracle.Problem) -> None:
    explainer = ExGreedy().fit(problem.X, problem.labels, centers=problem.centers)
    ours = nested(searched_tree(explainer, problem.X), problem.centers)
    assert ours == oracle.ex_greedy(problem)


@given(problem=problems(), depth_weight=st.sampled_from([0.0, 0.03, 1.0]))
def test_ex_shallow(problem: oracle.Problem, depth_weight: float) -> None:
    explainer = ExShallow(depth_weight=depth_weight)
    explainer.fit(problem.X, problem.labels, centers=problem.centers)
    ours = nested(searched_tree(explainer, problem.X), problem.centers)
    assert ours == oracle.ex_greedy(problem, depth_weight)


@given(problem=problems(), extra=st.integers(0, 4))
def test_ex_kmc_lowers_the_surrogate_cost_most(
    problem: oracle.Problem, extra: int, engine: Engine
) -> None:
    n_base = len(np.unique(first_of_equals(problem.centers)))
    explainer = ExKMC(n_leaves=n_base + extra, engine=engine)
    explainer.fit(problem.X, problem.labels, centers=problem.centers)
    base = explainer.truncated(min(n_base, explainer.n_leaves_))
    leaves = [np.flatnonzero(base.labels_ == leaf).tolist() for leaf in range(base.n_leaves_)]
    costs = oracle.ex_kmc_costs(problem, leaves, n_base + extra)
    ours = [step.objective for step in explainer.path_[base.n_leaves_ - 1 :]]
    assert ours == pytest.approx(costs)


def test_ex_kmc_starts_with_imm(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    labels = rng.integers(0, 4, size=200)
    grown = ExKMC(n_leaves=9, engine=engine).fit(X, labels)
    small = grown.truncated(4).tree_
    imm = IMM(engine=engine).fit(X, labels).tree_
    assert small.feature.tolist() == imm.feature.tolist()
    assert small.threshold[small.feature >= 0].tolist() == imm.threshold[imm.feature >= 0].tolist()
    assert set(grown.leaf_reference_) <= set(range(4))


def test_every_leaf_has_its_own_centre() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    centers = rng.normal(size=(7, 3))
    for explainer in (IMM(), EMN(), ExGreedy(), ExShallow(), RandomCuts(random_state=0)):
        explainer.fit(X, centers=centers)
        homes = searched_tree(explainer, X).apply(centers)
        assert sorted(homes) == list(range(7))
        assert explainer.leaf_reference_[homes].tolist() == list(range(7))


def test_coincident_centres_share_a_leaf_with_the_lower_index() -> None:
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    centers = np.array([[9.5], [0.5], [0.5]])
    with pytest.warns(LeafCountWarning, match="2 leaves instead of 3"):
        explainer = IMM().fit(X, [1, 2, 0, 0], centers=centers)
    assert explainer.leaf_reference_.tolist() == [1, 0]


def test_centre_without_points_gets_a_leaf() -> None:
    X = np.array([[0.0], [1.0], [9.0]])
    explainer = IMM().fit(X, [0, 0, 1], centers=[[0.5], [9.0], [20.0]])
    assert explainer.tree_.size[explainer.tree_.leaves].tolist() == [2, 1, 0]
    assert explainer.predict_reference([[30.0]]).tolist() == [2]


def test_labels_may_number_the_centres_or_name_them() -> None:
    X = np.array([[0.0], [1.0], [9.0]])
    named = IMM().fit(X, ["low", "low", "high"], centers=[[9.0], [0.5]])
    assert named.leaf_reference_.tolist() == ["low", "high"]
    with pytest.raises(ValueError, match="centers has 3 rows, but y has 2 clusters"):
        IMM().fit(X, ["low", "low", "high"], centers=[[9.0], [0.5], [1.0]])


@pytest.mark.parametrize(
    ("centers", "message"),
    [
        ([[0.0, 1.0]], "one row per centre and the 1 columns"),
        ([[np.nan], [1.0]], "finite"),
        ([[1.0]], "fewer than two"),
    ],
)
def test_bad_centers(centers: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        IMM().fit([[0.0], [1.0]], [0, 1], centers=centers)


@pytest.mark.parametrize("library", [pd, pl])
def test_centres_in_a_data_frame_are_found_by_column(library: Any) -> None:
    table = library.DataFrame({"a": [0.0, 1.0, 8.0, 9.0], "b": [5.0, 6.0, 5.0, 6.0]})
    centers = library.DataFrame({"b": [5.5, 5.5], "a": [0.5, 8.5]})
    assert IMM().fit(table, centers=centers).labels_.tolist() == [0, 0, 1, 1]
    assert IMM().fit(table.to_numpy(), centers=centers[["a", "b"]]).labels_.tolist() == [0, 0, 1, 1]


def test_own_centre_cost_of_imm_is_bounded_by_its_height() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        X = rng.integers(0, 9, size=(rng.integers(5, 40), 3)).astype(float)
        centers = np.unique(rng.integers(0, 9, size=(4, 3)), axis=0).astype(float)
        if len(centers) < 2:
            continue
        for pairs in ("any", "furthest"):
            explainer = IMM(objective="kmedians", pairs=pairs).fit(X, centers=centers)
            distances = np.abs(X[:, None] - centers).sum(axis=2)
            best = distances.min(axis=1).sum()
            own = distances[np.arange(len(X)), explainer.predict_reference(X)].sum()
            assert own <= (1 + explainer.tree_.depth) * best + 1e-9


def test_random_cuts_cost_little_on_average() -> None:
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(5, 4)) * 3
    X = centers[rng.integers(0, 5, size=150)] + rng.normal(size=(150, 4))
    distances = np.abs(X[:, None] - centers).sum(axis=2)
    prices = [
        RandomCuts(n_init=1, random_state=seed).fit(X, centers=centers).objective_
        for seed in range(200)
    ]
    harmonic = sum(1 / i for i in range(1, 5))
    assert np.mean(prices) / distances.min(axis=1).sum() <= 1 + harmonic


@pytest.mark.parametrize("objective", ["kmedians", "kmeans"])
def test_random_cuts_are_reproducible_and_keep_the_cheapest(objective: str) -> None:
    rng = np.random.default_rng(4)
    X, centers = rng.normal(size=(80, 3)), rng.normal(size=(4, 3))
    one = RandomCuts(objective=objective, n_init=1, random_state=7).fit(X, centers=centers)
    many = RandomCuts(objective=objective, n_init=30, random_state=7).fit(X, centers=centers)
    again = RandomCuts(objective=objective, n_init=30, random_state=7).fit(X, centers=centers)
    assert many.objective_ <= one.objective_
    assert many.tree_ == again.tree_


def test_random_cuts_follow_their_laws() -> None:
    # Three centres on a line at 0, 1 and 4: first cuts fall into the gaps by length, or squared length.
    X, centers = np.linspace(0.01, 3.99, 400)[:, None], np.array([[0.0], [1.0], [4.0]])
    for objective, share in (("kmedians", 1 / 4), ("kmeans", 1 / 10)):
        first = [
            RandomCuts(objective=objective, n_init=1, random_state=seed)
            .fit(X, centers=centers)
            .explanation_.training.searched.threshold[0]
            for seed in range(400)
        ]
        assert np.mean(np.array(first) < 1) == pytest.approx(share, abs=0.06)


def test_noise_rows_belong_to_no_centre() -> None:
    X = np.array([[0.0], [1.0], [5.0], [9.0], [10.0]])
    explainer = IMM().fit(X, [0, 0, -1, 1, 1])
    assert explainer.objective_ == 0
    assert len(explainer.labels_) == 5


def test_fewer_leaves_than_clusters_take_the_commonest_centre() -> None:
    X = np.array([[0.0], [1.0], [2.0], [2.1], [9.0], [9.1]])
    explainer = EMN(n_leaves=2).fit(X, [0, 0, 0, 1, 2, 2])
    assert explainer.leaf_reference_.tolist() == [0, 2]


def test_columns_may_be_restricted() -> None:
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    for explainer in (
        IMM(features=[1, 3]),
        ExKMC(features=[1, 3], n_leaves=5),
        ExGreedy(features=[1, 3]),
    ):
        tree = explainer.fit(X, labels).tree_
        assert set(tree.feature[tree.feature >= 0]) <= {1, 3}


def test_refined_leaf_without_a_centre_stands_for_its_commonest_label() -> None:
    rng = np.random.default_rng(6)
    n_bare = 0
    for _ in range(30):
        X, labels = rng.normal(size=(40, 2)), rng.integers(0, 4, 40)
        explainer = IMM(refine="agreement").fit(X, labels)
        centers = np.array([X[labels == label].mean(axis=0) for label in range(4)])
        for leaf in set(range(explainer.n_leaves_)) - set(explainer.tree_.apply(centers)):
            commonest = np.argmax(np.bincount(labels[explainer.labels_ == leaf]))
            assert explainer.leaf_reference_[leaf] == commonest
            n_bare += 1
    assert n_bare
