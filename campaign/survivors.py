"""What became of the mutants: the figures, and the verdicts on those that no test notices."""

import json
import tomllib
from typing import Any

from results import RESULTS, ROOT, facts, markdown_table, write_results


def last_results() -> dict[str, Any]:
    """Return what the last run wrote."""
    found: dict[str, Any] = json.loads((RESULTS / "mutants.json").read_text(encoding="utf-8"))
    return found


def retried(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of a run in which survivors were tried again; "since" marks what is noticed now."""
    outcomes = {(each["file"], each["line"], each["name"]): each["outcome"] for each in new}
    records = []
    for each in old:
        now = outcomes.get((each["file"], each["line"], each["name"]), "survived")
        is_new = each["outcome"] == "survived" and now != "survived"
        records.append({**each, "outcome": now, "since": True} if is_new else each)
    return records


def report(records: list[dict[str, Any]], known: int, seed: int) -> list[str]:
    """Write the figures; return the survivors without a verdict."""
    verdicts = tomllib.loads((ROOT / "campaign/verdicts.toml").read_text(encoding="utf-8"))
    survivors = [each for each in records if each["outcome"] == "survived"]
    since = [each for each in records if each.get("since")]
    for each in survivors:
        each["verdict"] = verdicts.get(each["name"], "not looked at yet")
    rows = []
    for room in [*sorted({each["room"] for each in records}), "all"]:
        own = [each for each in records if room in (each["room"], "all")]
        later = sum(each.get("since", False) for each in own)
        alive = sum(each["outcome"] == "survived" for each in own)
        rows.append([room, len(own), len(own) - later - alive, later, alive])
    head = ["room", "mutants", "noticed at first", "noticed since", "survived"]
    table = markdown_table(head, rows)
    text = [
        f"{len(records)} of {known} possible mutants, drawn with seed {seed}; "
        f"{len(since)} survived at first and are noticed by tests that were written for them. How well the tests "
        "notice mistakes in general is what they noticed at first.",
        table,
        "## Noticed since",
        *(
            f"- `{each['file']}:{each['line']}` ({each['kind']}): `{each['name']}`"
            for each in since
        ),
        "## Survivors",
        *(
            f"- `{each['file']}:{each['line']}` ({each['kind']}): `{each['name']}`: {each['verdict']}"
            for each in survivors
        ),
    ]
    content = {**facts(seed=seed), "possible": known, "mutants": records}
    write_results("mutants", content, "Mutation testing", text)
    print(table)
    return [each["name"] for each in survivors if each["verdict"] == "not looked at yet"]
