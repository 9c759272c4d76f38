"""Speed of growing trees, beside scikit-learn's CART and NumPy's argsort in the same run.

    python benchmarks/run.py [--quick]

Times are medians; the reference labels or the graph are given, so only the tree is measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from data import Case, embeddings, iris, mixture
from machine import (
    RESULTS,
    best_in_turns,
    compile_bytecode,
    describe,
    peak_extra_bytes,
    save,
    seconds,
    table,
)

N_JOBS = -1
SMALL = [(1_000, 10), (5_000, 20), (10_000, 20), (49_000, 20)]


def methods(case: Case, graph: Any) -> dict[str, Callable[[], Any]]:
    """Return one fit per method; each answers for the tree stage only."""
    from spexplain import CART, EMN, IMM, ExKMC, SpexClique, SpexGraph

    X, y, n_leaves = case.X, case.labels, case.n_leaves
    # CART without weights of leaves, as in the paper: figures stay comparable with earlier ones.
    fits = {
        "SpexClique": lambda: SpexClique(n_jobs=N_JOBS).fit(X, y),
        "CART": lambda: CART(leaf_weight="none", n_jobs=N_JOBS).fit(X, y),
    }
    if graph is not None:
        fits |= {
            "SpexKNN, graph given": lambda: SpexGraph(n_leaves, graph=graph, n_jobs=N_JOBS).fit(X),
            "IMM": lambda: IMM(n_jobs=N_JOBS).fit(X, y),
            "EMN": lambda: EMN(n_jobs=N_JOBS).fit(X, y),
            "ExKMC, 2k leaves": lambda: ExKMC(n_leaves=2 * n_leaves, n_jobs=N_JOBS).fit(X, y),
        }
    return fits


def measure(
    case: Case, *, runs: int, slow_runs: int, graph: Any = None
) -> Iterator[dict[str, Any]]:
    """Yield a record per method on one table, with both competitors measured beside."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = case.X, case.labels
    rival = DecisionTreeClassifier(max_leaf_nodes=case.n_leaves, random_state=0)
    rival_seconds = seconds(lambda: rival.fit(X, y), slow_runs)
    sort_seconds = seconds(lambda: np.argsort(X, axis=0), slow_runs)
    for method, fit in methods(case, graph).items():
        fit()  # compiles
        record = {
            "case": case.name,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "leaves": case.n_leaves,
            "method": method,
            "seconds": seconds(fit, runs),
            "sklearn_seconds": rival_seconds,
            "argsort_seconds": sort_seconds,
            "extra_over_table": peak_extra_bytes(fit) / X.nbytes,
            "refined_share": refined_share(method, case, graph),
        }
        print(as_row(record), flush=True)
        yield record


def refined_share(method: str, case: Case, graph: Any) -> float | None:
    """Return the share of all bins of all nodes that had to be looked at closely."""
    from spexplain.engines.histogram import HistogramEngine
    from spexplain.graphs import CliqueGraph
    from spexplain.grow import grow
    from spexplain.objectives import gini_cart, spex

    objectives = {
        "SpexClique": lambda: spex(CliqueGraph.from_labels(case.labels)),
        "CART": lambda: gini_cart(CliqueGraph.from_labels(case.labels), "none"),
        "SpexKNN, graph given": lambda: spex(graph),
    }
    if method not in objectives:
        return None
    search = HistogramEngine(n_jobs=N_JOBS).bind(case.X, objectives[method]())
    grow(search, max_leaves=case.n_leaves)
    return search.n_refined / max(search.n_bounded, 1)


HEADER = [
    "table", "method", "seconds", "scikit-learn CART", "argsort", "CART / ours", "ours / argsort",
    "extra memory / X", "bins refined",
]  # fmt: skip


def as_row(record: dict[str, Any]) -> list[str]:
    """Return a record as the cells of a Markdown row."""
    refined = record["refined_share"]
    return [
        record["case"],
        record["method"],
        f"{record['seconds']:.3f}",
        f"{record['sklearn_seconds']:.2f}",
        f"{record['argsort_seconds']:.3f}",
        f"{record['sklearn_seconds'] / record['seconds']:.1f}",
        f"{record['seconds'] / record['argsort_seconds']:.2f}",
        f"{record['extra_over_table']:.2f}",
        "" if refined is None else f"{refined:.1%}",
    ]


def doubling(quick: bool) -> list[dict[str, Any]]:
    """Return the times of SpexClique as rows or columns double, and with more clusters."""
    from spexplain import SpexClique

    base_n, base_d = (4_000, 64) if quick else (15_000, 128)
    series = {
        "rows": [(base_n * 2**i, base_d, 10) for i in range(4)],
        "columns": [(base_n, base_d * 2**i, 10) for i in range(3)],
        "clusters": [(base_n, base_d, 10), (base_n, base_d, 100)],
    }
    records = []
    for name, sizes in series.items():
        for n, d, k in sizes:
            case = mixture(n, d, k)
            explainer = SpexClique(n_jobs=N_JOBS, engine="histogram")
            explainer.fit(case.X, case.labels)
            spent = seconds(lambda: explainer.fit(case.X, case.labels), 5)  # noqa: B023
            records.append(
                {"series": name, "rows": n, "columns": d, "clusters": k, "seconds": spent}
            )
            print(records[-1], flush=True)
    return records


def refinement(quick: bool) -> dict[str, float]:
    """Return the time of one pass of refinement beside the growth of the tree."""
    from spexplain import SpexClique

    case = mixture(4_000, 64) if quick else mixture(60_000, 512)
    plain = SpexClique(n_jobs=N_JOBS)
    once = SpexClique(n_jobs=N_JOBS, refine="agreement", refine_passes=1)
    for explainer in (plain, once):
        explainer.fit(case.X, case.labels)
    growth = seconds(lambda: plain.fit(case.X, case.labels), 3)
    both = seconds(lambda: once.fit(case.X, case.labels), 3)
    return {"growth_seconds": growth, "pass_seconds": both - growth}


def best_tree(quick: bool) -> dict[str, float]:
    """Return the time of `BestTree` beside scikit-learn's tree of as many leaves, and the rows that both put right."""
    from sklearn.tree import DecisionTreeClassifier

    from spexplain import BestTree

    case = mixture(4_000, 64) if quick else mixture(60_000, 512)
    best = BestTree(n_leaves=case.n_leaves, n_jobs=N_JOBS)
    usual = DecisionTreeClassifier(max_leaf_nodes=case.n_leaves, random_state=0)
    small = mixture(2_000, 64)
    best.fit(small.X, small.labels)  # what is compiled is compiled before
    return {
        "seconds": seconds(lambda: best.fit(case.X, case.labels), 1),
        "sklearn_seconds": seconds(lambda: usual.fit(case.X, case.labels), 1),
        "fidelity": float(best.score(case.X, case.labels)),
        "sklearn_fidelity": float(usual.score(case.X, case.labels)),
    }


def small_tables(quick: bool) -> list[dict[str, Any]]:
    """Return the times of small tables in a process that has compiled code already, beside scikit-learn's."""
    from sklearn.tree import DecisionTreeClassifier

    from spexplain import SpexClique

    first = mixture(20_000, 20)
    SpexClique(engine="histogram").fit(first.X, first.labels)  # compiles
    records = []
    for n, d in [(1_000, 10), (5_000, 20)] if quick else SMALL:
        case = mixture(n, d)
        X, y = case.X.astype(np.float64), case.labels
        ours, rival = best_in_turns(
            [
                lambda: SpexClique().fit(X, y),  # noqa: B023
                lambda: DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(X, y),  # noqa: B023
            ],
            max(5, 200_000 // n),
        )
        records.append({"rows": n, "columns": d, "seconds": ours, "sklearn_seconds": rival})
        print(records[-1], flush=True)
    return records


def missing_over_plain(case: Case, runs: int) -> float:
    """Return the time of a fit to a table that lacks 5 % of its values, in all columns, over that of the whole one."""
    from spexplain import SpexClique

    rng, gaps = np.random.default_rng(0), case.X.copy()
    for column in gaps.T:
        column[rng.random(len(gaps)) < 0.05] = np.nan
    for X in (case.X, gaps):
        SpexClique(n_jobs=N_JOBS, engine="histogram").fit(X, case.labels)  # compiles
    plain, missing = best_in_turns(
        [
            lambda: SpexClique(n_jobs=N_JOBS).fit(case.X, case.labels),
            lambda: SpexClique(n_jobs=N_JOBS).fit(gaps, case.labels),
        ],
        runs,
    )
    return missing / plain


def shares(quick: bool) -> dict[str, float]:
    """Return what missing values, one processor and a report cost beside a plain fit."""
    from spexplain import SpexClique

    middle = mixture(4_000, 64) if quick else mixture(20_000, 128)
    large = middle if quick else mixture(60_000, 512)
    one, all_ = best_in_turns(
        [
            lambda: SpexClique(n_jobs=1).fit(large.X, large.labels),
            lambda: SpexClique(n_jobs=N_JOBS).fit(large.X, large.labels),
        ],
        5,
    )
    many = SpexClique(n_leaves=30, n_jobs=N_JOBS)
    with tempfile.TemporaryDirectory() as folder:

        def report() -> None:
            many.report(f"{folder}/report.html")

        many.fit(large.X, large.labels)
        report()  # loads and compiles
        fit, told = [], []
        for _ in range(3):  # what a report computes is kept with the fit
            fit.append(seconds(lambda: many.fit(large.X, large.labels), 1))
            told.append(seconds(report, 1))
        many.fit(large.X, large.labels)
        extra = peak_extra_bytes(report) / large.X.nbytes
    return {
        "missing_over_plain": missing_over_plain(middle, 9),
        "missing_over_plain_large": missing_over_plain(large, 5),
        "one_over_all_processors": one / all_,
        "fit_of_30_leaves_seconds": min(fit),
        "report_seconds": min(told),
        "report_over_fit": min(told) / min(fit),
        "report_extra_over_table": extra,
    }


def neighbors(quick: bool) -> dict[str, float] | None:
    """Return the least seconds of the exact search for 20 neighbours, beside faiss's flat index on the same threads."""
    try:
        import faiss
    except ImportError:
        return None
    from spexplain.graphs import nearest_neighbors
    from spexplain.graphs.neighbors import standardized

    points = standardized(mixture(12_000 if quick else 100_000, 20).X)
    faiss.omp_set_num_threads(os.cpu_count() or 1)

    def flat() -> None:
        near = points.astype(np.float32)
        index = faiss.IndexFlatL2(near.shape[1])
        index.add(near)
        index.search(near, 21)

    nearest_neighbors(points[:11_000], 20, n_jobs=N_JOBS)  # compiles
    ours, theirs = best_in_turns([lambda: nearest_neighbors(points, 20, n_jobs=N_JOBS), flat], 3)
    return {"rows": len(points), "seconds": ours, "faiss_seconds": theirs}


_IMPORTS = "import sklearn.tree; from sklearn.datasets import load_iris; iris = load_iris()"
_IRIS = "from spexplain import SpexClique; SpexClique().fit(iris.data, iris.target)"
_LARGE = (
    "import numpy as np; from spexplain import SpexClique; rng = np.random.default_rng(0); "
    "SpexClique(engine='histogram').fit(rng.normal(size=(5000, 50)), rng.integers(0, 5, 5000))"
)


_CPU = f"""
import time
import numpy as np
from spexplain import SpexClique
start = time.process_time()
{_LARGE}
print(time.process_time() - start)
"""


_BEST = f"""
{_IMPORTS}
import time
from spexplain import BestTree
start = time.perf_counter()
BestTree(3).fit(iris.data, iris.target)
print(time.perf_counter() - start)
"""


def told(code: str, cache: str) -> float:
    """Return the number that a process of its own prints, with compiled code in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, check=True, env=environment, capture_output=True).stdout)


def cold_cpu_seconds(runs: int = 3) -> float:
    """Return the processor time of the first compiled fit with an empty cache, the import of Numba included."""
    times = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            times.append(told(_CPU, cache))
    return min(times)


def latency() -> dict[str, float]:
    """Return the seconds of whole processes: imports only, a small fit, a compiled fit cold and warm."""
    compile_bytecode()

    def process(code: str, cache: str) -> float:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        return seconds(
            lambda: subprocess.run([sys.executable, "-c", code], check=True, env=environment), 1
        )

    codes = {
        "imports_of_sklearn": _IMPORTS,
        "iris": f"{_IMPORTS}; {_IRIS}",
        "compiled_warm": _LARGE,
    }
    with tempfile.TemporaryDirectory() as cache:
        cold = process(_LARGE, cache)
        # In turn, so that whatever slows the machine for a while slows all of them.
        rounds = [[process(code, cache) for code in codes.values()] for _ in range(9)]
        best_tree = min(told(_BEST, cache) for _ in range(9))
    medians = dict(zip(codes, map(float, np.median(rounds, axis=0)), strict=True))
    least = dict(zip(codes, map(float, np.min(rounds, axis=0)), strict=True))
    return medians | {
        "compiled_cold": cold,
        "iris_over_imports": least["iris"] - least["imports_of_sklearn"],
        "compiled_cold_cpu": cold_cpu_seconds(),
        "iris_best_tree": best_tree,  # the fit alone
    }


def plot_doubling(records: list[dict[str, Any]]) -> None:
    """Draw time against rows, beside scikit-learn and argsort on the same tables."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from sklearn.tree import DecisionTreeClassifier

    rows = [record for record in records if record["series"] == "rows"]
    sizes = [record["rows"] for record in rows]
    rivals, sorts = [], []
    for record in rows:
        case = mixture(record["rows"], record["columns"], record["clusters"])
        rival = DecisionTreeClassifier(max_leaf_nodes=case.n_leaves, random_state=0)
        rivals.append(seconds(lambda: rival.fit(case.X, case.labels), 1))  # noqa: B023
        sorts.append(seconds(lambda: np.argsort(case.X, axis=0), 1))  # noqa: B023
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.loglog(sizes, rivals, "s--", color="#d55e00", label="scikit-learn DecisionTreeClassifier")
    axes.loglog(sizes, sorts, "^:", color="#999999", label="numpy.argsort(X, axis=0)")
    axes.loglog(
        sizes, [record["seconds"] for record in rows], "o-", color="#0072b2", label="SpexClique"
    )
    axes.set(xlabel="rows", ylabel="seconds", title=f"{rows[0]['columns']} columns, 10 leaves")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(RESULTS / "speed.png", dpi=150)


def trees(quick: bool) -> list[dict[str, Any]]:
    """Return the times of all methods on all tables."""
    from spexplain.graphs import knn_graph

    records = list(measure(iris(), runs=20, slow_runs=20))
    middle = mixture(4_000, 64) if quick else mixture(20_000, 128)
    graph = knn_graph(middle.X, 20, n_jobs=N_JOBS)
    records += measure(middle, runs=5, slow_runs=3, graph=graph)
    if not quick:
        for case in embeddings():
            records += measure(case, runs=3, slow_runs=1)
        records += measure(mixture(60_000, 512), runs=3, slow_runs=1)
    return records


PARTS: dict[str, Callable[[bool], Any]] = {
    "trees": trees,
    "doubling": doubling,
    "small": small_tables,
    "shares": shares,
    "refinement": refinement,
    "best": best_tree,
    "neighbors": neighbors,
    "latency": lambda quick: latency(),
}


def main() -> None:
    """Measure everything, print it, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables only, nothing written")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        help="measured anew; others are kept",
    )
    given = parser.parse_args()
    measured = {part: PARTS[part](given.quick) for part in given.parts}
    print(json.dumps({part: measured[part] for part in measured if part != "trees"}, indent=1))
    if not given.quick:
        kept = (
            {} if len(measured) == len(PARTS) else json.loads((RESULTS / "speed.json").read_text())
        )
        results = kept | {"machine": describe(), "command": "make bench"} | measured
        plot_doubling(results["doubling"])
        save("speed", results, markdown(results))


def markdown(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    series = [
        [each["series"], f"{each['rows']:,}", str(each["columns"]), str(each["clusters"]), f"{each['seconds']:.3f}"]
        for each in results["doubling"]
    ]  # fmt: skip
    refined, waits, of_fit = results["refinement"], results["latency"], results["shares"]
    best = results["best"]
    small = [
        [
            f"{each['rows']:,}×{each['columns']}",
            f"{1e3 * each['seconds']:.1f}",
            f"{1e3 * each['sklearn_seconds']:.1f}",
            f"{each['sklearn_seconds'] / each['seconds']:.1f}",
        ]
        for each in results["small"]
    ]
    # Where another one takes a processor away, what runs on all of them looks slower than it is.
    is_shared = of_fit["one_over_all_processors"] < 1.2
    alone = " (the machine gave hardly more than one in this run)" if is_shared else ""
    near, searched = results["neighbors"], "faiss is not installed."
    if near is not None:
        searched = (
            f"{near['seconds']:.2f} s, faiss's flat index {near['faiss_seconds']:.2f} s on the same threads "
            f"({near['faiss_seconds'] / near['seconds']:.1f} ×); the neighbours are exact to ten digits."
        )
    return "\n".join(
        [
            "# Speed",
            "",
            f"Made by `{results['command']}`. {machine}.",
            "",
            "Medians; labels or graph given; all processors. Competitors ran in the same process on the same tables.",
            "",
            table(HEADER, [as_row(record) for record in results["trees"]]),
            "",
            "![Time against rows](speed.png)",
            "",
            "## Doubling (SpexClique)",
            "",
            table(["series", "rows", "columns", "clusters", "seconds"], series),
            "",
            "## Small tables (SpexClique, 10 leaves), milliseconds, the best of many runs in turns",
            "",
            table(["table", "ours", "scikit-learn", "scikit-learn / ours"], small),
            "",
            "## What else costs, beside a plain fit",
            "",
            f"Missing values in 5 % of all cells: 20,000×128 {of_fit['missing_over_plain']:.2f} × the fit without, "
            f"60,000×512 {of_fit['missing_over_plain_large']:.2f} ×. "
            f"One processor, 60,000×512: {of_fit['one_over_all_processors']:.2f} × all processors"
            f"{alone}. `report()` of 60,000×512, 30 leaves: {of_fit['report_seconds']:.2f} s, "
            f"{of_fit['report_over_fit']:.2f} × the fit, and "
            f"{of_fit['report_extra_over_table']:.2f} × the table in memory.",
            "",
            "## One pass of refinement, 60,000×512, 10 leaves",
            "",
            f"Growth {refined['growth_seconds']:.2f} s, one pass {refined['pass_seconds']:.2f} s "
            f"({refined['pass_seconds'] / refined['growth_seconds']:.1f} × growth).",
            "",
            "## `BestTree`, 60,000×512, 10 leaves",
            "",
            f"{best['seconds']:.1f} s, {best['fidelity']:.1%} of the rows right; scikit-learn's tree "
            f"{best['sklearn_seconds']:.1f} s, {best['sklearn_fidelity']:.1%}.",
            "",
            "## Exact 20 nearest neighbours, 100,000×20",
            "",
            searched,
            "",
            "## First fit in a fresh process, seconds",
            "",
            table(list(waits), [[f"{value:.2f}" for value in waits.values()]]),
            "",
        ]
    )


if __name__ == "__main__":
    main()
