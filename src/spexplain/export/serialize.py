"""An explanation as JSON: versioned, exact to the last bit, and fully checked when it is read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from spexplain.aliases import Array
from spexplain.arguments import check_choice
from spexplain.exceptions import quoted, quoted_list
from spexplain.export.labels import label_array, plain_labels, type_of_plain
from spexplain.facts.goal import GoalRecord, SizeStep
from spexplain.facts.profiles import (
    MAX_CATEGORIES,
    QUANTILE_SHARES,
    ColumnProfile,
    Profile,
    borders_of,
)
from spexplain.facts.schema import plain_value
from spexplain.facts.segments import TELLING_KINDS, Telling
from spexplain.refine.scores import GOALS
from spexplain.table.sparse import dense
from spexplain.tree import Column, Tree, python_value
from spexplain.tree.column import KINDS, as_columns, zone_info

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

ProfileName: TypeAlias = Literal["tested", "all", "rows", "none"]
FORMAT = "spexplain.model"
VERSION = 3
# Entries that models of older versions lack, which are still read: what columns hold, what was seen.
_ADDED: dict[int, tuple[str, ...]] = {1: ("columns", "seen"), 2: ("seen",)}
# Far beyond any useful tree; anything larger is a mistake or an attack.
MAX_CHARACTERS = 64_000_000
MAX_COLUMNS = 1_000_000
MAX_LEAVES = 100_000
MAX_DEPTH = 20_000
# Rows of every leaf by cluster, and the path of growth, are stored up to these sizes.
MAX_COUNTS = 500_000
MAX_STEPS = 1_000
MAX_EDITS = 200  # that a file can undo
# Settings that affect the speed only; without them, the same model gives the same file.
_NOT_STORED = ("engine", "n_jobs", "verbose")
# Commas and brackets outside of strings: a million names and what these columns hold, or 100,000 leaves
# and all that is known about them. Each is a value that takes memory once it is parsed.
_MAX_VALUES = 9_000_000
_FEW = 100_000  # characters whose values need no counting
_BLOCK = 1 << 20  # characters that are counted at a time

_KEYS = {
    "format",
    "version",
    "written_by",
    "estimator",
    "feature_names",
    "columns",
    "reference",
    "tree",
    "seen",
}
# Entries of a column; those that are not there have their default.
_COLUMN_KEYS = ("kind", "categories", "zone", "has_missing", "clock")
# Entries of "training", which files of older versions do not have.
_TRAINING_KEYS = {
    "columns",
    "clusters",
    "nodes",
    "scales",
    "parameters",
    "path",
    "trees",
    "refined",
    "grown",
}
_SEEN_KEYS = ("rows", "missing", "counts", "quantiles", "numbers_rows")  # of a column
_ROWS_KEYS = {"values", "clusters", "codes", "weights", "ids"}
# Entries of "training" that stand there only where they say something.
_SEARCH_KEYS = {"goal", "leaves_for_all"}
_GOAL_KEYS = {"name", "value", "bound", "optimal", "total", "max_depth", "curve"}
_NODE_KEYS = {"codes", "counts", "noise"}
_WEIGHED = 1e-9  # share of a leaf's weight by which rounded sums may differ
_QUOTE, _SEPARATORS = ord('"'), [ord(each) for each in ",[{"]
_LONGEST_INTEGER = 20  # digits and sign of an int64


def to_json(explanation: "Explanation", *, profile: ProfileName = "tested") -> str:
    """Return the explanation as JSON text, one line an entry.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export. Reference labels must be strings, integers (int64), finite floats or
        booleans.
    profile : {"tested", "all", "rows", "none"}, default="tested"
        Columns for which the model stores statistics of the training rows: range, quantiles, share of
        missing values, categories with their counts. Only "rows" also stores the rows themselves, with
        their labels and weights.

    Returns
    -------
    text : str
        ASCII; `from_json` reads it back with every float unchanged.

    Examples
    --------
    >>> from spexplain import from_json
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_json
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.1, sizes=(4, 6))
    >>> from_json(to_json(Explanation(tree, ("width",)))).tree_ == tree
    True
    """
    check_choice("profile", profile, get_args(ProfileName))
    tree, columns = explanation.tree, explanation.columns
    check_size(tree.n_features, tree.n_leaves)
    check_depth(tree)
    seen = _profile(explanation, profile)
    remembered = (
        range(tree.n_features) if profile == "rows" else () if seen is None else seen.columns
    )
    is_named = columns is not None and all(isinstance(each, str) for each in columns)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": explanation.version,
        "estimator": explanation.method,
        "feature_names": list(explanation.names) if is_named else None,
        "columns": described_columns(explanation, remembered),
        "reference": _reference(explanation),
        "tree": tree.to_dict(),
        "seen": None if seen is None else seen_entries(seen),
    }
    if explanation.told is not None and profile != "none":
        document["told"] = _telling_records(explanation, explanation.told)
    training = _training(explanation, is_named) | _search(explanation)
    if any(value is not None for value in training.values()):
        document["training"] = training
    if explanation.locked or explanation.forbidden:
        document["constraints"] = {
            "locked": sorted(explanation.locked),
            "forbidden": {
                str(node): sorted(each) for node, each in sorted(explanation.forbidden.items())
            },
        }
    if profile == "rows":
        document["rows"] = _rows(explanation)
    if explanation.edits or explanation.future:
        document["edits"] = _journal(explanation)
    about = f"A model of {tree.n_features} columns and {tree.n_leaves} leaves with all their categories is"
    return json_lines(document, about)


def json_lines(document: Mapping[str, Any], about: str) -> str:
    """Return a document as JSON text, one line an entry; refuse one that is too large to be read back."""
    lines = (f"{json.dumps(key)}: {_dumped(value)}" for key, value in document.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if len(text) > MAX_CHARACTERS or _n_values(text) > _MAX_VALUES:
        raise ValueError(f"{about} too large for JSON; leave out columns of very many categories.")
    return text


def _journal(explanation: "Explanation") -> dict[str, Any]:
    """Return the edits, done and undone, with the state of the model before or after each."""
    edits = [*explanation.edits, *(edit for edit, _ in explanation.future)]
    position = len(explanation.edits)
    states = explanation.states()
    del states[position]  # the model itself
    first = max(0, position - MAX_EDITS)  # the oldest cannot be undone any more
    return {
        "position": position - first,
        "journal": [
            {"edit": each.name, "arguments": plain_value(dict(each.arguments))}
            for each in edits[first:]
        ],
        "states": [json.loads(to_json(state)) for state in states[first:]],
    }


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _profile(explanation: "Explanation", name: ProfileName) -> Profile | None:
    """Return the stored statistics of the training rows."""
    if name == "none":
        return None
    if name == "tested":  # a model that was read keeps its statistics
        return explanation.seen if explanation.profile is None else explanation.profile
    few = {
        each
        for each, column in enumerate(explanation.fields)
        if len(column.categories) <= MAX_CATEGORIES
    }
    return explanation.profiled(sorted(few | set(explanation.tested)))


def _rows(explanation: "Explanation") -> dict[str, Any]:
    """Return the training rows as stored in JSON: every column, labels and weights."""
    training = explanation.training
    table = None if training is None else training.table
    if training is None or table is None:
        raise ValueError(
            f'profile="rows" stores the training rows, which this {explanation.method} does not remember.'
        )
    n_rows, n_columns = table.shape
    if n_rows * n_columns > _MAX_VALUES // 2:
        raise ValueError(
            f'profile="rows" would store {n_rows:,} rows of {n_columns:,} columns, which is too large for JSON; '
            "keep them in a separate file, and pass them to `report` and `with_rows`."
        )
    reference, weights = training.reference, training.weights
    if reference is not None and reference.memberships is not None:
        raise ValueError(
            'profile="rows" stores one label for every row, but this model was fitted to memberships.'
        )
    clusters = None if reference is None else _typed_list(reference.classes)
    values = dense(table.training_rows()).T.astype(np.float64)
    return {
        "values": [[None if isnan(x) else x for x in column] for column in values.tolist()],
        "clusters": clusters,
        "codes": None if reference is None or clusters is None else reference.codes.tolist(),
        "weights": None if weights is None else np.asarray(weights, dtype=np.float64).tolist(),
        "ids": _typed_list(training.row_ids),
    }


def _typed_list(values: Array | None) -> dict[str, Any] | None:
    """Return labels or names with their type; None if JSON cannot hold them."""
    found = None if values is None else plain_labels(values)
    return None if found is None else {"type": found[0], "labels": found[1]}


def _telling_records(
    explanation: "Explanation", told: tuple[tuple[Telling, ...], ...]
) -> list[list[list[Any]]]:
    """Return the most telling columns of every cluster as stored in JSON."""
    found = []
    for own in told:
        found.append(
            [
                [
                    each.feature,
                    TELLING_KINDS.index(each.kind),
                    *(_number(x) for x in (each.difference, each.inside, each.overall, each.least)),
                    each.code,
                    None
                    if each.value is None
                    else _category(each.value, explanation.fields[each.feature]),
                ]
                for each in own
            ]
        )
    return found


def _read_telling_records(data: Any, n_features: int) -> dict[str, Any]:
    """Return the most telling columns of every cluster."""
    if data is None:
        return {}
    is_good = isinstance(data, list) and all(isinstance(own, list) for own in data)
    found = []
    for own in data if is_good else ():
        told = []
        for entry in own:
            is_good = is_good and isinstance(entry, list) and len(entry) == len(Telling._fields)
            if not is_good:
                break
            feature, kind, *numbers, code, value = entry
            is_good = (
                type(feature) is int
                and 0 <= feature < n_features
                and type(kind) is int
                and 0 <= kind < len(TELLING_KINDS)
                and all(type(x) in (int, float) for x in numbers)
                and (code is None or (type(code) is int and 0 <= code < 2**31))
                and (value is None or type_of_plain(type(value).__name__) is not None)
                and (TELLING_KINDS[kind] == "share") == (code is not None)
            )
            if not is_good:
                break
            difference, inside, overall, least = map(float, numbers)
            name = TELLING_KINDS[kind]
            told.append(Telling(feature, name, difference, inside, overall, code, value, least))
        found.append(tuple(told))
    if not is_good:
        raise ValueError("told must hold a list of telling columns for every cluster")
    return {"told": tuple(found)}


def seen_entries(profile: Profile) -> dict[str, Any]:
    """Return the statistics of the training rows as stored in JSON."""
    columns = {
        str(number): {
            "rows": each.n_rows,
            "missing": each.n_missing,
            "counts": list(each.counts),
            "quantiles": list(each.quantiles),
            "numbers_rows": each.numbers_rows,
        }
        for number, each in profile.columns.items()
    }
    return {"rows": profile.n_rows, "columns": columns}


def described_columns(
    explanation: Any, remembered: Iterable[int] = ()
) -> list[dict[str, Any]] | None:
    """Return what the columns hold; None where all hold numbers.

    Values of columns that no test uses and without stored statistics are left out: they may be many, or
    confidential.
    """
    if explanation.described is None:
        return None
    tested = {*explanation.tested, *remembered}
    default, found = Column(""), []
    for number, field in enumerate(explanation.fields):
        column = field if number in tested else replace(field, categories=())
        entries = {key: getattr(column, key) for key in _COLUMN_KEYS}
        entries = {key: value for key, value in entries.items() if value != getattr(default, key)}
        if "categories" in entries:
            entries["categories"] = [_category(each, column) for each in column.categories]
        found.append(entries)
    return found if any(found) else None


def _category(value: Any, column: Column) -> Any:
    """Return a category as stored in JSON."""
    value = python_value(value)
    is_plain = type_of_plain(type(value).__name__) is not None
    is_known = isinstance(value, str) or (
        is_plain and abs(value) < (2**63 if type(value) is int else inf)
    )
    if not is_known:
        raise ValueError(
            f"Column {quoted(column.name)} has the category {quoted(value)}; JSON can hold strings, int64 "
            "integers, finite floats and booleans: turn it into such a value before fit."
        )
    return value


def _reference(explanation: "Explanation") -> dict[str, Any] | None:
    if explanation.leaf_reference is None:
        return None
    labels = plain_labels(explanation.leaf_reference)
    if labels is None:
        raise ValueError(
            f"The reference labels (dtype {explanation.leaf_reference.dtype}) are not strings, int64 integers, "
            "finite floats or booleans, which is what JSON can hold; fit with such labels."
        )
    purity = explanation.leaf_purity
    known = None if purity is None else np.asarray(purity).tolist()
    return {"type": labels[0], "labels": labels[1], "purity": known}


def _training(explanation: "Explanation", is_named: bool) -> dict[str, Any]:
    """Return what is known from the training rows; None for anything unknown or too large."""
    classes, grown = explanation.classes, explanation.grown
    clusters = None if classes is None else plain_labels(classes)
    has_nodes = clusters is not None and _has_nodes(explanation)
    whole = explanation if grown is None else grown
    scales = explanation.scales
    is_known = explanation.training is not None or explanation.steps is not None
    return {
        "columns": None if explanation.columns is None or is_named else list(explanation.columns),
        "clusters": {"type": clusters[0], "labels": clusters[1]}
        if has_nodes and clusters
        else None,
        "nodes": _nodes(explanation) if has_nodes else None,
        "scales": None if scales is None else [_number(x) for x in scales[explanation.used]],
        "parameters": {
            name: plain_value(each)
            for name, each in explanation.parameters.items()
            if name not in _NOT_STORED
        }
        or None,
        "path": _steps(explanation.path) if is_known and whole.tree.n_leaves <= MAX_STEPS else None,
        # For a tree that was not refined, these are in its path.
        "trees": _steps(explanation.trees)
        if is_known and explanation.is_refined and explanation.tree.n_leaves <= MAX_STEPS
        else None,
        "refined": True if explanation.is_refined else None,
        "grown": None
        if grown is None
        else {
            "tree": grown.tree.to_dict(),
            "nodes": _nodes(grown) if has_nodes and _has_nodes(grown) else None,
        },
    }


def _search(explanation: "Explanation") -> dict[str, Any]:
    """Return the goal of the search, and the leaves that clusters without one need, if known."""
    found: dict[str, Any] = {}
    if explanation.goal is not None:
        goal = explanation.goal
        entries = {key: getattr(goal, key) for key in sorted(_GOAL_KEYS - {"curve"})}
        numbers = {key: _number(entries[key]) for key in ("value", "bound", "total")}
        curve = [[_number(x) for x in step] for step in goal.curve]
        found["goal"] = entries | numbers | {"curve": curve}
    if explanation.leaves_for_all is not None:
        found["leaves_for_all"] = explanation.leaves_for_all
    return found


def _steps(steps: Iterable[Iterable[float]]) -> list[list[Any]]:
    return [[_number(x) for x in step] for step in steps]


def _has_nodes(explanation: "Explanation") -> bool:
    return explanation.node_codes is not None and explanation.node_counts.size <= 2 * MAX_COUNTS


def _nodes(explanation: "Explanation") -> dict[str, Any]:
    """Return the cluster that each node stands for, and the rows of every leaf by cluster, or their weight."""
    assert explanation.node_codes is not None
    assert explanation.node_noise is not None
    leaves, weights = explanation.tree.leaves, explanation.node_weights
    nodes = {
        "codes": explanation.node_codes.tolist(),
        "counts": explanation.leaf_counts.tolist(),
        "noise": explanation.node_noise[leaves].tolist(),
    }
    return nodes if weights is None else nodes | {"weights": weights[leaves].tolist()}


def _number(x: float) -> Any:
    """Return a number as stored in JSON: None for NaN, a text for infinity."""
    if isnan(x):
        return None
    return x if isfinite(x) else "inf"


def stored_model(text: str | bytes) -> dict[str, Any]:
    """Return the parts of the record that `to_json` wrote; anything else raises an error of one sentence."""
    return _stored(parsed(text))


def _stored(data: Any, *, is_state: bool = False) -> dict[str, Any]:
    """Return the parts of a record from its document; states within a journal do not have a journal."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise refusal(f'an object with "format": "{FORMAT}" is expected')
    version = data.get("version")
    if type(version) is int and version in _ADDED:
        data = dict.fromkeys(_ADDED[version]) | data | {"version": VERSION}
    elif type(version) is not int or version != VERSION:
        raise refusal(
            f"it has format version {quoted(version)}, but this spexplain reads versions "
            f"{', '.join(map(str, _ADDED))} and {VERSION}"
        )
    optional = {"training", "constraints", "told"} | (set() if is_state else {"edits", "rows"})
    if set(data) - optional != _KEYS:
        odd = (set(data) - optional) ^ _KEYS
        raise refusal(f"missing or unknown entries: {quoted_list(odd)}")
    try:
        tree = _tree(data["tree"])
        labels, purity = _leaves(data["reference"], tree.n_leaves)
        described = _described(data["columns"], tree)
        return {
            "tree": tree,
            "columns": names_from(data["feature_names"]),
            "described": described,
            "profile": read_seen(data["seen"], described, tree.n_features),
            "leaf_reference": labels,
            "leaf_purity": purity,
            "method": _string(data, "estimator"),
            "version": _string(data, "written_by"),
            **_read_constraints(data.get("constraints"), tree),
            **_read_telling_records(data.get("told"), tree.n_features),
            "journal": _read_journal(data.get("edits"), tree),
            "rows": _read_rows(data.get("rows"), described, tree),
        } | _read_training(data.get("training"), tree)
    except ValueError as error:
        raise refusal(str(error).rstrip(".")) from None


def _read_rows(
    data: Any, described: tuple[Column, ...] | None, tree: Tree
) -> dict[str, Any] | None:
    """Return the stored training rows; refuse impossible ones."""
    if data is None:
        return None
    _check_keys(data, _ROWS_KEYS, "rows")
    columns, codes, weights = data["values"], data["codes"], data["weights"]
    n_rows = int(tree.size[0])
    if not _is_list(columns, list, tree.n_features) or any(len(x) != n_rows for x in columns):
        raise ValueError(
            "values of rows must hold one list for every column, with a value for every row"
        )
    values = np.empty((n_rows, tree.n_features), order="F")
    for number, column in enumerate(columns):
        if any(x is not None and type(x) not in (int, float) for x in column):
            raise ValueError("values of rows must be numbers or null")
        values[:, number] = [nan if x is None else float(x) for x in column]
        field = Column("") if described is None else described[number]
        known = values[~np.isnan(values[:, number]), number]
        if field.kind == "category" and not (
            np.all(known == np.floor(known))
            and np.all((known >= 0) & (known < len(field.categories)))
        ):
            raise ValueError(
                "values of rows must hold the numbers of categories that the column has"
            )
    classes = _read_clusters(data["clusters"], "clusters of rows")
    n_classes = 0 if classes is None else len(classes)
    if (classes is None) != (codes is None) or (
        codes is not None
        and not (_is_list(codes, int, n_rows) and all(-1 <= code < n_classes for code in codes))
    ):
        raise ValueError("codes of rows must hold the number of a cluster, or -1, for every row")
    if weights is not None and not (
        isinstance(weights, list)
        and len(weights) == n_rows
        and all(type(x) in (int, float) and x >= 0 for x in weights)
    ):
        raise ValueError("weights of rows must hold a number of at least 0 for every row")
    ids = _read_clusters(data["ids"], "ids of rows")
    if ids is not None and len(ids) != n_rows:
        raise ValueError("ids of rows must hold a name for every row")
    return {
        "ids": ids,
        "values": values,
        "classes": classes,
        "codes": None if codes is None else np.array(codes, dtype=np.int64),
        "weights": None if weights is None else np.array(weights, dtype=np.float64),
    }


def _read_constraints(data: Any, tree: Tree) -> dict[str, Any]:
    """Return locked nodes and forbidden columns."""
    if data is None:
        return {}
    _check_keys(data, {"locked", "forbidden"}, "constraints")
    locked, forbidden = data["locked"], data["forbidden"]
    is_good = isinstance(locked, list) and isinstance(forbidden, dict)
    is_good = is_good and all(type(node) is int and 0 <= node < tree.n_nodes for node in locked)
    found: dict[int, frozenset[int]] = {}
    for key, columns in forbidden.items() if is_good else ():
        is_node = key.isascii() and key.isdigit() and int(key[:20]) < tree.n_nodes
        is_list = isinstance(columns, list) and all(
            type(each) is int and 0 <= each < tree.n_features for each in columns
        )
        is_good = is_good and is_node and is_list
        if is_good:
            found[int(key)] = frozenset(columns)
    if not is_good:
        raise ValueError("constraints must hold nodes of the tree and columns of the table")
    return {"locked": frozenset(locked), "forbidden": found}


def _read_journal(data: Any, tree: Tree) -> dict[str, Any] | None:
    """Return the edits and the states before and after them."""
    if data is None:
        return None
    _check_keys(data, {"position", "journal", "states"}, "edits")
    position, journal, states = data["position"], data["journal"], data["states"]
    is_good = (
        isinstance(journal, list)
        and _is_list(states, dict, len(journal))
        and type(position) is int
        and 0 <= position <= len(journal)
        and all(isinstance(each, dict) and set(each) == {"edit", "arguments"} for each in journal)
    )
    if not is_good or not all(
        isinstance(each["edit"], str) and isinstance(each["arguments"], dict) for each in journal
    ):
        raise ValueError(
            "edits must hold a position, and an edit and a state for each of its lines"
        )
    found = [_stored(state, is_state=True) for state in states]
    if any(state["tree"].n_features != tree.n_features for state in found):
        raise ValueError("edits must hold states of trees over the same columns")
    edits = [(each["edit"], each["arguments"]) for each in journal]
    return {"position": position, "edits": edits, "states": found}


def refusal(reason: str) -> ValueError:
    """Return the error for a text that is not a model."""
    return ValueError(f"text is not a spexplain model: {reason}.")


def _tree(data: Any) -> Tree:
    if not isinstance(data, dict):
        raise ValueError("tree must be an object")
    n_features, feature = data.get("n_features"), data.get("feature")
    if type(n_features) is int and isinstance(feature, list):
        check_size(n_features, (len(feature) + 1) // 2)
    tree = Tree.from_dict(data)
    check_depth(tree)
    if tree.size.min() < 0:
        raise ValueError("size of this tree must not be negative")
    return tree


def _described(data: Any, tree: Tree) -> tuple[Column, ...] | None:
    """Return what the columns hold; refuse tests of categories that no column has."""
    columns = None
    if data is not None:
        columns = read_columns(data, [f"x{number}" for number in range(tree.n_features)])
    for node, codes in tree.values.items():
        known = () if columns is None else columns[tree.feature[node]].categories
        if any(code >= len(known) for code in codes):
            raise ValueError("values of this tree must be codes of the categories of its columns")
    return columns


def read_columns(data: Any, names: Sequence[str]) -> tuple[Column, ...]:
    """Return what the columns hold; by default numbers."""
    if data is None:
        return as_columns(names)
    if not isinstance(data, list) or len(data) != len(names):
        raise ValueError("columns must be null or a list with one object per column")
    return tuple(_column(name, entries) for name, entries in zip(names, data, strict=True))


def _column(name: str, entries: Any) -> Column:
    """Return what one column holds."""
    if not isinstance(entries, dict) or not set(entries) <= set(_COLUMN_KEYS):
        raise ValueError(f"columns must hold objects with {', '.join(_COLUMN_KEYS)} only")
    kind, zone = entries.get("kind", "number"), entries.get("zone")
    categories, has_missing = entries.get("categories", []), entries.get("has_missing", False)
    if kind not in KINDS:
        raise ValueError(f"kind of a column must be one of {', '.join(KINDS)}")
    if type(has_missing) is not bool:
        raise ValueError("has_missing of a column must be true or false")
    if not isinstance(categories, list) or any(
        type_of_plain(type(each).__name__) is None for each in categories
    ):
        raise ValueError(
            "categories of a column must be a list of strings, numbers, true and false"
        )
    clock = entries.get("clock", False)
    if type(clock) is not bool or (clock and kind != "duration"):
        raise ValueError("clock must be true or false, and true only for a column of durations")
    column = Column(name, kind, tuple(categories), zone, has_missing, clock)
    if len(column.codes) != len(categories):
        raise ValueError("categories of a column must differ from each other")
    if categories and kind != "category":
        raise ValueError("only a column of kind category has categories")
    if zone is not None and (kind != "date" or not _is_zone(zone)):
        raise ValueError("zone of a column must be the time zone of a column of dates")
    return column


def read_seen(data: Any, described: tuple[Column, ...] | None, n_features: int) -> Profile | None:
    """Return the statistics of the columns over the training rows; refuse impossible ones."""
    if data is None:
        return None
    _check_keys(data, {"rows", "columns"}, "seen")
    if not _is_list([data["rows"]], int, 1) or data["rows"] < 0:
        raise ValueError("rows of seen must be a number of rows")
    if not isinstance(data["columns"], dict):
        raise ValueError("columns of seen must be an object")
    numbers = {str(number): number for number in range(n_features)}
    found = {}
    for name, entries in data["columns"].items():
        if name not in numbers:
            raise ValueError("columns of seen must be named by the numbers of columns")
        number = numbers[name]
        column = Column("") if described is None else described[number]
        found[number] = _read_column_profile(entries, column)
    return Profile(data["rows"], found)


def _read_column_profile(entries: Any, column: Column) -> ColumnProfile:
    _check_keys(entries, set(_SEEN_KEYS), "a column of seen")
    rows, missing, counts, quantiles, numbers_rows = (entries[key] for key in _SEEN_KEYS)
    is_good = (
        _is_list([rows, missing], int, 2)
        and 0 <= missing <= rows
        and isinstance(counts, list)
        and _is_list(counts, int, len(counts))
        and all(0 <= count <= rows - missing for count in counts)
        and sum(counts) <= rows - missing
        and type(numbers_rows) is bool
    )
    if not is_good:
        raise ValueError("a column of seen must hold numbers of rows that fit together")
    if not isinstance(quantiles, list) or any(type(x) not in (int, float) for x in quantiles):
        raise ValueError("quantiles of seen must be numbers")
    values = tuple(map(float, quantiles))
    is_category = column.kind == "category"
    if len(values) not in ((0,) if is_category else (0, len(QUANTILE_SHARES))) or any(
        low > high for low, high in pairwise(values)
    ):
        raise ValueError("quantiles of seen must rise from the least to the greatest value")
    n_counts = len(column.categories) if is_category else len(borders_of(values)) + 1
    if len(counts) != n_counts:
        raise ValueError("counts of seen must hold one number for every category or bin")
    return ColumnProfile(rows, missing, tuple(counts), values, numbers_rows)


def _is_zone(zone: Any) -> bool:
    try:
        return isinstance(zone, str) and zone_info(zone) is not None
    except (ValueError, OSError, KeyError):  # zones that are not found are a KeyError
        return False


def _read_training(data: Any, tree: Tree) -> dict[str, Any]:
    """Return the parts of the record that stand in the entry "training"."""
    if data is None:
        return {"grown": None, "steps": None, "own_steps": None}
    search = {}
    if isinstance(data, dict):
        search = {key: data[key] for key in _SEARCH_KEYS & set(data)}
        data = {key: data[key] for key in data if key not in search}
    _check_keys(data, _TRAINING_KEYS, "training")
    found: dict[str, Any] = {"is_refined": data["refined"] is True} | _read_search(search)
    if data["refined"] not in (True, None):
        raise ValueError("refined of training must be true or null")
    if data["columns"] is not None:
        if not _is_list(data["columns"], int, tree.n_features):
            raise ValueError("columns of training must be null or one integer per column")
        found["columns"] = tuple(data["columns"])
    classes = _read_clusters(data["clusters"])
    if (classes is None) != (data["nodes"] is None):
        raise ValueError("clusters and nodes of training belong together")
    if classes is not None:
        found |= {"classes": classes} | _read_nodes(data["nodes"], tree, len(classes))
    found["scales"] = _read_scales(data["scales"], tree)
    parameters = data["parameters"]
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ValueError("parameters of training must be null or an object")
    found["parameters"] = {} if parameters is None else parameters
    found["grown"] = _read_grown(data["grown"], tree, classes)
    whole = tree if found["grown"] is None else found["grown"]["tree"]
    found["steps"] = _read_steps("path", data["path"], tree, whole)
    found["own_steps"] = _read_steps("trees", data["trees"], tree, tree)
    return found


def _read_search(data: dict[str, Any]) -> dict[str, Any]:
    """Return the goal of the search for the tree, as `_search` wrote it."""
    found: dict[str, Any] = {}
    if "leaves_for_all" in data:
        found["leaves_for_all"] = data["leaves_for_all"]
        if not _is_size(data["leaves_for_all"]):
            raise ValueError("leaves_for_all of training must be a positive integer")
    if "goal" in data:
        goal = data["goal"]
        _check_keys(goal, _GOAL_KEYS, "goal of training")
        if goal["name"] not in GOALS or type(goal["optimal"]) is not bool:
            raise ValueError(
                f"goal of training must have one of the names {', '.join(GOALS)}, and be optimal or not"
            )
        if goal["max_depth"] is not None and not _is_size(goal["max_depth"]):
            raise ValueError("max_depth of a goal must be null or a positive integer")
        if not isinstance(goal["curve"], list) or not all(map(_is_size_step, goal["curve"])):
            raise ValueError("curve of a goal must hold lists of its five entries a size")
        numbers = {key: _read_number(goal[key]) for key in ("value", "bound", "total")}
        curve = tuple(
            SizeStep(int(n), _read_number(value), _read_number(bound), optimal, int(n_lost))
            for n, value, bound, optimal, n_lost in goal["curve"]
        )
        found["goal"] = GoalRecord(**(goal | numbers | {"curve": curve}))
    return found


def _is_size(x: Any) -> bool:
    return type(x) is int and 0 < x < 2**31


def _is_size_step(step: Any) -> bool:
    return (
        isinstance(step, list)
        and len(step) == len(SizeStep._fields)
        and _is_size(step[0])
        and type(step[3]) is bool
        and (step[4] == 0 or _is_size(step[4]))
    )


def _check_keys(data: Any, keys: set[str], name: str) -> None:
    if not isinstance(data, dict) or set(data) != keys:
        raise ValueError(f"{name} must be null, or hold exactly {', '.join(sorted(keys))}")


def _is_list(data: Any, kind: type, length: int) -> bool:
    return (
        isinstance(data, list)
        and len(data) == length
        and all(type(each) is kind for each in data)
        and (kind is not int or all(abs(each) < 2**62 for each in data))
    )


def _read_clusters(data: Any, where: str = "clusters of training") -> Any:
    if data is None:
        return None
    _check_keys(data, {"type", "labels"}, where)
    return labels_from(data["type"], data["labels"], where)


def _read_nodes(data: Any, tree: Tree, n_clusters: int) -> dict[str, Any]:
    """Return the clusters that nodes stand for, and their counts, from those of the leaves."""
    is_weighted = isinstance(data, dict) and "weights" in data
    _check_keys(data, _NODE_KEYS | ({"weights"} if is_weighted else set()), "nodes of training")
    codes, counts, noise = data["codes"], data["counts"], data["noise"]
    weights = data["weights"] if is_weighted else tree.size[tree.leaves].tolist()
    is_good = (
        _is_list(codes, int, tree.n_nodes)
        and all(-1 <= code < n_clusters for code in codes)
        and _is_list(counts, list, tree.n_leaves)
        and all(len(row) == n_clusters for row in counts)
        and all(_are_amounts(row, is_weighted=is_weighted) for row in (*counts, noise, weights))
        and len(noise) == len(weights) == tree.n_leaves
    )
    if not is_good:
        raise ValueError("nodes of training must hold a code per node, and rows per leaf")
    table = _amounts(counts).reshape(tree.n_leaves, n_clusters)
    beside, totals = _amounts(noise), _amounts(weights)
    margin = _WEIGHED * totals if is_weighted else 0
    if np.any(np.abs(table.sum(axis=1) + beside - totals) > margin):
        raise ValueError("counts and noise of training must add up to the sizes of the leaves")
    found = {
        "node_codes": np.array(codes, dtype=np.int64),
        "node_counts": tree.totals(table),
        "node_noise": tree.totals(beside),
    }
    return found if not is_weighted else found | {"node_weights": tree.totals(totals)}


def _are_amounts(data: Any, *, is_weighted: bool) -> bool:
    """Whether a list holds rows of leaves, or their weight."""
    kinds = (int, float) if is_weighted else (int,)
    most = {int: 2**62, float: inf}
    return isinstance(data, list) and all(type(x) in kinds and 0 <= x < most[type(x)] for x in data)


def _amounts(data: list[Any]) -> Array:
    """Return rows of leaves as integers, and weights that are not whole as floats."""
    found = np.array(data)
    return found if found.dtype.kind == "f" and found.size else found.astype(np.int64)


def _read_scales(data: Any, tree: Tree) -> Any:
    if data is None:
        return None
    used = np.unique(tree.feature[tree.feature >= 0])
    if not isinstance(data, list) or len(data) != len(used):
        raise ValueError("scales of training must be null or one number per tested column")
    scales = np.full(tree.n_features, np.nan)
    scales[used] = [_read_number(each) for each in data]
    return scales


def _read_number(x: Any) -> float:
    if x is None or x == "inf":
        return nan if x is None else inf
    if type(x) not in (int, float):
        raise ValueError("path and scales of training must hold numbers")
    return float(x)


def _read_grown(data: Any, tree: Tree, classes: Any) -> dict[str, Any] | None:
    if data is None:
        return None
    _check_keys(data, {"tree", "nodes"}, "grown of training")
    grown = _tree(data["tree"])
    if grown.n_features != tree.n_features or grown.n_leaves < tree.n_leaves:
        raise ValueError("grown of training must be as large as the tree")
    found: dict[str, Any] = {"tree": grown}
    if classes is not None and data["nodes"] is not None:
        found |= {"classes": classes} | _read_nodes(data["nodes"], grown, len(classes))
    return found


def _read_steps(name: str, data: Any, tree: Tree, whole: Tree) -> list[list[Any]] | None:
    if data is None:
        return None
    is_good = isinstance(data, list) and tree.n_leaves <= len(data) <= whole.n_leaves
    steps = []
    for at, step in enumerate(data if is_good else [None], 1):
        if not (isinstance(step, list) and len(step) == 7 and step[0] == at):
            raise ValueError(f"{name} of training must hold a step per number of leaves")
        if type(step[0]) is not int or type(step[5]) is not int:
            raise ValueError(f"{name} of training must hold whole numbers of leaves and depths")
        numbers = [_read_number(each) for each in step]
        steps.append([step[0], *numbers[1:5], step[5], numbers[6]])
    return steps


def check_size(n_features: int, n_leaves: int) -> None:
    """Refuse what is too large for JSON."""
    if n_features > MAX_COLUMNS or n_leaves > MAX_LEAVES:
        raise ValueError(
            f"A tree of {n_features} columns and {n_leaves} leaves is too large for JSON "
            f"(at most {MAX_COLUMNS} columns and {MAX_LEAVES} leaves)."
        )


def check_depth(tree: Tree) -> None:
    """Refuse a tree that is too deep for JSON."""
    if tree.depth > MAX_DEPTH:
        raise ValueError(
            f"A tree of {tree.depth:,} levels is too deep for JSON (at most {MAX_DEPTH:,}); grow it with max_depth."
        )


def parsed(text: Any) -> Any:
    """Return the JSON value of a text; stricter than Python's parser."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be a string of JSON, got {type(text).__name__}.")
    if len(text) > MAX_CHARACTERS:
        raise refusal(f"it is longer than {MAX_CHARACTERS} characters")
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        if _n_values(decoded) > _MAX_VALUES:
            raise ValueError(f"it holds more than {_MAX_VALUES} values")
        return json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_float=_float,
            parse_int=_int,
            parse_constant=_constant,
        )
    except RecursionError:
        raise refusal("it is nested too deeply") from None
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are such
        raise refusal(str(error).rstrip(".")) from None


def _n_values(text: str) -> int:
    """Return how many values a text separates or opens, outside of strings: each takes memory once parsed."""
    if len(text) < _FEW:
        return 0
    # Pairs of backslashes first: a backslash left before a quote then escapes it.
    bare = text.replace("\\\\", "").replace('\\"', "")
    count, is_inside = 0, False
    for start in range(0, len(bare), _BLOCK):
        codes = np.frombuffer(
            bare[start : start + _BLOCK].encode("utf-32-le", "surrogatepass"), "<u4"
        )
        inside = np.logical_xor.accumulate(np.append(is_inside, codes == _QUOTE))[1:]
        count += int(np.count_nonzero(np.isin(codes, _SEPARATORS) & ~inside))
        is_inside = bool(inside[-1])
    return count


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an entry occurs twice")
    return dict(pairs)


def _float(text: str) -> float:
    if not isfinite(float(text)):
        raise ValueError(f"the number {text[:40]} is too large")
    return float(text)


def _int(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"the number {text[:40]} is too large")
    return int(text)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _string(data: dict[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise ValueError(f"{key} must be a string")
    return str(data[key])


def names_from(names: Any) -> tuple[str, ...] | None:
    """Return the names of columns, if there are any."""
    if names is not None and not isinstance(names, list):
        raise ValueError("feature_names must be a list of strings or null")
    if names is not None and not all(isinstance(each, str) for each in names):
        raise ValueError("feature_names must hold strings only")
    return None if names is None else tuple(names)


def _leaves(reference: Any, n_leaves: int) -> tuple[Any, Any]:
    """Return the reference labels of the leaves and their purities."""
    if reference is None:
        return None, None
    if not isinstance(reference, dict) or set(reference) != {"type", "labels", "purity"}:
        raise ValueError("reference must be null, or hold exactly type, labels and purity")
    purity = reference["purity"]
    values = labels_from(reference["type"], reference["labels"], "reference")
    if purity is not None and not (
        isinstance(purity, list)
        and all(type(each) in (int, float) and 0 <= each <= 1 for each in purity)
    ):
        raise ValueError("purity of reference must be null or a list of numbers from 0 to 1")
    if len(values) != n_leaves:
        raise ValueError(f"reference must hold one label for each of the {n_leaves} leaves")
    return values, None if purity is None else np.array(purity, dtype=np.float64)


def labels_from(kind: Any, labels: Any, name: str) -> Any:
    """Return labels of one plain type as an array."""
    wanted = type_of_plain(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise ValueError(f"type of {name} must be str, int, float or bool")
    if not isinstance(labels, list) or any(type(each) is not wanted for each in labels):
        raise ValueError(f"labels of {name} must be a list of type {kind}")
    try:
        return label_array(kind, labels)
    except OverflowError:
        raise ValueError(f"labels of {name} hold an integer that is too large") from None
