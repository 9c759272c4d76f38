"""Differences between then and now: each is found, and chance is not taken for one."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from scipy.stats import chi2_contingency, fisher_exact
from sklearn.datasets import load_wine

import drifts
import spexplain
from spexplain import CART, ClusterRules
from spexplain.facts.drift import KINDS, beyond_p_value, p_value, psi, share_p_value
from spexplain.facts.profiles import ColumnProfile, bin_counts, borders_of, part_of
from spexplain.facts.tally import ColumnTally, Sketch, Watched
from spexplain.tree import Column

PENGUINS = load_penguins().drop(columns="year")
X, y = PENGUINS.drop(columns="species"), PENGUINS["species"]


@pytest.fixture(scope="module")
def model():
    return spexplain.from_json(CART(n_leaves=6).fit(X, y).to_json())


def kinds(check, level="alarm"):
    return {each["kind"] for each in check.findings if each["level"] == level}


def texts(check):
    return " ".join(each["text"] for each in check.findings)


def used_columns(model):
    explanation = model.explanation_
    return [explanation.names[each] for each in explanation.used]


# --- the same rows, and fresh rows of the same distribution --------------------------------------


def test_training_rows_are_as_they_were(model):
    check = model.check(X, y)
    assert check.passed
    assert check
    assert check.findings == []
    assert check.facts["segment_psi"] == 0
    assert check.facts["fidelity_now"] == pytest.approx(check.facts["fidelity_then"])
    assert all(each["psi"] == pytest.approx(0, abs=1e-12) for each in check.facts["columns"])
    assert str(check) == "Check passed: 344 rows against CART, which saw 344; no differences."


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", [CART(n_leaves=5), ClusterRules(2)], ids=["tree", "rules"])
def test_fresh_samples_raise_no_alarm(method):
    """In at least 95 of 100 draws; ``benchmarks/drift.py`` takes 100 of every table."""
    failed = []
    seeds = [seed for seed in range(13) if seed != 9]  # of every kind, with and without labels
    for name, load in drifts.TABLES.items():
        rows, labels = load()
        for seed in seeds:
            then, y_then, now, y_now = drifts.fresh(rows, labels, seed)
            check = method.fit(then, y_then).check(now, y_now)
            failed += [] if check.passed else [(name, seed, str(check))]
    assert len(failed) <= 0.05 * len(seeds) * len(drifts.TABLES), failed


# --- every named drift is found -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", [CART(n_leaves=6), ClusterRules(3)], ids=["tree", "rules"])
@pytest.mark.parametrize("name", drifts.TABLES)
def test_each_drift_of_a_real_table_is_found(name, method):
    """In a random half of the rows, by a model of the other half, and for the right reason."""
    rows, labels = drifts.TABLES[name]()
    then, y_then, now, y_now = drifts.halves(rows, labels, seed=0)
    model = spexplain.from_json(method.fit(then, y_then).to_json())
    for title, drift in drifts.DRIFTS.items():
        for case in drift(model, now, y_now, np.random.default_rng(0)):
            assert drifts.is_found(model, case), (title, model.check(case.rows, case.labels))


@pytest.mark.parametrize(
    ("factor", "wanted"), [(100, "about 100×"), (0.001, "about 1/1000 of"), (1 / 25.4, "about 1/25 of")]
)  # fmt: skip
def test_unit_jumps(model, factor, wanted):
    for name in used_columns(model):
        if X[name].dtype.kind != "f":
            continue
        check = model.check(X.assign(**{name: X[name] * factor}))
        assert {"unit-jump", "out-of-range", "drift"} <= kinds(check)
        assert f"{name} is {wanted} what it was" in texts(check)


def test_cents_are_named(model):
    name = next(name for name in used_columns(model) if X[name].dtype.kind == "f")
    assert "cents" in texts(model.check(X.assign(**{name: X[name] * 100})))


def test_fahrenheit():
    rng = np.random.default_rng(0)
    celsius = pd.DataFrame({"temperature": rng.normal(18, 8, 600)})
    fitted = CART(2).fit(celsius, celsius["temperature"] > 20)
    assert "Fahrenheit instead of Celsius?" in texts(fitted.check(celsius * 1.8 + 32))
    assert "unit" not in texts(fitted.check(celsius + 3))


def test_no_unit_jump_where_only_the_distribution_moves(model):
    shifted = X.assign(bill_length_mm=X["bill_length_mm"] + 12)
    assert "unit-jump" not in kinds(model.check(shifted))
    assert "drift" in kinds(model.check(shifted))


def test_new_and_renamed_categories(model):
    renamed = X.assign(island=X["island"].replace("Dream", "dream isle"))
    check = model.check(renamed)
    assert {"new-category", "lost-category", "drift"} <= kinds(check)
    assert "dream isle (124). Dream is gone: renamed to dream isle?" in texts(check)
    few = X.assign(island=X["island"].where(X.index > 0, "Atlantis"))
    check = model.check(few)
    assert check.passed
    assert kinds(check, "notice") == {"new-category"}
    assert not model.check(few, fail_on="new-category").passed
    assert not model.check(few, fail_on=["drift", "any"]).passed
    assert model.check(renamed, fail_on="none").passed


def test_columns_that_are_gone(model):
    check = model.check(X.drop(columns="bill_length_mm"))
    assert kinds(check) == {"missing-column"}
    assert check.facts["segments"] == []
    check = model.check(X.rename(columns={"bill_length_mm": "BillLength"}))
    assert "BillLength has nearly the same name and similar values: renamed?" in texts(check)
    check = model.check(X.rename(columns={"bill_length_mm": "z"}))
    assert "; z has similar values: renamed?" in texts(check)


def test_values_of_another_kind(model):
    check = model.check(X.assign(bill_length_mm=pd.Timestamp("2024-01-01")))
    assert "bill_length_mm no longer holds number values: 344 rows (100%)" in texts(check)
    assert kinds(check) == {"kind-changed"}
    as_text = X["bill_length_mm"].map(str, na_action="ignore")
    texts_now = X.assign(bill_length_mm=as_text.where(X.index > 4, "$3"))
    check = model.check(texts_now)
    assert kinds(check) == {"unreadable-values"}
    assert check.facts["rows_unscored"] == 5
    readable = X.assign(bill_length_mm=as_text)
    check = model.check(readable)
    assert check.passed
    assert kinds(check, "notice") == {"kind-changed"}


def test_missing_values(model):
    holed = X.assign(bill_length_mm=X["bill_length_mm"].where(X.index % 3 > 0))
    assert kinds(model.check(holed)) == {"missing-values"}
    assert "lacks a value in 34% of the rows; it was <1%" in texts(model.check(holed))


def test_segments(model):
    check = model.check(X[y != "Chinstrap"])
    assert {"segment-vanished", "segment-halved"} & kinds(check)
    doubled = pd.concat([X[y != "Chinstrap"], *[X[y == "Chinstrap"]] * 5])
    assert "segment-doubled" in kinds(model.check(doubled))
    by_name = {each["name"]: each for each in model.check(doubled).facts["segments"]}
    assert by_name["Chinstrap"]["share_now"] > 2 * by_name["Chinstrap"]["share_then"]
    total = sum(each["psi"] for each in by_name.values())
    assert model.check(doubled).facts["segment_psi"] == pytest.approx(total)


def test_fidelity(model):
    check = model.check(X, np.random.default_rng(0).permutation(y))
    assert kinds(check) == {"fidelity"}
    assert check.facts["fidelity_now"] < 0.6
    check = model.check(X, y.replace("Adelie", "Emperor"))
    assert "Labels that the model does not know: Emperor (152)." in texts(check)


@pytest.mark.parametrize("fitted", [int, float, str, object])
def test_numbers_of_clusters_are_found_in_any_type(fitted):
    rows, numbers = load_wine(return_X_y=True)
    model = CART(n_leaves=3).fit(rows, numbers.astype(fitted))
    lacking = pd.Series(numbers, dtype="Int64").mask(np.arange(len(rows)) % 10 == 0)
    same = [numbers.astype(each) for each in (int, float, str, object)]
    for labels in (*same, lacking, np.ma.MaskedArray(numbers, lacking.isna())):
        assert model.check(rows, labels).passed
    others = numbers.astype(float) + 1
    found = spexplain.from_json(model.to_json()).check(rows, others)
    assert "Labels that the model does not know: 3 (48)." in texts(found)
    assert found.facts["fidelity_now"] < 0.2


def test_masked_values_are_missing():
    rows, numbers = load_wine(return_X_y=True)
    hidden = np.random.default_rng(0).random(rows.shape) < 0.2
    masked = np.ma.MaskedArray(np.where(hidden, 1e6, rows), hidden)
    for model in (CART(n_leaves=4), ClusterRules(2)):
        assert model.fit(masked, numbers).check(masked, numbers).findings == []


def test_values_out_of_range(model):
    check = model.check(X.assign(bill_length_mm=X["bill_length_mm"].where(X.index > 0, 300.0)))
    assert check.passed
    assert "1 of 342 values lies above the greatest value seen, 59.6 (now up to 300)" in texts(
        check
    )


def test_numbers_of_rows_that_became_tests():
    rows = pd.DataFrame({"customer": np.arange(400), "spent": np.random.default_rng(0).random(400)})
    fitted = CART(features=["customer"]).fit(rows, rows["customer"] < 90)
    later = rows.assign(customer=rows["customer"] + 400)
    check = spexplain.from_json(fitted.to_json()).check(later)
    assert "customer had a different value in every training row" in texts(check)
    assert {"out-of-range", "segment-vanished"} <= kinds(check)


def test_wrong_arguments(model):
    with pytest.raises(ValueError, match="fail_on='new-categry' is not a kind of finding; did you"):
        model.check(X, fail_on="new-categry")
    with pytest.raises(ValueError, match="max_psi=-1 must be"):
        model.check(X, max_psi=-1)
    free = spexplain.SpexKNN(3, n_neighbors=5).fit(load_wine().data)
    with pytest.raises(ValueError, match="fitted without reference labels; leave y out"):
        free.check(load_wine().data, load_wine().target)
    with pytest.raises(ValueError, match=r"^y has 3 labels, but X has 5 rows\.$"):
        model.check(X[:5], y[:3])
    with pytest.raises(ValueError, match=r"^X has no rows; pass at least one new row"):
        model.check(X[:0])
    with pytest.raises(
        TypeError, match=r"^X is a LazyFrame, whose rows are not computed yet; pass"
    ):
        model.check(pl.from_pandas(X).lazy())
    with pytest.raises(ValueError, match="X has 2 columns without names"):
        model.check(np.zeros((5, 2)))


def test_kinds_are_named_once():
    assert len(set(KINDS)) == len(KINDS)


# --- the statistics, against slow twins -----------------------------------------------------------

counts = st.lists(st.integers(0, 60), min_size=2, max_size=6)


@given(counts, st.randoms())
def test_psi_and_its_chance(then, random):
    now = [random.randint(0, 50) for _ in then]
    shares = [[(n + 0.5) / (sum(c) + len(c) / 2) for n in c] for c in (then, now)]
    expected = sum((b - a) * np.log(b / a) for a, b in zip(*shares, strict=True))
    assert psi(then, now) == pytest.approx(expected)
    assert psi(then, now) == pytest.approx(psi(now, then))
    table = np.array([then, now])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1 and table.sum(axis=1).all():
        found = chi2_contingency(table, correction=False)
        if found.expected_freq.min() >= 1:
            assert p_value(then, now) == pytest.approx(found.pvalue)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60), st.integers(0, 60))
def test_chance_of_shares(a, b, more_then, more_now):
    n_then, n_now = a + more_then, b + more_now
    if n_then and n_now:
        sides = [
            fisher_exact([[b, more_now], [a, more_then]], alternative=side).pvalue
            for side in ("less", "greater")
        ]
        assert share_p_value(a, n_then, b, n_now) == pytest.approx(min(1, 2 * min(sides)))


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 4))
def test_chance_of_values_beyond_all_seen(n_then, n_now, count):
    if count > n_now:
        return
    rng = np.random.default_rng(n_then * 100 + n_now)
    drawn = rng.random((20_000, n_then + n_now))
    beyond = (drawn[:, n_then:] > drawn[:, :n_then].max(axis=1)[:, None]).sum(axis=1)
    assert beyond_p_value(count, n_then, n_now) == pytest.approx((beyond >= count).mean(), abs=0.02)


values = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.integers(-3, 3).map(float), st.just(float("nan"))),
    min_size=1,
    max_size=60,
)


@given(values)
def test_profiles(given_values):
    x = np.array(given_values)
    seen = ColumnProfile.of(x, Column("x"))
    known = np.sort(x[~np.isnan(x)])
    assert (seen.n_rows, seen.n_missing, seen.n_known) == (len(x), np.isnan(x).sum(), len(known))
    if len(known):
        assert (seen.low, seen.high) == (known[0], known[-1])
        for place, quantile in enumerate(seen.quantiles):
            assert (known <= quantile).mean() >= place / 20 - 1e-9
        ends = [-np.inf, *seen.borders, np.inf]
        expected = [((known > a) & (known <= b)).sum() for a, b in pairwise(ends)]
        assert list(seen.counts) == expected
    halves = [part_of(part, Column("x"), len(part)) for part in (x[::2], x[1::2])]
    assert ColumnProfile.of_parts(halves, Column("x")) == seen


@given(values, st.integers(1, 5))
def test_counts_do_not_depend_on_blocks(given_values, n_blocks):
    x = np.array(given_values)
    seen = ColumnProfile.of(x[: max(1, len(x) // 2)], Column("x"))
    whole = ColumnTally.of(Watched(Column("x"), seen))
    whole.add(x, np.isnan(x), {})
    parts = [ColumnTally.of(Watched(Column("x"), seen)) for _ in range(n_blocks)]
    for part, block in zip(parts, np.array_split(x, n_blocks), strict=True):
        part.add(block, np.isnan(block), {})
    first = parts[0]
    for part in parts[1:]:
        first.merge(part)
    np.testing.assert_array_equal(first.counts, whole.counts)
    assert first.sketch.counts == whole.sketch.counts
    for name in ("n_rows", "n_missing", "n_below", "n_above", "low", "high"):
        assert getattr(first, name) == getattr(whole, name)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80))
def test_sketched_quantiles_are_within_one_percent(given_values):
    x = np.array(given_values)
    sketch = Sketch()
    sketch.add(x)
    for share in (0.1, 0.5, 0.9):
        (found,) = sketch.quantiles((share,))
        expected = np.quantile(x, share, method="inverted_cdf")
        assert found == pytest.approx(expected, rel=0.011, abs=1e-300)


def test_long_partitions_are_sampled():
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=40_000)
    parts = [part_of(each, Column("x"), 500) for each in np.split(x, [5_000, 20_000])]
    seen, exact = ColumnProfile.of_parts(parts, Column("x")), ColumnProfile.of(x, Column("x"))
    assert (seen.n_rows, seen.low, seen.high) == (40_000, exact.low, exact.high)
    np.testing.assert_allclose(seen.quantiles[1:-1], exact.quantiles[1:-1], rtol=0.05)
    assert psi(seen.counts, bin_counts(x, seen.borders)) < 0.01
    assert borders_of(()) == ()
