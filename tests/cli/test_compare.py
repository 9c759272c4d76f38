"""`spexplain compare` and the small commands."""

import json
import signal
import time

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

import spexplain
from spexplain.cli import warmup
from spexplain.cli.fitting import METHODS
from trust import programs


def test_all_methods(run, files, iris):
    result = run("compare", files["csv"], "-l", "species", "--format", "json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["failed"] == []
    assert {each["method"] for each in document["methods"]} == {*METHODS, "sklearn-cart"}
    assert document["skipped"] == []
    agreements = [each["ari"] for each in document["methods"]]
    assert agreements == sorted(agreements, reverse=True)
    X, y = iris.drop("species"), iris["species"].to_numpy().astype(str)
    cart = spexplain.CART(3).fit(X, y)
    found = next(each for each in document["methods"] if each["method"] == "cart")
    same = spexplain.metrics.agreement(cart.labels_, y)
    assert found["ari"] == same.ari
    assert found["leaves"] == 3
    assert found["depth"] == cart.tree_.depth
    clique = next(each for each in document["methods"] if each["method"] == "spex-clique")
    # Its objective is the cut that all methods are compared by.
    assert clique["cut"] == pytest.approx(clique["objective"])


@pytest.mark.parametrize("leaves", [None, 5])
def test_scikit_learn_s_own_tree(run, files, iris, leaves):
    more = () if leaves is None else ("--leaves", leaves)
    result = run(
        "compare",
        files["csv"],
        "-l",
        "species",
        "--methods",
        "sklearn-cart",
        *more,
        "--format",
        "json",
    )
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["methods"]
    X, y = iris.drop("species").to_numpy(), iris["species"].to_numpy().astype(str)
    theirs = DecisionTreeClassifier(max_leaf_nodes=leaves or 3, random_state=0).fit(X, y)
    same = spexplain.metrics.agreement(theirs.apply(X), y)
    assert found["fidelity"] == pytest.approx(theirs.score(X, y))
    assert found["balanced"] == pytest.approx(balanced_accuracy_score(y, theirs.predict(X)))
    assert (found["ari"], found["leaves"]) == (pytest.approx(same.ari), theirs.get_n_leaves())
    assert found["depth"] == theirs.get_depth()


def test_what_takes_minutes_is_left_out(tmp_path):
    # In processes of their own: what is stopped after 0.01 s may go on in a thread.
    command = "import sys; from spexplain.cli import main; sys.exit(main())"
    X = np.random.default_rng(0).normal(size=(2001, 2)).round(2)
    path = tmp_path / "large.csv"
    rows = [f"{a},{b},{int(a > 0)}" for a, b in X]
    path.write_text("\n".join(["a,b,side", *rows]))
    asked = ("compare", path, "-l", "side", "--time-limit", "0.01")
    result = programs.run(command, *asked)
    assert "Left out, as it takes long for 2,001 rows: kernel-imm; --methods all" in result.stderr
    assert "kernel-imm" not in result.stdout
    assert "Left out" not in programs.run(command, *asked, "--methods", "kernel-imm").stderr


def test_a_reference_for_all(run, files):
    arguments = ("compare", files["csv"], "--ignore", "species", "--methods", "imm,cart,spex-knn")
    result = run(*arguments, "-k", 3, "-r", "kmeans", "--leaves", "4")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0] == "iris.csv · 150 rows × 4 columns"
    assert len(result.stdout.splitlines()) == 2 + 3 + 3  # "cost ratio" stands in two lines
    assert "The clusters come from k-means on the columns as they are" in result.stderr


def test_methods_that_fail_or_take_too_long(run, files, monkeypatch):
    def fail(self, X, y=None):
        raise ValueError("It cannot be done.")

    def sleep(self, X, y=None):
        for _ in range(3000):  # ends soon after it is stopped
            time.sleep(0.01)

    monkeypatch.setattr(spexplain.CART, "fit", fail)
    monkeypatch.setattr(spexplain.SpexClique, "fit", sleep)
    result = run(
        "compare", files["csv"], "-l", "species", "--methods", "cart,emn,spex-clique",
        "--time-limit", "0.5",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "cart: It cannot be done." in result.stdout
    assert "spex-clique: took longer than 0.5 s and was stopped." in result.stdout
    alone = run("compare", files["csv"], "-l", "species", "--methods", "cart")
    assert alone.exit_code == 1
    assert "No method could explain this clustering." in alone.stderr


def test_demo(run):
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    assert "small (50 rows): petal length (cm) ≤ 2\n  precision 100%, recall 100%" in result.stdout
    assert "Proved: no tree of three leaves puts more rows right." in result.stdout
    assert max(map(len, result.stdout.split("report:")[0].splitlines())) <= 80


def test_warmup(run, monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 2))
    fits = [(spexplain.CART(2, engine="histogram"), X, (X[:, 0] > 0).astype(int))]
    monkeypatch.setattr(warmup, "small_fits", lambda: fits)
    result = run("warmup")
    assert result.exit_code == 0, result.stderr
    assert "Compiled in" in result.stdout
    assert "kept in" in result.stdout


def test_warmup_meets_every_method():
    names = {type(estimator).__name__ for estimator, _, _ in warmup.small_fits()}
    # Random cuts are drawn without compiled code; a given graph is searched as that of neighbours.
    assert names == set(METHODS.values()) - {"RandomCuts", "SpexGraph"}


def test_the_clustering_has_the_time_limit_too(run, files, monkeypatch):
    from spexplain.cli import fitting

    def endless(*given):
        while True:
            pass

    monkeypatch.setattr(fitting, "reference_labels", endless)
    result = run("compare", files["csv"], "-k", 3, "--methods", "cart", "--time-limit", "0.05")
    assert result.exit_code == 1
    assert "The clustering took longer than 0.05 s; --time-limit allows more" in result.stderr


# A loop of foreign code, ten minutes long, that looks at no signal.
FOREIGN = """
import hashlib, sys
from sklearn.tree import DecisionTreeClassifier
from sklearn.cluster import KMeans
from spexplain.cli import main

def endless(self, *args, **options):
    hashlib.pbkdf2_hmac("sha512", b"", b"", 2**31 - 1)

DecisionTreeClassifier.fit = KMeans.fit_predict = endless
sys.exit(main())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_foreign_loops_are_given_up(files):
    limit = ("--time-limit", "3")
    methods = ("--methods", "cart,sklearn-cart")
    done = programs.run(
        FOREIGN, "compare", files["csv"], "-l", "species", *methods, *limit, **programs.UNTRACED
    )
    assert done.returncode == 0, done.stderr
    assert "sklearn-cart: took longer than 3 s and was stopped." in done.stdout
    assert "\ncart " in done.stdout
    assert "methods after it took longer" in done.stderr
    found = ("-k", "3", "-r", "kmeans", "--ignore", "species")
    done = programs.run(
        FOREIGN, "compare", files["csv"], *found, *methods, *limit, **programs.UNTRACED
    )
    assert done.returncode == 1
    assert "The clustering took longer than 3 s" in done.stderr


def test_no_time_limit_at_all(run, files):
    for limit in ("inf", "1e300"):
        result = run(
            "compare", files["csv"], "-l", "species", "--methods", "cart", "--time-limit", limit
        )
        assert result.exit_code == 0, result.stderr
