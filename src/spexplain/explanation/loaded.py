"""Models that were read from JSON instead of fitted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.explanation.explanation import Edit, Explanation, Training
from spexplain.explanation.fitted import FittedModel
from spexplain.explanation.rule_set import LoadedRules, read_rules
from spexplain.export.rules import FORMAT as RULES_FORMAT
from spexplain.export.serialize import refusal, stored_model
from spexplain.facts.path import PathStep
from spexplain.show.notebook import html_repr
from spexplain.table.base import Rows
from spexplain.table.columns import FrameKind
from spexplain.table.host import HostTable
from spexplain.table.read import read_rows
from spexplain.table.reference import Reference, labels_of_codes
from spexplain.table.sparse import leaves_of

_HEAD = 200  # characters at the beginning of a text that identify its format


class LoadedModel(FittedModel):
    """A fitted model without its training rows; methods that need no rows work as in the estimator.

    Parameters
    ----------
    explanation : Explanation
        The tree and what is known about it.

    Attributes
    ----------
    explanation_ : Explanation
        The result of the fit; all methods of the model read it.
    tree_ : Tree
        The tree.
    n_leaves_, n_features_in_ : int
        Number of leaves, and number of columns that rows must have.
    objective_ : float
        What the tree minimised: the sum of the values of its leaves.
    kind_, version_ : str
        The estimator that was fitted, and the version of spexplain that fitted it.
    feature_names_in_ : array of str, shape (n_features,)
        Names of the columns; only if the training table had names.
    leaf_reference_ : array of shape (n_leaves,)
        The label each leaf stands for; only if the estimator knew reference labels.
    leaf_purity_ : array of float, shape (n_leaves,)
        Share of a leaf's training rows with that label; only if known.
    goal : str
        What `BestTree` searched for.
    value_, bound_, optimal_ : float, float and bool
        What the goal measures of the tree, and what `BestTree` proved about it.
    """

    def __init__(self, explanation: Explanation) -> None:
        self._set_explanation(explanation)

    def _set_explanation(self, explanation: Explanation) -> None:
        super()._set_explanation(explanation)
        self.n_features_in_ = explanation.tree.n_features
        self.kind_, self.version_ = explanation.method, explanation.version
        names = explanation.columns
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        vars(self).pop("leaf_purity_", None)
        if explanation.leaf_purity is not None:
            self.leaf_purity_ = explanation.leaf_purity

    @property
    def goal(self) -> Any:
        """What `BestTree` searched for; `value_`, `bound_` and `optimal_` are its results.

        Examples
        --------
        >>> from spexplain import BestTree, from_json
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> model = from_json(BestTree().fit(X, ["new"] * 3 + ["VIP"] * 3).to_json())
        >>> model.goal, model.value_, model.optimal_
        ('fidelity', 1.0, True)
        """
        explanation = self._fitted()
        if explanation.goal is not None:
            return explanation.goal.name
        if "goal" not in explanation.parameters:
            raise AttributeError(self._unproved("goal"))
        return explanation.parameters["goal"]

    def _check_rows(self, X: Any, *, whole: bool = False) -> Rows:
        return read_rows(X, self, whole=whole)

    def rules(
        self, feature_names: Sequence[str] | None = None, *, output: FrameKind = "records"
    ) -> Any:
        """Return one record per leaf: its rule in words, rows, share, reference label, purity and recall.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        output : {"auto", "pandas", "polars", "records"}, default="records"
            A list of dicts, or a data frame; "auto" takes pandas if it is installed, else polars, else
            a list.

        Returns
        -------
        rules : list of dict or DataFrame

        Examples
        --------
        >>> from spexplain import from_json
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> model = from_json(explainer.to_json())
        >>> [each["rule"] for each in model.rules(output="records")]
        ['age ≤ 40', 'age > 40']
        """
        return super().rules(feature_names, output=output)

    def __repr__(self) -> str:
        return f"LoadedModel({self.kind_}, {self.n_leaves_} leaves, {self.n_features_in_} columns)"

    def _repr_html_(self) -> str:
        return html_repr(self.outline())


def from_json(text: str | bytes) -> LoadedModel | LoadedRules:
    """Return the model, or the rules, that `to_json` wrote; anything else raises an error.

    Nothing in the text is executed.

    Parameters
    ----------
    text : str or bytes
        JSON of this format and version.

    Returns
    -------
    model : LoadedModel or LoadedRules
        Rules per cluster, if `ClusterRules` wrote the text; else a tree.

    Examples
    --------
    >>> from spexplain import from_json
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_json
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.1, sizes=(4, 6))
    >>> from_json(to_json(Explanation(tree, ("width",)))).predict([[0.1], [0.2]])
    array([0, 1])
    """
    if holds_rules(text):
        return LoadedRules(read_rules(text))
    return LoadedModel(read_explanation(text))


def holds_rules(text: str | bytes) -> bool:
    """Whether a text claims to hold rules per cluster; this is verified when it is read."""
    mark = f'"format": "{RULES_FORMAT}"'
    if isinstance(text, str):
        return mark in text[:_HEAD]
    return isinstance(text, bytes) and mark.encode() in text[:_HEAD]


def read_explanation(text: str | bytes) -> Explanation:
    """Return the record that `to_json` wrote; anything else is refused in one sentence."""
    fields = stored_model(text)
    try:
        return _explanation(fields)
    except ValueError as error:
        raise refusal(str(error).rstrip(".")) from None


def _explanation(fields: dict[str, Any]) -> Explanation:
    """Return the record of stored parts, with the states of its journal."""
    grown, journal, rows = (fields.pop(name) for name in ("grown", "journal", "rows"))
    if grown is not None:
        fields["grown"] = Explanation(**grown)
    for name in ("steps", "own_steps"):
        steps = fields.pop(name)
        if steps is not None:
            fields[name] = tuple(PathStep(*step) for step in steps)
    if journal is not None:
        at = journal["position"]
        edits = [Edit(*each) for each in journal["edits"]]
        states = [_explanation(each) for each in journal["states"]]
        fields["edits"], fields["past"] = tuple(edits[:at]), tuple(states[:at])
        fields["future"] = tuple(zip(edits[at:], states[at:], strict=True))
    found = Explanation(**fields)
    return found if rows is None else _with_stored_rows(found, **rows)


def _with_stored_rows(
    model: Explanation,
    values: Matrix,
    classes: Array | None,
    codes: Ints | None,
    weights: Floats | None,
    ids: Array | None,
) -> Explanation:
    """Return a record that holds its training rows, as that of the estimator did."""
    labels = leaves_of(model.tree, values)
    sizes = np.bincount(labels, minlength=model.tree.n_leaves)
    if not np.array_equal(sizes, model.tree.size[model.tree.leaves]):
        raise ValueError("rows must fall into the leaves as the sizes of the tree say")
    reference = None
    if classes is not None and codes is not None:
        known = labels_of_codes(classes, codes)
        reference = Reference(known, codes, classes, has_noise=bool((codes < 0).any()))
    names = None if model.columns is None else model.names
    table = HostTable(values, names, described=model.fields)
    training = Training(labels, reference, table, weights=weights, row_ids=ids)
    if model.classes is None and reference is not None:  # older files do not hold weighted counts
        counted = Explanation.of(model.tree, table, reference, weights=weights)
        model = replace(
            model,
            classes=counted.classes,
            node_codes=counted.node_codes,
            node_counts=counted.node_counts,
            node_noise=counted.node_noise,
            node_weights=counted.node_weights,
        )
    return replace(model, training=training)
