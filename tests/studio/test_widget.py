"""The studio in a notebook: edits in the page are `edited_`, and what is assigned to it is on the page."""

import gc
import pickle
import subprocess
import sys
import weakref

import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone

from refusals import refused
from spexplain import CART, from_json
from spexplain.studio import widget

pytest.importorskip("anywidget")

PENGUINS = load_penguins().drop(columns=["year"])
TABLE, SPECIES = PENGUINS.drop(columns=["species"]), PENGUINS["species"]


@pytest.fixture
def explainer():
    return CART(n_leaves=4).fit(TABLE, SPECIES)


class Heard:
    """What a widget sends to its page."""

    def __init__(self, shown, monkeypatch):
        self.shown, self.messages = shown, []
        monkeypatch.setattr(
            shown, "send", lambda message, buffers=None: self.messages.append(message)
        )

    def ask(self, number, **question):
        self.shown._handle_custom_msg({"id": number, "question": question}, [])
        return next(each for each in self.messages[::-1] if each.get("id") == number)


def test_edits_go_both_ways(explainer, monkeypatch):
    assert explainer.edited_ is explainer
    page = Heard(explainer.studio(), monkeypatch)
    state = page.ask("a1", ask="state")["answer"]
    assert state["figures"]["n_leaves"] == 4
    answer = page.ask("a2", ask="edit", version=1, name="prune", arguments={"node": 1})["answer"]
    assert answer["version"] == 2
    assert explainer.edited_.n_leaves_ == answer["figures"]["n_leaves"] < 4
    assert explainer.n_leaves_ == 4  # the fitted one stays
    assert type(explainer.edited_) is CART
    assert explainer.edited_.to_sql() != explainer.to_sql()
    page.messages.clear()
    explainer.edited_ = explainer.edited_.explanation_.rename("Gentoo", "large")
    assert page.messages == [{"changed": 3}]
    state = page.ask("a3", ask="state")["answer"]
    assert [each["name"] for each in state["segments"]] == ["Adelie", "Chinstrap", "large"]
    explainer.edited_ = explainer
    assert page.ask("a4", ask="state")["answer"]["journal"] == []
    assert explainer.edited_ is explainer
    refused(lambda: setattr(explainer, "edited_", 3), words=["edited_", "int"])


def test_refusals_reach_the_page(explainer, monkeypatch):
    page = Heard(explainer.studio(), monkeypatch)
    refusal = page.ask(1, ask="preview", node=99)
    assert refusal["status"] == 400
    assert refusal["error"].endswith(".")
    page.ask(2, ask="edit", version=1, name="prune", arguments={"node": 1})
    stale = page.ask(3, ask="edit", version=1, name="prune", arguments={"node": 0})
    assert stale["status"] == 409
    assert stale["state"]["version"] == 2
    for nonsense in (None, [], "x", {}, {"question": 3}):
        page.shown._handle_custom_msg(nonsense, [])
    monkeypatch.setattr(page.shown.session, "answer", lambda question: 1 / 0)
    assert page.ask(4, ask="state")["status"] == 500


def test_two_widgets_show_one_session(explainer, monkeypatch):
    one, other = (Heard(explainer.studio(), monkeypatch) for _ in range(2))
    one.ask(1, ask="edit", version=1, name="prune", arguments={"node": 1})
    assert {"changed": 2} in other.messages
    assert other.ask(1, ask="state")["answer"]["version"] == 2


def test_a_new_fit_starts_over(explainer, monkeypatch):
    page = Heard(explainer.studio(), monkeypatch)
    page.ask(1, ask="edit", version=1, name="prune", arguments={"node": 1})
    explainer.fit(TABLE, SPECIES)
    assert explainer.edited_ is explainer
    assert Heard(explainer.studio(), monkeypatch).ask(1, ask="state")["answer"]["journal"] == []


def test_models_with_an_open_studio_are_as_before():
    explainer = CART(n_leaves=4).fit(TABLE, SPECIES)
    explainer.studio()
    again = pickle.loads(pickle.dumps(explainer))
    assert again.tree_ == explainer.tree_
    assert clone(explainer).get_params() == explainer.get_params()
    here = weakref.ref(explainer)
    assert explainer in widget._SESSIONS
    del explainer, again
    gc.collect()
    assert here() is None  # no session keeps it


def test_models_without_rows_are_refused(explainer):
    loaded = from_json(explainer.to_json())
    refused(loaded.studio, words=["model", "with_rows"])
    assert loaded.with_rows(TABLE, SPECIES).studio() is not None


def test_the_page_is_that_of_the_package(explainer):
    shown = explainer.studio()
    assert "render" in str(shown._esm)
    assert ".spexplain-studio" in str(shown._css)


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("anywidget", "CART().fit([[1.0], [2.0]], [0, 1]).studio()"),
        ("starlette", "spexplain.studio.server.Served(None)"),
    ],
)
def test_an_absent_package_is_one_sentence(module, code):
    script = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "import importlib.util as u; real = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name == {module!r} else real(name, *a)\n"
        "import spexplain, spexplain.studio.server\nfrom spexplain import CART\n"
        f"try:\n    {code}\nexcept ImportError as error:\n    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert f'{module}: pip install "spexplain[studio]".' in found.stdout
    assert found.stdout.count("\n") == 1
