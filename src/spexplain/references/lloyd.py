"""Lloyd's algorithm from several starts, shared by k-medians and kernel k-means."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from spexplain.aliases import Floats, Ints

Centers = TypeVar("Centers")

# Relative size below which differences of costs and distances are rounding errors. Ignoring it makes ties
# (which rows to move, when to stop, which start to keep) come out alike on every machine.
ROUNDING = 1e-12


class Assignment(NamedTuple):
    """Every row's nearest centre, and how far away it is (0 up to rounding is given as 0)."""

    labels: Ints
    distances: Floats


class Problem(Protocol[Centers]):
    """The operations on centres that Lloyd's algorithm needs."""

    n_clusters: int
    weights: Floats | None  # of the rows; None: all one

    def assign(self, starts: Sequence[Centers]) -> list[Assignment]:
        """Assign every row to its nearest centre, for all starts in one pass over the data."""

    def update(self, labels: Ints, centers: Centers) -> Centers:
        """Return the best centres for these labels; an empty cluster keeps its centre."""

    def place(self, centers: Centers, clusters: Ints, rows: Ints) -> Centers:
        """Return the centres with these clusters moved to these rows."""


@dataclass(frozen=True, slots=True)
class LloydRun(Generic[Centers]):
    """One start: its centres, the labels that these centres give, and their cost."""

    centers: Centers
    labels: Ints
    cost: float
    n_iter: int = 0
    is_done: bool = False


def lloyd(
    problem: Problem[Centers], starts: Sequence[Centers], *, max_iter: int, verbose: int = 0
) -> LloydRun[Centers]:
    """Alternate assignment and update from all starts in lockstep; return the cheapest run.

    A run ends when its labels repeat, when its cost does not fall (it then keeps the state
    before), or after `max_iter` iterations. Equal costs: the first start wins.
    """
    runs = _assign_without_empty(problem, list(starts), n_iter=0)
    for n_iter in range(1, max_iter + 1):
        active = [i for i, run in enumerate(runs) if not run.is_done]
        if not active:
            break
        centers = [problem.update(runs[i].labels, runs[i].centers) for i in active]
        for i, run in zip(active, _assign_without_empty(problem, centers, n_iter), strict=True):
            runs[i] = _next_state(runs[i], run)
        if verbose:
            cheapest = min(run.cost for run in runs)
            print(f"iteration {n_iter}: {len(active)} active starts, least cost {cheapest:.6g}")
    least = min(run.cost for run in runs)
    return next(run for run in runs if not _falls(run.cost, least))


def _falls(before: float, after: float) -> bool:
    """Whether a cost falls by more than rounding."""
    return after < before - ROUNDING * abs(before)


def _next_state(old: LloydRun[Centers], new: LloydRun[Centers]) -> LloydRun[Centers]:
    """Return the state that a run goes on with, marked when it is its last."""
    if np.array_equal(old.labels, new.labels):
        # A fixed point: the new centres are the optimal ones of exactly these labels.
        return LloydRun(new.centers, new.labels, new.cost, new.n_iter, is_done=True)
    if not _falls(old.cost, new.cost):
        return LloydRun(old.centers, old.labels, old.cost, new.n_iter, is_done=True)
    return new


def _assign_without_empty(
    problem: Problem[Centers], starts: list[Centers], n_iter: int
) -> list[LloydRun[Centers]]:
    """Assign rows, and move the centre of each empty cluster to the row furthest from its centre.

    A moved centre keeps at least its own row, since all other centres are further from it, so
    each pass settles at least one cluster for good and a start needs at most `n_clusters`
    passes. Clusters stay empty only when every row coincides with its centre, that is, when
    there are fewer distinct rows than clusters. Inconsistent distances (from
    a function that is not a kernel, or lost in rounding errors) may leave clusters empty as well; the
    number of passes is bounded because of them.
    """
    centers = list(starts)
    found = problem.assign(centers)
    pending = list(range(len(starts)))
    for _ in range(problem.n_clusters):
        moved = []
        for i in pending:
            sizes = np.bincount(found[i].labels, minlength=problem.n_clusters)
            clusters = np.flatnonzero(sizes == 0)
            distances = found[i].distances
            if problem.weights is not None:  # a row of weight 0 needs no centre
                distances = np.where(problem.weights > 0, distances, 0.0)
            rows = _furthest(distances, clusters.size)
            if rows.size:
                centers[i] = problem.place(centers[i], clusters[: rows.size], rows)
                moved.append(i)
        if not moved:
            break
        for i, anew in zip(moved, problem.assign([centers[i] for i in moved]), strict=True):
            found[i] = anew
        pending = moved
    return [
        LloydRun(own, assignment.labels, _cost(assignment, problem.weights), n_iter)
        for own, assignment in zip(centers, found, strict=True)
    ]


def _cost(assignment: Assignment, weights: Floats | None) -> float:
    """Return the distances of all rows, added."""
    return float(
        (assignment.distances if weights is None else assignment.distances * weights).sum()
    )


def _furthest(distances: Floats, count: int) -> Ints:
    """Return up to `count` rows at a positive distance, furthest first, then lowest index."""
    longest = distances.max()
    if count == 0 or longest <= 0:
        return np.empty(0, dtype=np.int64)
    order = np.argsort(-np.round(distances / longest, 10), kind="stable")[:count]
    return order[distances[order] > 0]


def members_of(labels: Ints, n_clusters: int) -> list[Ints]:
    """Return the rows of every cluster, in increasing order."""
    sizes = np.bincount(labels, minlength=n_clusters)
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])


def spawn_generators(random_state: Any, n_starts: int) -> list[np.random.RandomState]:
    """Return one generator per start, so that more starts do not change the earlier ones."""
    parent = check_random_state(random_state)
    return [check_random_state(parent.randint(np.iinfo(np.int32).max)) for _ in range(n_starts)]


def spread_rows(
    distances_to: Callable[[Ints], Floats],
    n_samples: int,
    n_clusters: int,
    generators: Sequence[np.random.RandomState],
    weights: Floats | None = None,
) -> Ints:
    """Draw rows to start from, each with probability proportional to its cost so far.

    Parameters
    ----------
    distances_to : callable
        Maps row indices of shape (n_starts,) to the costs of serving every row from each of
        them, shape (n_samples, n_starts).
    n_samples, n_clusters : int
        Number of rows, and of rows wanted per start.
    generators : sequence of RandomState
        One per start.
    weights : array of shape (n_samples,), optional
        Weights of the rows, which multiply their costs.

    Returns
    -------
    rows : ndarray of shape (n_starts, n_clusters)
    """
    rows = np.empty((len(generators), n_clusters), dtype=np.int64)
    if weights is None:
        rows[:, 0] = [rng.randint(n_samples) for rng in generators]
    else:
        rows[:, 0] = [_draw(weights, rng) for rng in generators]
    own = np.ones(n_samples) if weights is None else weights
    nearest = distances_to(rows[:, 0])
    for j in range(1, n_clusters):
        rows[:, j] = [_draw(nearest[:, i] * own, rng) for i, rng in enumerate(generators)]
        np.minimum(nearest, distances_to(rows[:, j]), out=nearest)
    return rows


def _draw(weights: Floats, rng: np.random.RandomState) -> int:
    """Draw an index with probability proportional to its weight; uniformly if all are 0."""
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    if total <= 0:
        return int(rng.randint(weights.size))
    # The bound guards against a product that is rounded up to the total.
    last = np.searchsorted(cumulative, total, side="left")
    return int(min(np.searchsorted(cumulative, rng.uniform() * total, side="right"), last))


def check_enough_samples(n_samples: int, n_clusters: int) -> None:
    """Raise when there are fewer rows than clusters."""
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")


def check_magnitude(X: Floats) -> None:
    """Raise when sums of distances between the rows of X overflow."""
    with np.errstate(over="ignore"):
        longest = np.sum(X.max(axis=0) - X.min(axis=0))
        is_finite = np.isfinite(X.shape[0] * longest)
    if not is_finite:
        raise ValueError(
            "X has values so large that distances overflow; divide them by a constant."
        )


def warn_about(run: LloydRun[Centers], n_clusters: int, max_iter: int) -> None:
    """Warn when a run did not converge, or when some clusters had to stay empty."""
    if not run.is_done:
        warnings.warn(
            f"The clustering did not converge in max_iter={max_iter} iterations.",
            ConvergenceWarning,
            stacklevel=3,
        )
    n_found = np.unique(run.labels).size
    if n_found < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({n_clusters}), because too few rows of X differ by more than rounding.",
            ConvergenceWarning,
            stacklevel=3,
        )
