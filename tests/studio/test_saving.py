"""Sessions on disk: torn lines, files of others, and edits that cannot be done again."""

import json

import pytest
from palmerpenguins import load_penguins

from refusals import refused
from spexplain import CART, from_json
from spexplain.studio import Session
from spexplain.studio.saving import SavedSession, fingerprint, state_folder

PENGUINS = load_penguins().drop(columns=["year"])
TABLE, SPECIES = PENGUINS.drop(columns=["species"]), PENGUINS["species"]


class FrameSource:
    """A table in memory, as a session takes one."""

    name, n_rows = "penguins", len(TABLE)

    def columns(self):
        return [{"name": name, "kind": "number"} for name in TABLE]

    def completed(self, settings):
        return dict(settings)

    def fitted(self, settings):
        return CART(n_leaves=4, min_samples_leaf=3).fit(TABLE, SPECIES)

    def counted(self, text, settings):
        return from_json(text).with_rows(TABLE, SPECIES)

    def about(self):
        return {"name": self.name, "content": "the same"}


def edits(session: Session) -> dict:
    for name, arguments in (
        ("with_test", {"node": 0, "column": "body_mass_g", "threshold": 4100}),
        ("split", {"leaf": 1, "test": "sex = male"}),
        ("merge_clusters", {"one": "Adelie", "other": "Gentoo"}),
        ("lock", {"node": 0}),
        ("forbid", {"column": "island", "below": 2}),
        ("regrow", {"node": 1, "method": "spex", "n_leaves": 2}),
    ):
        question = {"ask": "edit", "version": session.version, "name": name, "arguments": arguments}
        state = session.answer(question)
    return state


def opened(saved: SavedSession) -> Session:
    session = Session(source=FrameSource(), saved=saved)
    session.answer({"ask": "open", "labels": "species"})
    return session


def test_a_session_comes_back(tmp_path):
    with SavedSession(tmp_path / "a.session") as saved:
        session = opened(saved)
        before = edits(session)
        for _ in range(2):
            before = session.answer({"ask": "undo", "version": session.version})
    with SavedSession(tmp_path / "a.session") as saved:
        again = Session(saved=saved)
        assert again.resume(FrameSource(), saved.read()) == 4
        after = again.state()
        for name in ("nodes", "segments", "figures", "journal", "future", "before"):
            assert after[name] == before[name]
        assert again.explanation.training.min_samples_leaf == 3
        for one, other in zip(
            session.explanation.states(), again.explanation.states(), strict=True
        ):
            assert one.tree == other.tree
            assert one.node_counts.tolist() == other.node_counts.tolist()
            assert one.labels.tolist() == other.labels.tolist()
            assert one.locked == other.locked
            assert dict(one.forbidden) == dict(other.forbidden)


@pytest.mark.parametrize("torn", [b'{"edit": "pru', b"\xff", b"{}", b'{"edit":"prune","arguments"'])
def test_a_line_that_was_not_completed_is_lost_alone(tmp_path, torn):
    path = tmp_path / "a.session"
    with SavedSession(path) as saved:
        before = edits(opened(saved))
    with path.open("ab") as file:
        file.write(torn)
    with SavedSession(path) as saved:
        session = Session(saved=saved)
        session.resume(FrameSource(), saved.read())
        assert session.state()["nodes"] == before["nodes"]
        session.answer({"ask": "undo", "version": session.version})
    with SavedSession(path) as saved:
        session = Session(saved=saved)
        assert session.resume(FrameSource(), saved.read()) == len(before["journal"]) - 1


def test_every_prefix_of_the_file_is_a_session(tmp_path):
    path = tmp_path / "a.session"
    with SavedSession(path) as saved:
        edits(opened(saved))
    whole = path.read_bytes()
    lines = whole.count(b"\n")
    found = set()
    for end in [*range(whole.index(b"\n") + 1, len(whole), 17), len(whole)]:
        path.write_bytes(whole[:end])
        with SavedSession(path) as saved:
            found.add(len(saved.read().events))
    assert found == set(range(lines))


def test_edits_that_cannot_be_done_again_are_left_out(tmp_path):
    path = tmp_path / "a.session"
    with SavedSession(path) as saved:
        opened(saved)
        saved.add({"edit": "prune", "arguments": {"node": 1}})
        saved.add({"edit": "prune", "arguments": {"node": 77}})
        saved.add({"edit": "flip", "arguments": {"node": 0}})
    with SavedSession(path) as saved:
        assert Session(saved=saved).resume(FrameSource(), saved.read()) == 1
        assert len(saved.read().events) == 1


def test_only_one_process_has_a_session(tmp_path):
    with SavedSession(tmp_path / "a.session"):
        refused(
            lambda: SavedSession(tmp_path / "a.session"), words=["another studio"], error=OSError
        )
    SavedSession(tmp_path / "a.session").close()


def test_files_that_are_no_session(tmp_path):
    path = tmp_path / "a.session"
    for text in ("", "{}\n", "3\n", "nothing\n", '{"format": "spexplain.model"}\n'):
        path.write_text(text)
        with SavedSession(path) as saved:
            refused(saved.read, words=["not a session"])
    path.write_text(json.dumps({"format": "spexplain.studio", "version": 99}) + "\n")
    with SavedSession(path) as saved:
        refused(saved.read, words=["another version"])


def test_folders_and_fingerprints(tmp_path, monkeypatch):
    monkeypatch.delenv("SPEXPLAIN_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "x"))
    monkeypatch.setattr("sys.platform", "linux")
    assert state_folder() == tmp_path / "x" / "spexplain" / "studio"
    assert state_folder().stat().st_mode & 0o777 == 0o700
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    first = fingerprint(file)
    file.write_text("a\n2\n")
    assert fingerprint(file) != first
    monkeypatch.setattr("spexplain.studio.saving._HASHED", 2)
    assert fingerprint(file).split()[0] == "4"
