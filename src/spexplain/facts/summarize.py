"""From a fitted tree to its summary: every fact is computed here once, and rendered elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from spexplain._version import __version__
from spexplain.facts.certificates import Certificate
from spexplain.facts.certificates.record import default_names
from spexplain.facts.inputs import check_rows, finite, plain
from spexplain.facts.outline import (
    Outline,
    agreement_facts,
    confusion_facts,
    fidelity_and_price,
    leaf_facts,
    node_facts,
    reference_facts,
)
from spexplain.facts.rows import add_rows, feature_facts
from spexplain.facts.runner_up import Second
from spexplain.facts.schema import FORMAT, VERSION, Settings, Step, Summary

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


class PathRecord(Protocol):
    """A tree on the path of growth; see `spexplain.explanation.PathStep`."""

    def _asdict(self) -> dict[str, Any]: ...


class Detail(NamedTuple):
    """How much a summary says about rows.

    Parameters
    ----------
    max_features : int, default=20
        Features in the profile of a leaf, those of its rule first; all are described if there are
        no more.
    n_exemplars, n_sampled : int
        Typical and random rows of every leaf.
    n_points : int
        Random rows of the whole table in the plane of the two most used features.
    seed : int
        Of the random rows.
    """

    max_features: int = 20
    n_exemplars: int = 3
    n_sampled: int = 5
    n_points: int = 1000
    seed: int = 0


def summarize(
    explained: "Explanation",
    X: Any = None,
    *,
    names: Sequence[str] | None = None,
    leaf_reference: Iterable[Any] | None = None,
    path: Iterable[PathRecord] = (),
    seconds: Mapping[int, Second] | None = None,
    certificate: Certificate | None = None,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    detail: Detail | None = None,
) -> Summary:
    """Return all facts about a fitted tree as one plain dict, ready for JSON.

    Parameters
    ----------
    explained : Explanation
        The tree, its counts of clusters, and the leaf of every training row.
    X : array of shape (n_samples, n_features), optional
        The training rows. Without them nothing is said about values: no profiles, no rows.
    names : list of str, optional
        Names of the features; x0, x1, ... by default.
    leaf_reference : sequence, optional
        The reference label that each leaf stands for; by default its commonest.
    path : iterable of records, optional
        The trees of 1, 2, ... leaves.
    seconds : dict, optional
        Best cuts on other features by node, from `runner_ups`: a second search, so it is asked for
        separately.
    certificate : Certificate, optional
        What is proved about the tree.
    method, parameters : optional
        Name and settings of the method, for the record.
    detail : Detail, optional
        How much is said about rows.

    Returns
    -------
    summary : dict
        See `spexplain.facts.schema` for its entries. O(n_samples · n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts import summarize
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> summary = summarize(explainer._grown, X, names=["age"])
    >>> [(leaf["rule"], leaf["label"], leaf["lift"]) for leaf in summary["leaves"]]
    [('age ≤ 6', 'a', 2.0), ('age > 6', 'b', 2.0)]
    """
    detail = Detail() if detail is None else detail
    known = default_names(explained.tree.n_features, names)
    outline = Outline.of(explained, known)
    summary = _outline_summary(explained, outline, leaf_reference, dict(seconds or {}))
    summary["method"] = method
    summary["path"] = [_step(each) for each in path]
    summary["settings"] = _settings(detail, method, parameters)
    if certificate is not None:
        summary["certificate"] = certificate.to_dict()
        summary["certificate_text"] = certificate.to_text()
    if X is not None:
        table = check_rows(explained, X)
        # Squares of huge values overflow to infinity, which becomes None.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            add_rows(summary, explained, table, known, detail)
    return summary


def _outline_summary(
    explained: "Explanation",
    outline: Outline,
    leaf_reference: Iterable[Any] | None,
    seconds: dict[int, Second],
) -> Summary:
    """Return what is known without the training rows."""
    tree = explained.tree
    leaves = leaf_facts(outline, leaf_reference)
    fidelity, price = fidelity_and_price(explained)
    return {
        "format": FORMAT,
        "version": VERSION,
        "has_rows": False,
        "method": None,
        "objective": finite(tree.value[tree.leaves].sum()),
        "n_rows": outline.n_rows,
        "n_features": tree.n_features,
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "dtype": None,
        "features": feature_facts(outline),
        "nodes": node_facts(outline, seconds),
        "leaves": leaves,
        "reference": reference_facts(outline, leaves),
        "agreement": agreement_facts(explained),
        "confusion": confusion_facts(outline),
        "fidelity": fidelity,
        "price": price,
        "path": [],
        "differences": None,
        "points": None,
        "certificate": None,
        "certificate_text": None,
        "settings": _settings(Detail(), None, None),
    }


def _step(record: PathRecord) -> Step:
    fields = record._asdict()
    return {
        "n_leaves": int(fields["n_leaves"]),
        "objective": finite(fields["objective"]),
        "agreement": finite(fields["agreement"]),
        "fidelity": finite(fields["fidelity"]),
        "price": finite(fields["price"]),
        "depth": int(fields["depth"]),
        "explanation_size": finite(fields["explanation_size"]),
    }


def _settings(detail: Detail, method: str | None, parameters: Mapping[str, Any] | None) -> Settings:
    return {
        "spexplain": __version__,
        "method": method,
        "parameters": {name: plain(value) for name, value in (parameters or {}).items()},
        "max_features": detail.max_features,
        "n_exemplars": detail.n_exemplars,
        "n_sampled": detail.n_sampled,
        "n_points": detail.n_points,
        "seed": detail.seed,
    }
