"""The audit of dependencies fails for what is known, and says so in a sentence where nobody answers."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "scripts" / "audit.py"


@pytest.fixture
def audit():
    if not PATH.exists():
        pytest.skip("the scripts are in the repository only")
    specification = importlib.util.spec_from_file_location("audit", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def service(audit, monkeypatch):
    """Pretend to be the advisory service: a dict of answers, an exception, or text."""
    asked = []

    def use(answer):
        def run(command, **options):
            asked.append(Path(command[command.index("--requirement") + 1]).read_text())
            if isinstance(answer, Exception):
                raise answer
            return subprocess.CompletedProcess(command, 1, stdout=answer, stderr="")

        monkeypatch.setattr(audit.subprocess, "run", run)
        return asked

    return use


def test_all_that_is_needed_is_asked_for(audit):
    packages = audit.needed()
    assert {"numpy", "scipy", "scikit-learn", "numba", "joblib", "llvmlite"} <= set(packages)
    assert "spexplain" not in packages
    assert "pytest" not in packages  # only what users install


def test_known_vulnerabilities_fail(audit, service, capsys):
    bad = {"name": "numpy", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["2.0"]}]}
    asked = service(
        json.dumps({"dependencies": [bad, {"name": "scipy", "version": "1", "vulns": []}]})
    )
    assert audit.main() == 1
    assert capsys.readouterr().out == "audit: numpy 1.0: CVE-1, mended in 2.0\n"
    assert "numpy==" in asked[-1]


def test_nothing_known(audit, service, capsys):
    service(json.dumps({"dependencies": [{"name": "numpy", "version": "1", "vulns": []}]}))
    assert audit.main() == 0
    assert "no vulnerability is known" in capsys.readouterr().out


@pytest.mark.parametrize("answer", [subprocess.TimeoutExpired("pip-audit", 1), "", "<html>", "[]"])
def test_no_answer_is_one_sentence(audit, service, capsys, answer):
    asked = service(answer)
    assert audit.main() == 0
    told = capsys.readouterr().out
    assert told == "audit: the advisory service does not answer; dependencies were not audited.\n"
    assert len(asked) == 1  # one package was enough to see it
