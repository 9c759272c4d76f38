"""Ask the advisory service about every package that spexplain needs: what is known fails, no answer does not."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

_PROJECT, _EXTRA = "spexplain", "all"
_PATIENCE = 30  # seconds for one package: shows whether the service can be reached
_MOST = 300  # seconds for all


def needed(name: str = _PROJECT, extras: frozenset[str] = frozenset({_EXTRA})) -> dict[str, str]:
    """Return the installed version of every package that is needed, and of those that these need."""
    found: dict[str, str] = {}
    asked, waiting = set(), [(name, extras)]
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in asked:
            continue
        asked.add((name, extras))
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # an extra that is not installed, or another system's
            continue
        if name != _PROJECT:
            found[name] = installed.version
        waiting += _requirements(installed.requires or [], extras)
    return dict(sorted(found.items()))


def _requirements(lines: list[str], extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in lines:
        each = Requirement(line)
        contexts: list[dict[str, str]] = [{"extra": extra} for extra in (*extras, "")]
        if each.marker is None or any(map(each.marker.evaluate, contexts)):
            yield re.sub(r"[-_.]+", "-", each.name).lower(), frozenset(each.extras)


def ask(packages: dict[str, str], seconds: float) -> list[dict[str, Any]] | None:
    """Return what the service knows about some packages; None if it does not answer."""
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text("".join(f"{name}=={version}\n" for name, version in packages.items()))
        options = ["--no-deps", "--format", "json", "--progress-spinner", "off", "--timeout", "10"]
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(pinned), *options]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds
            )
            return list(json.loads(done.stdout)["dependencies"])
        except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
            return None


def main() -> int:
    """Print one sentence, or the vulnerabilities that are known; returns 1 for these."""
    packages = needed()
    if not packages:
        print(f"audit: {_PROJECT} is not installed, so its dependencies are not known.")
        return 1
    first = dict([next(iter(packages.items()))])
    answer = None if ask(first, _PATIENCE) is None else ask(packages, _MOST)
    if answer is None:
        print("audit: the advisory service does not answer; dependencies were not audited.")
        return 0
    known = [each for each in answer if each.get("vulns")]
    for each in known:
        for one in each["vulns"]:
            cure = ", ".join(one.get("fix_versions") or []) or "none yet"
            print(f"audit: {each['name']} {each['version']}: {one['id']}, mended in {cure}")
    if not known:
        print(f"audit: no vulnerability is known in the {len(packages)} packages that are needed.")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
