"""What `verbose` prints."""

import logging
import sys

import numpy as np
import pytest

from spexplain import SpexClique
from spexplain.estimators import progress


def test_stages_are_printed_with_their_times(capsys: pytest.CaptureFixture[str]) -> None:
    SpexClique(verbose=1, refine="agreement").fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["reference", "graph", "tree", "refine"]
    assert all(line.startswith("[SpexClique]") and line.endswith(" s") for line in lines)


def test_silence_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    SpexClique().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    assert capsys.readouterr() == ("", "")


def test_programs_may_listen(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="spexplain"):
        SpexClique().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    assert [record.name for record in caplog.records] == ["spexplain"] * 3
    assert progress.LOGGER.handlers == []


def test_nothing_is_left_behind(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="y has 1 labels"):
        SpexClique(verbose=1).fit([[0.0], [1.0]], [0])
    assert progress.LOGGER.handlers == []
    assert progress.LOGGER.level == logging.NOTSET
    with progress.messages(1), progress.messages(1), progress.stage("x", "one"):
        pass
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_bar_of_leaves_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rng = np.random.default_rng(0)
    SpexClique(verbose=1).fit(rng.normal(size=(60, 2)), rng.integers(0, 5, 60))
    shown = capsys.readouterr().err
    assert "5/5 leaves" in shown
    assert shown.index("\x1b[K") < shown.index("tree")  # the bar is wiped before the stage's line


def test_no_bar_outside_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.leaf_bar("x", 5, verbose=1) as draw:
        assert draw is None
    assert capsys.readouterr().err == ""
