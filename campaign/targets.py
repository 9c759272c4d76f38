"""What the coverage-guided fuzzer calls with bytes of its own making, and what must hold then.

Each target takes bytes and raises `FindingError` where a promise is broken; any other error is one as well.
"""

import contextlib
import io
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from probe import probe

from spexplain.explanation import Explanation, from_json
from spexplain.export import to_json, to_sql
from spexplain.export.dialects import DIALECTS
from spexplain.tree import Tree

_LONGEST_SENTENCE = 1000
SUFFIXES = ("csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "jsonl.gz", "json", "npy")


class FindingError(Exception):
    """A broken promise."""


def _check(holds: bool, promise: str) -> None:
    if not holds:
        raise FindingError(promise)


def check_sentence(text: str) -> None:
    """Check that a refusal is one short line that ends like a sentence."""
    _check("\n" not in text and text.isprintable(), f"the refusal is not one line: {text!r:.300}")
    _check(text.rstrip().endswith((".", "?")), f"the refusal does not end: {text!r:.300}")
    _check(len(text) <= _LONGEST_SENTENCE, f"the refusal has {len(text)} characters")


class Bytes:
    """Reads choices from bytes; past their end, every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, n: int) -> int:
        """Return a number from 0 to n - 1."""
        self.at += 1
        return self.data[self.at - 1] % n if self.at <= len(self.data) else 0

    def text(self) -> str:
        """Return a text of up to 15 bytes, NUL characters and halves of surrogate pairs among them."""
        length = self.below(16)
        taken, self.at = self.data[self.at : self.at + length], self.at + length
        return taken.decode("utf-8", "surrogateescape" if self.below(4) == 3 else "replace")

    @property
    def is_empty(self) -> bool:
        """Whether all bytes are read."""
        return self.at >= len(self.data)


# --- from_json ------------------------------------------------------------------------------------


def model(names: tuple[str, ...] = ("a", "b"), labels: Any = ("x", "y", "z")) -> Explanation:
    """Return a small model with an ordinary and an interval test."""
    tree = Tree.root(n_features=2, size=10, value=0.5)
    tree = tree.split(0, feature=0, threshold=0.5, sizes=(4, 6), score=0.25, values=(0.1, 0.2))
    tree = tree.split(2, feature=1, threshold=2.0, lower=-1.5, sizes=(2, 4), values=(0.0, 0.0))
    return Explanation(tree, names, np.array(labels), np.array([1.0, 0.5, 0.75]), method="CART")


_HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 10**19, 10**30, 0.5, -0.0, 1e308,
    5e-324, "", "a\nb", "\x1b[31m", "\ud800", "\0", "x" * 5000, "NaN", [], {}, [[]], [None] * 5,
    [0] * 5, [-1] * 3, ["a"] * 3, {"format": "spexplain.tree"}, [True] * 5, [1e308] * 5, [2**64] * 5,
)  # fmt: skip


def _edited(document: Any, choices: Bytes) -> None:
    """Change something somewhere in a document."""
    place = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        if not keys:
            return
        key = list(keys)[choices.below(len(keys))]
        inner = place[key]
        if isinstance(inner, dict | list) and choices.below(4):
            place = inner
            continue
        action = choices.below(5)
        if action == 0:
            del place[key]
        elif action == 1 and isinstance(place, dict):
            place[choices.text()] = deepcopy(inner)
        elif action == 2 and isinstance(place, list):
            place.append(deepcopy(inner))
        elif action == 3:
            place[key] = choices.text()
        else:
            place[key] = deepcopy(_HOSTILE[choices.below(len(_HOSTILE))])
        return


def read_model(data: bytes) -> None:
    """Check that a text is refused in one sentence, or is a model that works and is written as it was."""
    choices = Bytes(data)
    if choices.below(2):
        document = json.loads(to_json(model()))
        while not choices.is_empty and document:
            _edited(document, choices)
        text: Any = json.dumps(document)
    else:
        text = data[1:]
    try:
        loaded = from_json(text)
    except ValueError as error:
        check_sentence(str(error))
        return
    rows = np.array([[0.5] * loaded.n_features_in_, [-1e300] * loaded.n_features_in_])
    leaves = loaded.predict(rows)
    _check(bool(np.all((leaves >= 0) & (leaves < loaded.n_leaves_))), "a row has no leaf")
    again = from_json(loaded.to_json())
    _check(again.tree_ == loaded.tree_, "the tree changed on its way through JSON")
    _check(again.to_json() == loaded.to_json(), "the model changed on its way through JSON")
    _check(len(loaded.rules()) == loaded.n_leaves_, "a leaf has no rule")
    loaded.to_text()


# --- The files that the command line reads --------------------------------------------------------


def read_table(data: bytes) -> None:
    """Check that a file is read, or refused in one sentence, and that nothing is left half-written."""
    choices = Bytes(data[:2])
    suffix, wish = SUFFIXES[choices.below(len(SUFFIXES))], choices.below(8)
    content = data[2:]
    if suffix.endswith(".gz") and wish < 6:
        import gzip

        content = gzip.compress(content, compresslevel=1)
    options = [(), ("--no-header",), ("--delimiter", ";"), ("--null", "NA"), ("--decimal-comma",)]
    with tempfile.TemporaryDirectory(prefix="spexplain-fuzz-") as folder:
        table, out = Path(folder, f"table.{suffix}"), Path(folder, "out.csv")
        table.write_bytes(content)
        model_file = Path(folder, "model.json")
        model_file.write_text(to_json(model()))
        reading = options[wish % len(options)] if "csv" in suffix else ()
        kind = suffix
        if suffix in ("json", "npy"):  # names that say no format: the option does
            kind = ("csv", "parquet", "arrow", "jsonl")[wish % 4]
            reading = ("--input-format", kind)
        if kind in ("parquet", "arrow") and not probe().survives(table, kind):
            return
        keep = ("--keep", "all") if wish % 2 else ()
        status = _command("predict", model_file, table, "-o", out, *reading, *keep)
        _check((status == 0) == out.exists(), f"exit status {status}, but the file says otherwise")
        missing = ("--missing", ("error", "allow")[wish % 2])
        _command("explain", table, "-k", 2, "-m", "cart", *reading, *missing)
        left = {path.name for path in Path(folder).iterdir()} - {"out.csv"}
        _check(left == {table.name, "model.json"}, f"files are left: {sorted(left)}")


@cache
def _program() -> Any:
    """Return the command line, built once; the tables are read, and few of them explained."""
    import typer

    from spexplain.cli import fitting
    from spexplain.cli.app import app
    from spexplain.cli.errors import UserError

    fit = fitting.estimator_of

    def rarely(method: Any, table: Any, *others: Any) -> Any:
        if len(table.X) % 4:
            raise UserError("The table was read, which is all that was asked for.")
        return fit(method, table, *others)

    fitting.estimator_of = rarely
    return typer.main.get_command(app)


def _command(*arguments: object) -> int:
    """Run a command in this process; return its exit status."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            _program().main([str(each) for each in arguments], prog_name="spexplain")
            status = 0
        except SystemExit as done:
            status = int(done.code or 0)
    said = errors.getvalue()
    _check("Traceback" not in said, f"a traceback: {said[-600:]}")
    _check("Something went wrong inside" not in said, f"an unforeseen error: {said[-600:]}")
    if status == 1:
        refusals = [line for line in said.splitlines() if line.startswith("Error: ")]
        _check(len(refusals) == 1, f"status 1 without one sentence: {said[-600:]!r}")
        check_sentence(refusals[0])
    return status


# --- Names and labels in SQL ----------------------------------------------------------------------

_ROWS = [(x, y) for x in (-1.0, 0.5, 0.75, None) for y in (-1.5, -1.0, 2.0, 2.5, None)]


def write_sql(data: bytes) -> None:
    """Check that the SQL is one query that means the tree, or that names or labels are refused."""
    choices = Bytes(data)
    dialect = sorted(DIALECTS)[choices.below(len(DIALECTS))]
    names, labels = (choices.text(), choices.text()), [choices.text() for _ in range(3)]
    table, column = choices.text(), choices.text()
    tested = model(names, np.array(labels, dtype=object))
    try:
        query = to_sql(tested, dialect=dialect, table=[table], label="reference", name=column)
    except ValueError as error:
        check_sentence(str(error))
        return
    _check_parsed(query, dialect, {*names, column, table}, labels)
    expected = [labels[_leaf(x, y)] for x, y in _ROWS]
    if dialect in _RUNNERS:
        found = _RUNNERS[dialect](query, names, table)
        _check(found == expected, f"{dialect} gives {found} for {query}")


def _leaf(x: float | None, y: float | None) -> int:
    """Return the leaf of a row of `model`, whose tests missing values do not pass."""
    if x is not None and x <= 0.5:
        return 0
    return 1 if y is not None and -1.5 < y <= 2.0 else 2


def _check_parsed(query: str, dialect: str, names: set[str], labels: list[str]) -> None:
    import sqlglot
    from sqlglot import exp

    reading = {"postgresql": "postgres"}.get(dialect, dialect)
    statements = [each for each in sqlglot.parse(query, read=reading) if each is not None]
    _check(len(statements) == 1, f"{len(statements)} statements: {query}")
    (select,) = statements
    _check(isinstance(select, exp.Select), f"no SELECT: {query}")
    used = {each.name for each in select.find_all(exp.Identifier)}
    _check(used <= names, f"names {sorted(used - names)} from nowhere: {query}")
    texts = {each.this for each in select.find_all(exp.Literal) if each.is_string}
    odd = {each for each in texts - set(labels) if not re.fullmatch(r"-?[0-9.e+-]+|NaN", each)}
    _check(not odd, f"texts {sorted(odd)} from nowhere: {query}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _run_sqlite(query: str, names: tuple[str, ...], table: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return _labels(connection, query, names, table)


def _run_duckdb(query: str, names: tuple[str, ...], table: str) -> list[Any]:
    import duckdb

    with contextlib.closing(duckdb.connect()) as connection:
        return _labels(connection, query, names, table)


def _labels(connection: Any, query: str, names: tuple[str, ...], table: str) -> list[Any]:
    columns = ", ".join(f"{_quoted(name)} DOUBLE PRECISION" for name in names)
    # The number of a row comes first, under a name that no column has.
    number = _quoted("n" * (1 + max(map(len, names))))
    connection.execute(f"CREATE TABLE {_quoted(table)} ({number} INTEGER, {columns})")
    numbered = [(at, *row) for at, row in enumerate(_ROWS)]
    connection.executemany(f"INSERT INTO {_quoted(table)} VALUES (?, ?, ?)", numbered)
    found = connection.execute(query.rstrip().rstrip(";")).fetchall()
    return [row[-1] for row in sorted(found, key=lambda row: row[0])]


_RUNNERS: dict[str, Callable[..., list[Any]]] = {"sqlite": _run_sqlite, "duckdb": _run_duckdb}

TARGETS: dict[str, Callable[[bytes], None]] = {
    "from_json": read_model,
    "readers": read_table,
    "to_sql": write_sql,
}
