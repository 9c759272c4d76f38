"""Rules through a pipeline: steps are undone, and the model in raw units labels all rows as the pipeline does."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from refusals import refused
from spexplain import CART, IMM, BestTree, ClusterClassifier, SpexClique, from_json, raw_units

PENGUINS = load_penguins()
SPECIES = PENGUINS["species"]
TABLE = PENGUINS.drop(columns=["species", "year"])
NUMBERS = TABLE.select_dtypes("number").dropna()
KINDS = SPECIES[NUMBERS.index]


def negated():
    return FunctionTransformer(np.negative, np.negative)


def logs():
    return FunctionTransformer(np.log, np.exp)


def reciprocals():
    return FunctionTransformer(np.reciprocal, np.reciprocal)


STEPS = {
    "standard": StandardScaler,
    "range": MinMaxScaler,
    "largest": MaxAbsScaler,
    "robust": RobustScaler,
    "power": PowerTransformer,
    "quantile": lambda: QuantileTransformer(n_quantiles=50),
    "normal": lambda: QuantileTransformer(n_quantiles=50, output_distribution="normal"),
    "log": logs,
    "negated": negated,
    "reciprocal": reciprocals,
}


@pytest.mark.parametrize("make", STEPS.values(), ids=list(STEPS))
@pytest.mark.parametrize("explainer", [CART(n_leaves=6), SpexClique(), IMM(), BestTree()], ids=str)
def test_rules_speak_the_original_columns(make, explainer):
    pipeline = make_pipeline(make(), explainer).fit(NUMBERS, KINDS)
    for given_rows in (None, NUMBERS):
        model = raw_units(pipeline, given_rows)
        assert model.predict(NUMBERS).tolist() == pipeline.predict(NUMBERS).tolist()
        assert model.leaf_reference_.tolist() == pipeline[-1].leaf_reference_.tolist()
        assert model.feature_names_in_.tolist() == NUMBERS.columns.tolist()
        assert model.agreement_ == pipeline[-1].agreement_
        # Values of the table have one digit after the point: no threshold needs more than two.
        for test in model.tree_.tests.values():
            for end in (test.lower, test.upper):
                assert not np.isfinite(end) or round(end, 2) == end


def test_scaled_and_raw_columns_give_the_same_rules():
    raw = CART(n_leaves=5).fit(NUMBERS, KINDS)
    scaled = make_pipeline(StandardScaler(), CART(n_leaves=5)).fit(NUMBERS, KINDS)
    model = raw_units(scaled, NUMBERS)
    assert model.to_text() == raw.to_text()
    assert raw_units(raw).to_text() == raw.to_text()
    assert model.summary()["leaves"][0]["rule"] == raw.summary()["leaves"][0]["rule"]


def columns_of_all_kinds(sparse=False):
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                [2, 3, 4],
            ),
            (
                "sex",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=sparse)
                ),
                ["sex"],
            ),
            ("island", OrdinalEncoder(), ["island"]),
        ],
        remainder="drop",
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_column_transformers_encoders_and_imputers(sparse):
    table = PENGUINS.drop(columns="species")[
        ["island", "sex", "bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    ]
    labels = (table["island"] + " " + table["sex"].fillna("?")).to_numpy()
    pipeline = make_pipeline(columns_of_all_kinds(sparse), CART(n_leaves=9)).fit(table, labels)
    for given_rows in (None, table):
        model = raw_units(pipeline, given_rows)
        assert model.predict(table).tolist() == pipeline.predict(table).tolist()
        text = model.to_text()
        assert "island = Biscoe" in text
        assert "sex = male or missing" in text
        assert from_json(model.to_json()).to_text() == text
    assert "CASE" in model.to_sql()


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (OneHotEncoder(drop="first"), "island"),
        (OneHotEncoder(min_frequency=100, handle_unknown="infrequent_if_exist"), "island"),
        (OneHotEncoder(handle_unknown="ignore"), "island"),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), "island"),
        (TargetEncoder(target_type="multiclass"), "island"),
    ],
    ids=str,
)
def test_options_of_encoders(encoder, words):
    table = TABLE[["island", "sex"]].fillna("unknown")
    pipeline = make_pipeline(encoder, CART(n_leaves=5)).fit(table, SPECIES)
    rows = pd.concat([table, pd.DataFrame({"island": ["Atlantis"], "sex": ["female"]})])
    is_open = getattr(encoder, "handle_unknown", "error") != "error" or "Target" in str(encoder)
    rows = rows if is_open else table
    # A target encoder gives training rows other numbers than later ones: only those are promised.
    for given_rows in (None, table):
        model = raw_units(pipeline, given_rows)
        assert model.predict(rows).tolist() == pipeline.predict(rows).tolist()
        assert words in model.to_text()


def test_binned_columns():
    bins = KBinsDiscretizer(6, encode="ordinal")
    if "quantile_method" in bins.get_params():  # since scikit-learn 1.7, which warns without it
        bins.set_params(quantile_method="averaged_inverted_cdf")
    for step, n_leaves in ((bins, 4), (Binarizer(threshold=190.0), 2)):
        pipeline = make_pipeline(step, CART(n_leaves=n_leaves)).fit(NUMBERS, KINDS == "Gentoo")
        for given_rows in (None, NUMBERS):
            model = raw_units(pipeline, given_rows)
            assert model.predict(NUMBERS).tolist() == pipeline.predict(NUMBERS).tolist()


def test_selections_unions_and_nested_pipelines():
    steps = Pipeline(
        [
            ("fill", SimpleImputer()),
            ("some", SelectKBest(k=3)),
            ("both", FeatureUnion([("log", logs()), ("scaled", StandardScaler())])),
            ("varied", VarianceThreshold()),
            ("nothing", "passthrough"),
        ]
    )
    table = TABLE.select_dtypes("number")
    pipeline = make_pipeline(steps, ClusterClassifier(CART(n_leaves=6))).fit(table, SPECIES)
    seen = pipeline[:-1].transform(table)
    for given_rows in (None, table):
        model = raw_units(pipeline, given_rows)
        assert model.predict(table).tolist() == pipeline[-1].apply(seen).tolist()
        assert model.predict_reference(table).tolist() == pipeline.predict(table).tolist()


def test_missing_values_go_where_the_value_goes_that_fills_them():
    X = np.array([[1.0], [2.0], [np.nan], [8.0], [9.0], [10.0]])
    y = ["low", "low", "high", "high", "high", "high"]
    pipeline = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), CART())
    pipeline.fit(X, y)
    model = raw_units(pipeline)
    assert model.to_text().splitlines()[0] == "x0 ≤ 5"
    assert model.rules()[1]["rule"] == "x0 > 5 or missing"
    assert model.predict(X).tolist() == pipeline.predict(X).tolist()


def test_whole_numbers_stay_whole():
    X = np.array([[20.0], [31.0], [40.0], [41.0], [60.0]])
    for step in (StandardScaler(), PowerTransformer(), logs(), negated()):
        pipeline = make_pipeline(step, CART()).fit(X, [0, 0, 0, 1, 1])
        assert raw_units(pipeline).to_text().splitlines()[0] in ("x0 ≤ 40", "x0 > 40")


def test_neighbouring_numbers_stay_apart_where_a_step_falls():
    X = np.array([[1.0], [1.0], [1000.0], [1000.000000001]])
    pipeline = make_pipeline(negated(), CART()).fit(X, [2, 2, 1, 0])
    assert raw_units(pipeline).predict(X).tolist() == pipeline.predict(X).tolist()


def test_the_model_remembers_the_rows_it_was_given(tmp_path):
    pipeline = make_pipeline(RobustScaler(), CART(n_leaves=3)).fit(NUMBERS, KINDS)
    model = raw_units(pipeline, NUMBERS)
    assert model.labels_.tolist() == pipeline[-1].labels_.tolist()
    page = model.report(tmp_path / "report.html").read_text()
    assert "flipper_length_mm" in page
    profile = model.summary()["leaves"][0]["profile"][0]
    column = NUMBERS[profile["name"]]
    assert column.min() <= profile["mean"] <= column.max()


POSITIVE = st.one_of(
    st.integers(1, 6).map(float),
    st.floats(0.5, 1e4, width=32),
    st.sampled_from([0.1, 0.2, 0.30000000000000004, 0.3, 1.0, 1e3, 1e3 + 1e-9]),
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(POSITIVE, POSITIVE), min_size=6, max_size=20),
    st.lists(st.sampled_from([name for name in STEPS if name != "power"]), min_size=1, max_size=3),
    st.data(),
)
def test_training_rows_are_labelled_identically(rows, names, data):
    X = np.array(rows)
    if len(np.unique(X[:, 0])) < 2:
        X[0, 0] = X[:, 0].max() + 1
    positive = ("log", "reciprocal")
    names = [name for at, name in enumerate(names) if at == 0 or name not in positive]
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X)))
    y[:2] = 0, 1
    pipeline = make_pipeline(*(STEPS[name]() for name in names), CART(n_leaves=5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipeline.fit(X, y)
        except ValueError:  # the steps made all rows equal
            return
        wanted = pipeline.predict(X).tolist()
        assert raw_units(pipeline, X).predict(X).tolist() == wanted
        assert raw_units(pipeline).predict(X).tolist() == wanted


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (PCA(2), ["PCA", "one by one"]),
        (Normalizer(), ["Normalizer"]),
        (FunctionTransformer(np.log), ["FunctionTransformer", "inverse_func"]),
        (
            FunctionTransformer(lambda X: X[:, ::-1], lambda X: X[:, ::-1]),
            ["FunctionTransformer", "mixes columns"],
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_steps_that_cannot_be_undone_are_refused(step, words):
    pipeline = make_pipeline(step, CART()).fit(NUMBERS.to_numpy(), KINDS)
    refused(lambda: raw_units(pipeline), words=words)


def test_refusals():
    refused(
        lambda: raw_units(make_pipeline(StandardScaler())), words=["explainer"], error=TypeError
    )
    odd = FunctionTransformer(np.sin, np.arcsin, check_inverse=False)
    pipeline = make_pipeline(odd, CART(n_leaves=4)).fit(NUMBERS.to_numpy(), KINDS)
    refused(lambda: raw_units(pipeline, NUMBERS.to_numpy()), words=["not monotone"])


def test_a_column_that_is_both_a_number_and_a_category_is_refused():
    both = ColumnTransformer(
        [("number", MinMaxScaler(), ["year"]), ("category", OneHotEncoder(), ["year"])],
        sparse_threshold=0,
    )
    years = pd.DataFrame({"year": [2007, 2007, 2008, 2008, 2009, 2009, 2010, 2010]})
    labels = ["a", "a", "b", "b", "a", "a", "c", "c"]
    pipeline = make_pipeline(both, CART(n_leaves=3, features=[0, 2])).fit(years, labels)
    assert {test.feature for test in pipeline[-1].tree_.tests.values()} == {0, 2}
    refused(lambda: raw_units(pipeline), words=["year", "once"])
