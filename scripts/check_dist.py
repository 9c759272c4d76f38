"""Build the wheel and the sdist, look into them, install them into empty environments and test them there.

``make test-wheel`` runs this. The files stay in ``dist/``; everything else happens in a temporary folder
outside the checkout, so that no import can find the sources by accident.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "spexplain"
MOST_BYTES = 500_000  # a file larger than this is data, which belongs elsewhere

# Each part of the package once; the rest of the tests says nothing about what was packed.
QUICK = [
    "test_imports.py",
    "test_golden.py",
    "cli",
    "explanation",
    "export",
    "facts",
    "show",
    "paper",
]

FIT = """
import sys, numpy as np, spexplain
assert spexplain.__file__.startswith(sys.prefix), spexplain.__file__
X = np.random.default_rng(0).normal(size=(20_000, 60)) + np.repeat([[0.0], [4.0]], 10_000, axis=0)
y = np.repeat(["low", "high"], 10_000)
for engine in ("numpy", "histogram"):
    tree = spexplain.SpexClique(engine=engine).fit(X, y)
    assert (tree.predict_reference(X) == y).mean() > 0.9
    assert (spexplain.from_json(tree.to_json()).predict(X) == tree.labels_).all()
print(spexplain.__version__)
"""


class BuildError(Exception):
    """Something is wrong with what was built."""


def run(*command: object, cwd: Path, status: int = 0) -> str:
    """Run a command and return what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != status:
        words = " ".join(map(str, command))[:200]
        raise BuildError(
            f"{words}\nended with {done.returncode} instead of {status}:\n{done.stdout}"
        )
    return done.stdout


def environment(folder: Path, *requirements: object) -> Path:
    """Make an empty virtual environment with the requirements and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install(python, *requirements)
    return python


def install(python: Path, *requirements: object) -> None:
    """Install into the environment of a Python."""
    run(python, "-m", "pip", "install", "--quiet", *requirements, cwd=python.parent)


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel out of the sdist."""
    python = environment(folder / "build", "build")
    made = folder / "dist"
    run(python, "-m", "build", "--outdir", made, ROOT, cwd=folder)
    (sdist,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
    return sdist, wheel


def check_names(wheel: list[str], sdist: list[str], sources: list[str]) -> None:
    """Compare what was packed with what lies in the checkout."""
    packed = {name for name in wheel if ".dist-info/" not in name}
    expected = {f"spexplain/{name}" for name in sources}
    if packed != expected:
        raise BuildError(
            f"the wheel lacks {sorted(expected - packed)} and has {sorted(packed - expected)} too much."
        )
    parts = {
        "src",
        "tests",
        "examples",
        "docs",
        "benchmarks",
        "mkdocs.yml",
        "pyproject.toml",
        "README.md",
    }
    parts |= {"CHANGELOG.md", "CITATION.cff", "LICENSE", "SECURITY.md"}
    missing = parts - {name.split("/")[1] for name in sdist}
    if missing:
        raise BuildError(f"the sdist lacks {sorted(missing)}.")
    for name in (*wheel, *sdist):
        if "__pycache__" in name or "/.venv" in name:
            raise BuildError(f"{name} was packed, which is made anew on every machine.")


def check_content(name: str, content: bytes) -> None:
    """Refuse large files and files that name this machine's folders."""
    if len(content) > MOST_BYTES:
        raise BuildError(f"{name} has {len(content):,} bytes; at most {MOST_BYTES:,} are expected.")
    for path in {ROOT, Path.home()} - {Path("/")}:
        if f"{path}/".encode() in content:
            raise BuildError(f"{name} names the folder {path} of this machine.")


def check_files(sdist: Path, wheel: Path) -> None:
    """Look into both files."""
    sources = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    with zipfile.ZipFile(wheel) as files, tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        check_names(files.namelist(), [member.name for member in members], sources)
        for name in files.namelist():
            check_content(name, files.read(name))
        for member in members:
            content = archive.extractfile(member)
            check_content(member.name, b"" if content is None else content.read())


def check_bare(python: Path, folder: Path) -> None:
    """Fit, run the demonstration and meet the command line without its packages."""
    run(python, "-W", "error", "-c", FIT, cwd=folder)
    run(python, "-W", "error", "-m", "spexplain.demo", cwd=folder)
    said = run(python.parent / "spexplain", "--help", cwd=folder, status=1)
    if 'pip install "spexplain[cli]"' not in said:
        raise BuildError(f"the command line without its packages says {said!r}.")


def check_all(python: Path, folder: Path) -> None:
    """Explain a table from the command line, with a report; run the demonstration with one."""
    rows = [f"{i % 7},{i % 3},{'ab'[i % 7 > 3]}" for i in range(60)]
    (folder / "table.csv").write_text("\n".join(["size,age,group", *rows]) + "\n", encoding="utf-8")
    command = ["-m", "spexplain", "explain", "table.csv", "-l", "group", "--report", "page.html"]
    run(python, "-W", "error", *command, cwd=folder)
    run(python, "-W", "error", "-m", "spexplain.demo", cwd=folder)
    for page in ("page.html", "spexplain-demo.html"):
        if "<html" not in (folder / page).read_text("utf-8"):
            raise BuildError(f"{page} is no page.")


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack what is tested, without the sources, and return where it lies."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    shutil.rmtree(unpacked / "src")
    return unpacked


def check_readme(python: Path, unpacked: Path) -> None:
    """Run the examples of the README, which stand on what its line of installation brings."""
    run(python, "-m", "pytest", "-q", unpacked / "README.md", cwd=unpacked)


def check_tests(python: Path, unpacked: Path) -> str:
    """Run the quick tests and all pages against the installed package and return their last line."""
    tests = [unpacked / "docs", *(unpacked / "tests" / name for name in QUICK)]
    command = ["-m", "pytest", "-q", "-n", "auto", "-m", "not slow", *tests]
    return run(python, *command, cwd=unpacked).strip().splitlines()[-1]


def main() -> None:
    """Build and check; the first failure ends it with what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-tests", action="store_true", help="leave the test suite out")
    options = parser.parse_args()
    began = time.monotonic()

    def say(sentence: str) -> None:
        print(f"{time.monotonic() - began:4.0f} s  {sentence}", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            sdist, wheel = build(folder)
            check_files(sdist, wheel)
            say(f"built and looked into {sdist.name} and {wheel.name}")
            for name, source in (("sdist", sdist), ("wheel", wheel)):
                python = environment(folder / name, source)
                check_bare(python, folder)
                say(f"the {name} works in an empty environment")
            unpacked = unpack(sdist, folder)
            install(python, f"{wheel}[plot,report,cli]", "pandas", "pytest")
            check_readme(python, unpacked)
            say("the examples of the README run after its line of installation")
            install(python, f"{wheel}[all]")
            check_all(python, folder)
            check_readme(python, unpacked)
            say("the wheel works with all extras")
            if not options.no_tests:
                install(python, f"{wheel}[test]")
                say(check_tests(python, unpacked))
        except BuildError as error:
            sys.exit(str(error))
        keep = ROOT / "dist"
        shutil.rmtree(keep, ignore_errors=True)
        shutil.copytree(sdist.parent, keep)
    say(f"both lie in {keep.relative_to(ROOT)}/")


if __name__ == "__main__":
    main()
