"""What a user can get wrong about embeddings, and the one sentence that says so."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from encoded import MeanColor, check_sentence, idx
from spexplain import datasets
from spexplain.datasets import originals
from spexplain.datasets.embeddings import EMBEDDINGS

pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def test_unknown_option(pictures: Path) -> None:
    with pytest.raises(TypeError, match="'cifar10' has no parameter 'n_samples'") as caught:
        datasets.load("cifar10", folder=pictures, n_samples=4)
    check_sentence(caught.value)
    with pytest.raises(TypeError, match="'r15' has no parameter 'folder'"):
        datasets.load("r15", folder=pictures)


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "8", True])
def test_wrong_batch_size(pictures: Path, batch_size: Any) -> None:
    with pytest.raises(ValueError, match="batch_size=") as caught:
        datasets.load("cifar10", folder=pictures, encoder=MeanColor(), batch_size=batch_size)
    check_sentence(caught.value)


@pytest.mark.parametrize("option", [{"weights": "some"}, {"device": "cpu"}])
def test_encoder_with_options_of_another(pictures: Path, option: dict[str, str]) -> None:
    with pytest.raises(
        ValueError, match=f"{next(iter(option))} is a matter of the encoder"
    ) as caught:
        datasets.load("cifar10", folder=pictures, encoder=MeanColor(), **option)
    check_sentence(caught.value)


def test_encoder_that_is_none(pictures: Path) -> None:
    with pytest.raises(TypeError, match="encoder must have") as caught:
        datasets.load("cifar10", folder=pictures, encoder=len)
    check_sentence(caught.value)


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [(np.zeros((10, 3)), r"shape \(10, 3\)"), (np.full((10, 4), np.nan), "finite")],
)
def test_encoder_that_gives_something_else(
    pictures: Path, vectors: np.ndarray, reason: str
) -> None:
    encoder = types.SimpleNamespace(name="wrong", n_dims=4, encode=lambda batch: vectors)
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("caltech101", folder=pictures, encoder=encoder)
    check_sentence(caught.value)


def test_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="folder=") as caught:
        datasets.load("mnist", folder=tmp_path / "nowhere", encoder=MeanColor())
    check_sentence(caught.value)
    with pytest.raises(ValueError, match="must hold a folder of pictures for every class") as empty:
        datasets.load("mnist", folder=tmp_path, encoder=MeanColor())
    check_sentence(empty.value)


def test_unreadable_picture(pictures: Path) -> None:
    (pictures / "bee" / "0.jpg").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"The picture .*0\.jpg cannot be read") as caught:
        datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    check_sentence(caught.value)


@pytest.mark.parametrize("content", [b"", b"\0" * 40, idx(np.zeros(5, dtype=np.uint8))])
def test_foreign_mnist_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(ValueError, match="not of MNIST's form") as caught:
        datasets.load("mnist", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)


class Evil:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return print, ("run",)


@pytest.mark.parametrize(
    "content", [b"", b"text", pickle.dumps({b"data": 1}), pickle.dumps({b"data": Evil()})]
)
def test_foreign_cifar_files_run_nothing(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data_batch_1").write_bytes(content)
    with pytest.raises(ValueError, match="not of CIFAR's form") as caught:
        datasets.load("cifar10", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["mnist", "cifar10", "caltech101", "newsgroups"])
def test_no_connection(name: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", refuse)
    monkeypatch.setattr(originals, "_DOWNLOADS", dict.fromkeys(EMBEDDINGS, refuse))
    with pytest.raises(ConnectionError, match="no route to host") as caught:
        datasets.load(name, encoder=MeanColor())
    check_sentence(caught.value)
    assert "give folder" in str(caught.value)
    assert not (cache / "embeddings").exists()


def test_no_download_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_DOWNLOADS", {})  # would raise a KeyError
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(ImportError, match=r"spexplain\[embed\]"):
        datasets.load("mnist")
