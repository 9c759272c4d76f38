"""Make everything that a release needs, and stop with a sentence at the first thing that is wrong.

Nothing is uploaded and no tag is set: RELEASING.md says how. ``--skip`` leaves out the long steps by name,
``--list`` names all steps.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


class ReleaseError(Exception):
    """A release may not go on; the message says why."""


def read(name: str) -> str:
    """Return a file of the checkout."""
    return (ROOT / name).read_text("utf-8")


def found(pattern: str, name: str) -> str:
    """Return what a pattern finds in a file of the checkout."""
    match = re.search(pattern, read(name), re.MULTILINE)
    if match is None:
        raise ReleaseError(f"{name} has no line like {pattern!r}.")
    return match[1]


def version() -> str:
    """Return the version of the package."""
    return found(r'^__version__ = "(.+)"$', "src/spexplain/_version.py")


def check_version() -> None:
    """Refuse a version that is none of a release, or that the files disagree on."""
    ours = version()
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", ours):
        raise ReleaseError(
            f"src/spexplain/_version.py says {ours}; a release is called like 1.2.3 or 1.2.3rc1."
        )
    cited = found(r"^version: (.+)$", "CITATION.cff")
    if cited != ours:
        raise ReleaseError(f"CITATION.cff cites version {cited}, but the package is {ours}.")


def check_changelog() -> None:
    """Refuse a changelog whose first section is not this version, of today, with words in it."""
    ours = version()
    heading, words = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)[1].split("\n", 1)
    expected = f"{ours} ({date.today().isoformat()})"
    if heading.strip() != expected:
        raise ReleaseError(
            f"CHANGELOG.md begins with {heading.strip()!r}; the section of this release is called {expected!r}."
        )
    if not words.strip():
        raise ReleaseError("CHANGELOG.md says nothing about this release; list what changed.")


def output(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def check_tree() -> None:
    """Refuse a checkout with changes that are not committed, and a version that has a tag already."""
    changed = output("git", "status", "--porcelain").splitlines()
    if changed:
        raise ReleaseError(
            f"{len(changed)} files are not committed, {changed[0][3:]} for one; commit them."
        )
    tag = f"v{version()}"
    if output("git", "tag", "--list", tag).strip():
        raise ReleaseError(f"The tag {tag} exists already; a release has a new version.")


def make(target: str) -> Callable[[], None]:
    """Return a step that makes a target."""

    def step() -> None:
        done = subprocess.run(["make", "--no-print-directory", target], cwd=ROOT, check=False)
        if done.returncode:
            raise ReleaseError(f"`make {target}` failed with status {done.returncode}.")

    return step


def write_checksums() -> None:
    """Write dist/SHA256SUMS for the two files of this version, and refuse others beside them."""
    ours = version()
    expected = {f"spexplain-{ours}.tar.gz", f"spexplain-{ours}-py3-none-any.whl"}
    sums = DIST / "SHA256SUMS"
    names = {path.name for path in DIST.glob("*")} - {sums.name}
    if names != expected:
        raise ReleaseError(f"dist/ holds {sorted(names)} instead of {sorted(expected)}.")
    lines = [
        f"{hashlib.sha256((DIST / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(names)
    ]
    unfinished = DIST / "SHA256SUMS.part"
    unfinished.write_text("".join(lines), encoding="utf-8")
    unfinished.replace(sums)
    print("".join(lines), end="")


# Quick refusals first; the two files are built last, from what has passed.
STEPS: dict[str, Callable[[], None]] = {
    "version": check_version,
    "changelog": check_changelog,
    "tree": check_tree,
    "lint": make("lint"),
    "test": make("test"),
    "coverage": make("coverage"),
    "test-min": make("test-min"),
    "docs": make("docs"),
    "test-wheel": make("test-wheel"),
    "checksums": write_checksums,
}


def main() -> None:
    """Take the steps one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the steps and do nothing")
    parser.add_argument("--skip", nargs="+", default=[], choices=STEPS, metavar="STEP")
    options = parser.parse_args()
    if options.list:
        print(*STEPS, sep="\n")
        return
    for name, step in STEPS.items():
        if name in options.skip:
            print(f"{name}: left out", flush=True)
            continue
        began = time.monotonic()
        try:
            step()
        except ReleaseError as error:
            sys.exit(f"{name}: {error}")
        print(f"{name}: good ({time.monotonic() - began:.0f} s)", flush=True)
    if options.skip:
        sys.exit(f"Not a release: {', '.join(options.skip)} left out.")
    print(f"spexplain {version()} is ready in dist/; RELEASING.md says how to go on.")


if __name__ == "__main__":
    main()
