"""Times that README and pages quote, each from its result file: ``python docs/scripts/quoted_figures.py``.

After ``make bench`` or ``python benchmarks/cli.py`` this writes the new figures into the sentences that quote
them; ``--list`` says where they stand. ``tests/test_pages.py`` fails while one is out of date.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
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
    sentence = 'One pass of `refine="agreement"` over the tree of the first row takes {} s.'
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


def _of_clusters(found: dict[str, Any]) -> Iterator[Quote]:
    seconds = f"{found['out_of_core']['seconds']:.0f}"
    yield Quote("README.md", "200,000,000×8 rows of Parquet in {} s", (seconds,), "distributed")
    for each in found["in_memory"]:
        yield Quote(
            "docs/engines.md",
            f"| {each['rows']:,} × {each['columns']} | {{}} | {{}} |",
            (f"{each['histogram_seconds']:.2f}", f"{each['dask_seconds']:.2f}"),
            "distributed",
        )


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
            print(f"{quote.page}:{line}: {', '.join(quote.figures)} ({quote.source}.json)")
        else:
            path.write_text(written(quote, text))


if __name__ == "__main__":
    main()
