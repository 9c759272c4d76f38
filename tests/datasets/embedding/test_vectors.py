"""Texts and pictures as vectors: what comes out, in batches of any size, and which embeddings come first."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from encoded import MeanColor, idx
from spexplain import datasets
from spexplain.datasets import readers
from spexplain.datasets.embedded import entry_name, is_at_hand
from spexplain.datasets.registry import EMBEDDINGS

pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def test_pictures_of_a_folder(pictures: Path) -> None:
    encoder = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=encoder, batch_size=4)
    assert isinstance(dataset, Bunch)
    assert dataset.data.dtype == np.float32
    assert dataset.data.shape == (10, 4)
    assert dataset.target.dtype == np.int64
    assert dataset.target.tolist() == [0] * 3 + [1] * 5 + [2] * 2
    assert dataset.target_names.tolist() == ["ant", "bee", "cat"]
    assert dataset.feature_names == ["dim_0", "dim_1", "dim_2", "dim_3"]
    assert dataset.data[:, 3].tolist() == [8, 9, 10, 8, 9, 10, 11, 12, 8, 9]
    np.testing.assert_allclose(dataset.data[:3, 0], 0, atol=3)
    np.testing.assert_allclose(dataset.data[3:8, 0], 60, atol=3)
    assert "mean-color" in dataset.DESCR
    assert encoder.batches == [4, 4, 2]


@pytest.mark.parametrize("batch_size", [1, 3, 10, 1000])
def test_the_size_of_batches_changes_nothing(pictures: Path, batch_size: int, cache: Path) -> None:
    encoder = MeanColor()
    dataset = datasets.load("cifar10", folder=pictures, encoder=encoder, batch_size=batch_size)
    assert sum(encoder.batches) == 14  # only Caltech-101 has a background class
    assert max(encoder.batches) == min(batch_size, 14)
    whole = [
        readers.read_image(path) for path in sorted(pictures.glob("*/*.*")) if path.suffix != ".txt"
    ]
    np.testing.assert_array_equal(dataset.data, MeanColor().encode(whole).astype(np.float32))


def test_texts_of_a_folder(tmp_path: Path) -> None:
    for name, texts in {"sci.space": ["orbit", "a moon"], "rec.autos": ["car \xe9"]}.items():
        (tmp_path / "texts" / name).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "texts" / name / f"{i}").write_bytes(text.encode("latin-1"))
    encoder = types.SimpleNamespace(
        name="lengths", n_dims=1, encode=lambda batch: [[len(text)] for text in batch]
    )
    dataset = datasets.load("newsgroups", folder=tmp_path / "texts", encoder=encoder)
    assert dataset.data.tolist() == [[5], [5], [6]]
    assert dataset.target_names[dataset.target].tolist() == ["rec.autos", "sci.space", "sci.space"]


def test_newsgroups_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def fetch(**options: Any) -> Bunch:
        asked.append(options)
        return Bunch(data=["a", "bcd", "ef"], target=[1, 0, 1], target_names=["x", "y"])

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    encoder = types.SimpleNamespace(
        name="lengths", n_dims=1, encode=lambda batch: [[len(text)] for text in batch]
    )
    for _ in range(2):
        dataset = datasets.load("newsgroups", encoder=encoder)
        assert dataset.data.tolist() == [[1], [3], [2]]
        assert dataset.target.tolist() == [1, 0, 1]
    assert asked == [{"subset": "train"}]  # with headers, in scikit-learn's order, and once


@pytest.mark.parametrize("inside", [".", "MNIST/raw"])
def test_mnist_as_published(tmp_path: Path, inside: str) -> None:
    digits = np.random.default_rng(0).integers(0, 256, (7, 28, 28), dtype=np.uint8)
    labels = np.array([5, 0, 4, 1, 9, 2, 1], dtype=np.uint8)
    folder = tmp_path / "digits" / inside
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(idx(digits))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    dataset = datasets.load("mnist", folder=tmp_path / "digits", encoder=MeanColor(), batch_size=3)
    np.testing.assert_allclose(dataset.data[:, 1], digits.mean(axis=(1, 2)), rtol=1e-6)
    assert dataset.target.tolist() == labels.tolist()
    assert dataset.target_names.tolist() == [str(digit) for digit in range(10)]


@pytest.mark.parametrize("inside", [".", "cifar-10-batches-bin"])
def test_cifar_as_published(cifar: tuple[Path, np.ndarray], inside: str) -> None:
    folder, pixels = cifar
    dataset = datasets.load("cifar10", folder=folder / inside, encoder=MeanColor(), batch_size=2)
    np.testing.assert_allclose(dataset.data[:, :3], pixels.mean(axis=(2, 3)), rtol=1e-6)
    assert dataset.target.tolist() == [0, 1, 2, 3, 4]
    assert dataset.target_names[1] == "automobile"


def test_caltech_as_published(pictures: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published" / "caltech101"
    folder.mkdir(parents=True)
    pictures.rename(folder / "101_ObjectCategories")
    for each in (folder, folder.parent):
        dataset = datasets.load("caltech101", folder=each, encoder=MeanColor())
        assert dataset.target_names.tolist() == ["ant", "bee", "cat"]


def test_ready_embeddings_come_first_unless_own_are_asked_for(
    pictures: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    shape, n_classes = EMBEDDINGS["mnist"].shape, 10
    np.savez(
        ready / EMBEDDINGS["mnist"].file,
        X=np.zeros(shape, dtype=np.float16),
        y=np.arange(shape[0], dtype=np.int16) % n_classes,
    )
    monkeypatch.setenv("SPEXPLAIN_DATA", str(ready))
    assert datasets.load("mnist", batch_size=8, device="cpu").data.shape == (60000, 512)
    assert datasets.load("mnist", folder=pictures, encoder=MeanColor()).data.shape == (14, 4)


def test_at_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pictures: Path, cache: Path
) -> None:
    mnist = EMBEDDINGS["mnist"]
    assert not is_at_hand(mnist)
    datasets.load("mnist", folder=pictures, encoder=MeanColor())  # others: they do not count
    assert not is_at_hand(mnist)
    # As if the model of the paper had done all its work on the pictures of the paper.
    (made,) = (cache / "embeddings").iterdir()
    made.rename(made.with_name(entry_name("mnist", datasets.ClipEncoder().name, "original")))
    assert is_at_hand(mnist)
    assert datasets.load("mnist").data.shape == (14, 4)  # no model is needed
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "other"))
    assert not is_at_hand(mnist)
    (tmp_path / mnist.file).touch()
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    assert is_at_hand(mnist)
