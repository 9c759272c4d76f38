"""Every error of the user is one sentence with the right exit status, and no traceback."""

import os

import polars as pl
import pytest

from spexplain.cli import compare


def sentence(result, status=1):
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    last = result.stderr.strip().splitlines()[-1]
    if status == 1:
        assert last.startswith("Error: ")
        assert last.endswith((".", "?"))
        assert len(result.stderr.splitlines()) == 1
    return last if status == 1 else " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("name", "content", "options", "wanted"),
    [
        ("t.csv", b"", (), "is empty"),
        ("t.csv", b"a,b,y\n", (), "has column names but no rows"),
        ("t.csv", b"a,a,y\n1,2,0\n", (), "has several columns called a; rename them"),
        ("t.csv", b"1,1,y\n2,3,0\n", (), "called 1; if the first line is a row, pass --no-header"),
        ("t.csv", b"a;b;y\n1;2;0\n1;2\n", (), "pass --delimiter ';'"),
        ("t.csv", b"a\tb\ty\n1\t2\t0\n1\n", (), "separated by a tab; pass --delimiter tab"),
        ("t.tsv", b"a,b,y\n1,2,0\n", (), "pass --delimiter ','"),
        ("t.csv", b"a,y\n,0\n,1\n", (), "has no column to explain clusters with"),
        ("t.csv", b"a,Y\n1,0\n", (), "has no column y; did you mean Y?"),
        ("t.csv", b"a,y \n1,0\n", (), 'has no column y; did you mean "y "?'),
        ("t.csv", b"a,b\n1,0\n", (), "has no column y (it has a, b)"),
        ("t.csv", b"a,y\n1,\n2,0\n3,0\n", (), "column y has only one cluster"),
        ("t.csv", b"a,y\n1,u\n2,v\n3,w\n", ("--noise", "uu"), "no row has the label uu; did you mean u?"),
        ("t.csv", b"a,y\n1,0\n2,0\n", (), "has only one value"),
        ("t.csv", b"a,y\n1,2\n3\n4,5,6\n", (), "some rows have more cells"),
        ("t.csv", b"a,y\n1,\xe9\n2,b\n", ("--encoding", "utf-8"), "could not be read as utf-8 (invalid cont"),
        ("t.csv", "a,y\n1,u\n2,v\n".encode("utf-16-le")[:-1], (), "could not be read as utf-16-le (truncated data)"),
        ("t.csv", b"a\0b,y\n1,u\n2,v\n", (), "has NUL characters in its first line"),
        ("t.csv.gz", b"\x1f\x8b\x08\0", (), "could not be read: Compressed file ended"),
        ("t.csv", b"a,y\n1,0\ninf,1\n", (), "Infinite values in a (1 row); replace them"),
        ("t.csv", b"a,y\n1,0\n,1\n", ("--missing", "error"), "Missing values in a (1 row); drop --missing error"),
        ("t.csv", b"a,y\n1,0\n,1\n", ("--ignore", "b"), "--ignore: there is no column b"),
        ("t.csv", b"a,y\n1,0\n2,1\n", ("--features", "c"), "--features: there is no column c"),
        ("t.csv", b"a,b,y\n1,,0\n2,,1\n", ("--features", "b"), "names b, which was left out"),
        ("t.csv", b"a,y\n1,0\n2,1\n", ("--keep", "c"), "--keep: there is no column c"),
        ("t.csv", b"a,y\n1,0\n2,1\n", ("--weights", "c"), "has no column c"),
        ("t.csv", b"a,w,y\n1,u,0\n2,v,1\n", ("--weights", "w"), "the column holds no numbers"),
        ("t.csv", b"a,w,y\n1,-1,0\n2,,1\n", ("--weights", "w"), "but 2 rows have no such number"),
        ("t.csv", b"a,y\n1,0\n1,1\n", (), "All columns of X are constant"),
        ("t.parquet", b"nothing of the kind", (), "could not be read as Parquet"),
        ("t.arrow", b"nothing of the kind", (), "could not be read as Arrow"),
        ("t.jsonl", b"{a: 1}\n", (), "could not be read as JSON lines"),
        ("t.csv.gz", b"no gzip", (), "could not be read: Not a gzipped file"),
        ("t.xlsx", b"PK", (), "could not be read as Excel: it is damaged, or not an .xlsx file"),
        ("t.csv", b"\na,b\n1,2\n", (), "more cells than the first line, which is empty."),
        ("t.doc", b"", (), "pass --input-format, one of csv, tsv, parquet, arrow, jsonl, xlsx"),
        ("t.json", b"[]", (), "for JSON, one object per line"),
    ],
)  # fmt: skip
def test_tables(run, tmp_path, name, content, options, wanted):
    (tmp_path / name).write_bytes(content)
    assert wanted in sentence(run("explain", tmp_path / name, "--labels", "y", "-q", *options))


def test_the_labels_alone_explain_nothing(run, tmp_path):
    (tmp_path / "t.csv").write_text("y\n0\n1\n")
    result = run("explain", tmp_path / "t.csv", "--labels", "y")
    assert sentence(result).endswith("t.csv has no column to explain clusters with.")


def test_files_that_are_not_there(run, files, tmp_path):
    folder = files["csv"].parent
    assert "did you mean iris.csv" in sentence(run("explain", folder / "irs.csv", "-k", 2))
    assert "There is no file" in sentence(run("explain", tmp_path / "x" / "y.csv", "-k", 2))
    assert "is a folder" in sentence(run("explain", folder, "-k", 2))
    assert "No such file" in sentence(run("predict", tmp_path / "m.json", files["csv"]))


def test_labels_that_are_no_clusters(run, files, tmp_path):
    frame = pl.DataFrame({"a": range(200), "y": [f"{at}" for at in range(200)]})
    frame.write_csv(tmp_path / "t.csv")
    said = sentence(run("explain", tmp_path / "t.csv", "-l", "y"))
    assert "has 200 different values in 200 rows, like row numbers or a measurement" in said
    frame.with_columns(y=pl.col("a") // 3 + 0.5).write_csv(tmp_path / "t.csv")
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart", "--keep", "a")
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert "y has 67 different labels in 200 rows, like row numbers or a measurement" in said


def test_huge_integers(run, tmp_path):
    (tmp_path / "t.csv").write_text(f"id,b,y\n{2**60},1,0\n{2**61},2,1\n{2**100},3,1\n")
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "beyond 2^53 in id are rounded to floats" in result.stderr


def test_cells_that_keep_a_column_from_being_numbers(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,5,0\n2,?,0\n3,6,1\n4,7,1\n")
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert "but for cells such as '?'" in result.stderr


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), "Say what to explain"),
        (("-k", "3", "--labels", "species"), "so -k has no effect"),
        (("--labels", "species", "-r", "kmeans"), "so --reference has no effect"),
        (("-k", "3", "--leaves", "many"), "--leaves must be a positive number or auto"),
        (("-k", "3", "--leaves", "0"), "--leaves must be a positive number or auto"),
        (("-k", "0"), "-k"),
        (("-k", "three"), "-k"),
        (("-k", "3", "-m", "spex"), "spex"),
        (("-k", "3", "--dialect", "oracle", "--sql", "-"), "oracle"),
        (("-k", "3", "--delimiter", "ab"), "--delimiter must be one character or tab, not 'ab'"),
        (("-k", "3", "--thousands", "ab"), "--thousands must be one character, not 'ab'"),
        (("-k", "3", "--encoding", "klingon"), "--encoding klingon is not known"),
        (("-k", "3", "--encoding", "rot13"), "--encoding rot13 is not an encoding of text"),
        (("-k", "3", "--json", "-", "--sql", "-"), "--sql and --json both write to -"),
        (("-k", "3", "--json", "-", "--format", "json"), "both write to standard output"),
        (("-k", "3", "--nonsense"), "nonsense"),
        (
            ("-k", "3", "--missing", "mean"),
            "--missing mean is no longer an option, as trees handle",
        ),
        (("-k", "3", "--missing", "no"), "--missing must be allow or error, not no."),
        (("-k", "3", "--text", "onehot"), "--text and --max-categories are no longer options"),
        (("-k", "3", "--round-to", "-1"), "--round-to"),
    ],
)
def test_usage(run, files, options, wanted):
    assert wanted in sentence(run("explain", files["csv"], *options), status=2)


def test_usage_of_other_commands(run, files):
    said = sentence(run("compare", files["csv"], "-k", 3, "--methods", "emm"), status=2)
    assert "did you mean imm or emn" in said
    assert "cannot both" in sentence(run("predict", "-", "-"), status=2)
    assert run().exit_code == 2
    assert run("nonsense").exit_code == 2


def test_models(run, files, tmp_path):
    (tmp_path / "m.json").write_text('{"format": "other"}')
    said = sentence(run("predict", tmp_path / "m.json", files["csv"]))
    assert "is not a model that explain --json or segment --json wrote" in said
    assert "is a folder, not a model" in sentence(run("predict", tmp_path, files["csv"]))
    run("explain", files["csv"], "-l", "species", "-m", "cart", "--json", tmp_path / "ok.json")
    (tmp_path / "t.csv").write_text("petal len gth (cm),b\n1,2\n")
    said = sentence(run("predict", tmp_path / "ok.json", tmp_path / "t.csv"))
    assert (
        "has no columns petal length (cm), petal width (cm), which the model tests; did you mean petal len gth"
        in said
    )
    said = sentence(run("predict", tmp_path / "ok.json", files["csv"], "--keep", "specie"))
    assert "--keep: there is no column specie; did you mean species?" in said
    assert "how to write labels" in sentence(
        run("predict", tmp_path / "ok.json", files["csv"], "-o", tmp_path / "out.docx")
    )


def test_a_bug_is_one_sentence_too(run, files, monkeypatch):
    def broken(*given):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(compare, "_chosen", broken)
    said = sentence(run("compare", files["csv"], "-k", 3))
    assert said.endswith("(ZeroDivisionError: oops); --debug shows where.")
    shown = run("compare", files["csv"], "-k", 3, "--debug").stderr
    assert "Traceback" in shown
    assert "ZeroDivisionError: oops" in shown


def test_escape_sequences_do_not_reach_the_terminal(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(b'"a\x1b[31m\nb",y\n1,\x1b[0mu\n2,v\n')
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.output
    assert "\x1b" not in sentence(run("explain", tmp_path / "t.csv", "-l", "\x1b[31my"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(run, files, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(files["csv"].read_bytes())
    path.chmod(0)
    assert "Permission denied" in sentence(run("explain", path, "-k", 2))


@pytest.mark.parametrize(
    ("labels", "words"), [([[1], [2]], "lists"), ([{"a": 1}, {"a": 2}], "records"), ([b"1", b"2"], "bytes")]
)  # fmt: skip
def test_labels_of_odd_types(run, tmp_path, labels, words):
    import polars as pl

    pl.DataFrame({"a": [0.5, 1.5] * 5, "y": labels * 5}).write_parquet(tmp_path / "t.parquet")
    said = sentence(run("explain", tmp_path / "t.parquet", "-l", "y"))
    assert f"The label column y holds {words}; labels must be numbers, texts or booleans." in said
