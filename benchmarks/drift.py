"""How often `check` finds what happens to rows by mistake, and how often it takes chance for that.

    python benchmarks/drift.py [--draws 100]

writes ``benchmarks/results/drift.json`` and ``drift.md``. Every table is real; it is cut at random into training
rows and new ones, to which something happens (``tests/drifts.py`` says what), or nothing.
"""

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from machine import RESULTS, save, table
from spexplain import CART, __version__, from_json

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import drifts


def main() -> None:
    """Take all tables and all drifts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100, help="fresh samples of every table")
    parser.add_argument("--cuts", type=int, default=5, help="cuts of every table for all drifts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    made: Counter[str] = Counter()
    alarms: dict[str, int] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for name, load in drifts.TABLES.items():
        X, y = load()
        sizes[name] = X.shape
        for seed in range(options.cuts):
            then, y_then, now, y_now = drifts.halves(X, y, seed)
            model = from_json(CART(n_leaves=6).fit(then, y_then).to_json())
            for title, drift in drifts.DRIFTS.items():
                for case in drift(model, now, y_now, np.random.default_rng(seed)):
                    made[title] += 1
                    found[title] += drifts.is_found(model, case)
        alarms[name] = 0
        for seed in range(options.draws):
            then, y_then, now, y_now = drifts.fresh(X, y, seed)
            explainer = CART(n_leaves=5).fit(then, y_then)
            alarms[name] += not explainer.check(now, y_now).passed
        print(name, alarms[name], "alarms in", options.draws, flush=True)
    results = {
        "spexplain": __version__,
        "draws": options.draws,
        "drifts": {each: [found[each], made[each]] for each in drifts.DRIFTS},
        "alarms": alarms,
    }
    save("drift", results, markdown(results, sizes))
    print(f"Wrote {RESULTS / 'drift.md'}")


def markdown(results: dict, sizes: dict[str, tuple[int, int]]) -> str:
    """Return the results as a page."""
    drifted = [[each, f"{a} of {b}"] for each, (a, b) in results["drifts"].items()]
    fresh = [
        [name, f"{sizes[name][0]:,} × {sizes[name][1]}", f"{count} of {results['draws']}"]
        for name, count in results["alarms"].items()
    ]
    return "\n".join(
        [
            "# Drift: what is found, and what is taken for drift",
            "",
            "By `benchmarks/drift.py`: a random half of a real table trains CART with 6 leaves; something",
            "happens to the other half. It counts as found if the check fails and an alarm of the right kind names the",
            "column, category or segment.",
            "",
            table(["what happened", "found"], drifted),
            "",
            "Where nothing happened, to fresh rows of the same table (as many as training rows, a tenth of them, or",
            "three times as many; every second time with labels):",
            "",
            table(["table", "size", "checks that failed"], fresh),
            "",
        ]
    )


if __name__ == "__main__":
    main()
