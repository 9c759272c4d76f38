"""Coverage-guided fuzzing of what reads or quotes things that others wrote.

Run it by ``make fuzz``, or alone: ``.venv-fuzz/bin/python campaign/coverage_guided.py --seconds 60``. It needs
atheris, which the Makefile installs into an environment of its own.

atheris changes the inputs in ``campaign/seeds`` and keeps those that reach new code of the package. The
targets (`targets.py`): ``from_json`` refuses hostile documents or loads a model that works; the command line's
readers refuse hostile files in one sentence; names and labels cannot escape from the SQL that ``to_sql`` writes.
The figures go to ``campaign/results/coverage_guided.json`` and ``.md``; the exit status is 1 if there is a
finding. To see one again: ``coverage_guided.py --target NAME --input FILE``.
"""

import argparse
import base64
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from results import ROOT, facts, markdown_table, write_results

SEEDS = ROOT / "campaign" / "seeds"
_NAMES = ("from_json", "readers", "to_sql")
_LONGEST = {"from_json": 1024, "readers": 2048, "to_sql": 160}  # bytes of an input
_MEGABYTES = 3000  # more memory than this for so small an input is a finding


def fuzz_here(target: str, arguments: list[str]) -> None:
    """Fuzz one target in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=["spexplain"]):
        from targets import TARGETS

        import spexplain.cli.columns
        import spexplain.cli.predict
        import spexplain.export.sql  # noqa: F401
    atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
    atheris.Fuzz()


def fuzz(target: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fuzz one target in a process of its own; return what came out."""
    with tempfile.TemporaryDirectory(prefix="spexplain-fuzz-") as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        command = [
            sys.executable, __file__, "--child", target, "--", str(corpus), str(SEEDS / target),
            f"-seed={options.seed}", f"-max_total_time={options.seconds}", f"-runs={options.runs}",
            f"-max_len={_LONGEST[target]}", f"-timeout={options.patience}", f"-rss_limit_mb={_MEGABYTES}",
            f"-artifact_prefix={folder}/found-", "-print_final_stats=1",
        ]  # fmt: skip
        started = time.monotonic()
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
            "RUST_BACKTRACE": "0",
        }
        done = subprocess.run(command, capture_output=True, check=False, env=environment)
        seconds = time.monotonic() - started
        log = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
        found = [path.read_bytes() for path in sorted(Path(folder).glob("found-*"))]
    progress = re.findall(r"^#(\d+)\s.*cov: (\d+) ft: (\d+) corp: (\d+)", log, flags=re.M)
    executed = re.findall(r"stat::number_of_executed_units: (\d+)", log)
    record = {
        "target": target,
        "executions": int(executed[-1] if executed else progress[-1][0] if progress else 0),
        "edges": int(progress[-1][1]) if progress else 0,
        "inputs_kept": int(progress[-1][3]) if progress else 0,
        "seconds": round(seconds, 1),
        "findings": [],
    }
    if done.returncode or not progress:
        inputs = [base64.b64encode(each).decode() for each in found] or [None]
        record["findings"] = [{"input": each, "log": log[-3000:]} for each in inputs]
    return record


def main() -> int:
    """Fuzz the targets one after the other and write the figures."""
    parser = argparse.ArgumentParser(
        description="Fuzz what reads or quotes things that others wrote."
    )
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--runs", type=int, default=-1, help="at most so many inputs a target")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--patience", type=int, default=60, help="seconds until one input hangs")
    parser.add_argument("--target", action="append", choices=_NAMES)
    parser.add_argument("--input", type=Path, help="only this file, for one target")
    parser.add_argument("--write-seeds", action="store_true", help="make campaign/seeds anew")
    options = parser.parse_args()
    if options.write_seeds or options.input:
        from seeds import write_seeds
        from targets import TARGETS

        if options.input:
            TARGETS[options.target[0]](options.input.read_bytes())
        else:
            write_seeds(SEEDS)
        return 0
    try:
        import atheris  # noqa: F401
    except ImportError:
        print(
            "Coverage-guided fuzzing needs atheris: run it by make fuzz, with Python 3.11 to 3.13."
        )
        return 1
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1, 2**31)
    print(f"seed {options.seed}", flush=True)
    records = []
    for target in options.target or _NAMES:
        record = fuzz(target, options)
        records.append(record)
        print(
            f"{target}: {record['executions']:,} executions, {record['edges']:,} edges covered, "
            f"{record['seconds']} seconds, {len(record['findings'])} findings",
            flush=True,
        )
        for finding in record["findings"]:
            print(f"input (base64): {finding['input']}\n{finding['log']}")
    heads = ["target", "executions", "edges", "inputs_kept", "seconds"]
    rows = [[*(each[head] for head in heads), len(each["findings"])] for each in records]
    text = [
        f"Seed {options.seed}. Edges are those of the package's Python code.",
        markdown_table([*heads[:3], "inputs kept", "seconds", "findings"], rows),
    ]
    content = {**facts(seed=options.seed), "targets": records}
    write_results("coverage_guided", content, "Coverage-guided fuzzing", text)
    return 1 if any(each["findings"] for each in records) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        fuzz_here(sys.argv[2], sys.argv[4:])
    else:
        sys.exit(main())
