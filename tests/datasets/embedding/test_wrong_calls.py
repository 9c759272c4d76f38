"""What a user can get wrong about embeddings, and the one sentence that says so."""

from __future__ import annotations

import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets

from encoded import MeanColor, check_sentence, idx
from spexplain import datasets
from spexplain.datasets import embedded
from spexplain.datasets.registry import EMBEDDINGS

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
    with pytest.raises(ValueError, match=f"{next(iter(option))} belongs to the encoder") as caught:
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


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"\0" * 3074, b"\x0a" + b"\0" * 3072],
    ids=["empty", "text", "long", "class"],
)
def test_foreign_cifar_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data_batch_1.bin").write_bytes(content)
    with pytest.raises(ValueError, match="not of CIFAR's form") as caught:
        datasets.load("cifar10", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)


@pytest.mark.parametrize("inside", [".", "cifar-10-batches-py"])
def test_cifar_as_pickles_is_not_read(tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).mkdir(exist_ok=True)
    (tmp_path / inside / "data_batch_1").write_bytes(pickle.dumps({b"data": 1}))
    with pytest.raises(ValueError, match="holds CIFAR-10 as pickles") as caught:
        datasets.load("cifar10", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)
    assert EMBEDDINGS["cifar10"].remotes[0].urls[0] in str(caught.value)


def test_texts_that_cannot_be_downloaded(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", refuse)
    with pytest.raises(ConnectionError, match="no route to host") as caught:
        datasets.load("newsgroups", encoder=MeanColor())
    check_sentence(caught.value)
    assert "give folder" in str(caught.value)
    assert not (cache / "embeddings").exists()


def test_no_download_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "fetch_original", None)  # to call it would be an error
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(ImportError, match=r"spexplain\[embed\]"):
        datasets.load("mnist")
