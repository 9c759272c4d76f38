"""The model as JSON: versioned, exact to the last bit, and read without trust."""

import json
from math import isfinite
from typing import Any

import numpy as np

from spexplain.exceptions import quoted, quoted_list
from spexplain.export.labels import label_array, plain_labels, type_of_plain
from spexplain.export.model import Model
from spexplain.tree import Tree

FORMAT = "spexplain.model"
VERSION = 1
# Far beyond any tree that explains something; what is larger is a mistake or an attack.
MAX_CHARACTERS = 64_000_000
MAX_COLUMNS = 1_000_000
MAX_LEAVES = 100_000
# Values of the largest model: names, eight arrays over the nodes, labels and purities.
_MAX_VALUES = MAX_COLUMNS + 8 * 2 * MAX_LEAVES + 2 * MAX_LEAVES + 100
_FEW = 100_000  # characters whose values need no counting
_BLOCK = 1 << 20  # characters that are counted at a time

_KEYS = {
    "format",
    "version",
    "written_by",
    "estimator",
    "feature_names",
    "reference",
    "tree",
}
_QUOTE, _SEPARATORS = ord('"'), [ord(each) for each in ",[{"]
_LONGEST_INTEGER = 20  # digits and sign of an int64


def to_json(model: Model) -> str:
    """Return the model as JSON text, one line an entry.

    Parameters
    ----------
    model : Model
        What is exported. Reference labels must be strings, integers (int64), finite floats or
        booleans.

    Returns
    -------
    text : str
        ASCII; `from_json` reads it back with every float unchanged.

    Examples
    --------
    >>> from spexplain.export import Model, from_json, to_json
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.1, sizes=(4, 6))
    >>> text = to_json(Model(tree, ("width",)))
    >>> from_json(text).tree_ == tree
    True
    """
    tree = model.tree
    _check_size(tree.n_features, tree.n_leaves)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": model.version,
        "estimator": model.kind,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "reference": _reference(model),
        "tree": tree.to_dict(),
    }
    lines = (f"{json.dumps(key)}: {_dumped(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dumped(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _reference(model: Model) -> dict[str, Any] | None:
    if model.leaf_reference is None:
        return None
    plain = plain_labels(model.leaf_reference)
    if plain is None:
        raise ValueError(
            f"The reference labels (dtype {model.leaf_reference.dtype}) are no strings, int64 integers, "
            "finite floats or booleans, which is what JSON can hold; fit with such labels."
        )
    purity = None if model.leaf_purity is None else np.asarray(model.leaf_purity).tolist()
    return {"type": plain[0], "labels": plain[1], "purity": purity}


def model_from_json(text: str | bytes) -> Model:
    """Return the model that `to_json` described; anything else is refused in one sentence."""
    data = _parsed(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _refusal(f'an object with "format": "{FORMAT}" is expected')
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise _refusal(
            f"it has format version {quoted(data.get('version'))}, but this spexplain reads version {VERSION}"
        )
    if set(data) != _KEYS:
        raise _refusal(f"missing or unknown entries: {quoted_list(set(data) ^ _KEYS)}")
    if not isinstance(data["tree"], dict):
        raise _refusal("tree must be an object")
    n_features, feature = data["tree"].get("n_features"), data["tree"].get("feature")
    try:
        if type(n_features) is int and isinstance(feature, list):
            _check_size(n_features, (len(feature) + 1) // 2)
        tree = Tree.from_dict(data["tree"])
        if tree.size.min() < 0:
            raise ValueError("size of this tree must not be negative")
        labels, purity = _leaves(data["reference"], tree.n_leaves)
        return Model(
            tree=tree,
            feature_names=_names(data["feature_names"]),
            leaf_reference=labels,
            leaf_purity=purity,
            kind=_string(data, "estimator"),
            version=_string(data, "written_by"),
        )
    except ValueError as error:
        raise _refusal(str(error).rstrip(".")) from None


def _refusal(reason: str) -> ValueError:
    return ValueError(f"text is not a spexplain model: {reason}.")


def _check_size(n_features: int, n_leaves: int) -> None:
    if n_features > MAX_COLUMNS or n_leaves > MAX_LEAVES:
        raise ValueError(
            f"A tree of {n_features} columns and {n_leaves} leaves is too large for JSON "
            f"(at most {MAX_COLUMNS} columns and {MAX_LEAVES} leaves)."
        )


def _parsed(text: Any) -> Any:
    """Return the JSON value of a text; strict where Python's parser is lenient."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be a string of JSON, got {type(text).__name__}.")
    if len(text) > MAX_CHARACTERS:
        raise _refusal(f"it is longer than {MAX_CHARACTERS} characters")
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
        raise _refusal("it is nested too deeply") from None
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are such
        raise _refusal(str(error).rstrip(".")) from None


def _n_values(text: str) -> int:
    """Return how many values a text separates or opens, outside of strings: each takes memory once parsed."""
    if len(text) < _FEW:
        return 0
    # Pairs of backslashes first: what then stands before a quote hides it.
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
    raise ValueError(f"{text} is no JSON number")


def _string(data: dict[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise ValueError(f"{key} must be a string")
    return str(data[key])


def _names(names: Any) -> tuple[str, ...] | None:
    if names is not None and not isinstance(names, list):
        raise ValueError("feature_names must be a list of strings or null")
    return None if names is None else tuple(names)


def _leaves(reference: Any, n_leaves: int) -> tuple[Any, Any]:
    """Return the reference labels of the leaves and their purities."""
    if reference is None:
        return None, None
    if not isinstance(reference, dict) or set(reference) != {"type", "labels", "purity"}:
        raise ValueError("reference must be null, or hold exactly type, labels and purity")
    kind, labels, purity = reference["type"], reference["labels"], reference["purity"]
    wanted = type_of_plain(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise ValueError("type of reference must be str, int, float or bool")
    if not isinstance(labels, list) or any(type(each) is not wanted for each in labels):
        raise ValueError(f"labels of reference must be a list of type {kind}")
    if purity is not None and not (
        isinstance(purity, list)
        and all(type(each) in (int, float) and 0 <= each <= 1 for each in purity)
    ):
        raise ValueError("purity of reference must be null or a list of numbers from 0 to 1")
    if len(labels) != n_leaves:
        raise ValueError(f"reference must hold one label for each of the {n_leaves} leaves")
    try:
        values = label_array(kind, labels)
    except OverflowError:
        raise ValueError("labels of reference hold an integer that is too large") from None
    return values, None if purity is None else np.array(purity, dtype=np.float64)
