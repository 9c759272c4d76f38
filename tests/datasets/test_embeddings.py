"""Embeddings of texts and pictures that lie in the data folder."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from served import (
    check_bunch,
    is_sentence,
)
from spexplain import datasets
from spexplain.datasets.registry import EMBEDDINGS


@pytest.mark.parametrize("name", ["newsgroups", "caltech101", "cifar10", "mnist"])
def test_embedding_without_the_models(
    name: str, no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("sentence_transformers", "open_clip"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[embed\]"') as caught:
        datasets.load(name)
    assert is_sentence(caught.value)
    assert EMBEDDINGS[name].file in str(caught.value)
    assert "SPEXPLAIN_DATA" in str(caught.value)
    assert not no_data.exists()


@pytest.fixture
def small_embedding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The path at which a shrunk 'newsgroups' of 6 rows, 3 columns, 2 classes is looked for."""
    embedding = replace(EMBEDDINGS["newsgroups"], shape=(6, 3), target_names=("a", "b"))
    monkeypatch.setitem(EMBEDDINGS, "newsgroups", embedding)
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    return tmp_path / embedding.file


X6 = np.arange(18).reshape(6, 3).astype(np.float16)
Y6 = np.array([0, 1] * 3, dtype=np.int16)


def test_embedding(small_embedding: Path) -> None:
    np.savez(small_embedding, X=X6, y=Y6, spectral=1 - Y6)
    dataset = datasets.load("newsgroups")
    check_bunch(dataset, 6, 3, 2)
    assert dataset.data.dtype == np.float32
    assert dataset.spectral.tolist() == [1, 0] * 3
    assert dataset.spectral.dtype == np.int64
    assert "kmeans" not in dataset


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"y": Y6}, "X"),
        ({"X": X6}, "y"),
        ({"X": X6[:, :2], "y": Y6}, r"shape \(6, 2\), not \(6, 3\)"),
        ({"X": X6, "y": Y6[:4]}, "its y does not have 6 entries"),
        ({"X": X6, "y": Y6, "kmeans": Y6[:4]}, "its kmeans does not have 6 entries"),
        ({"X": X6, "y": 2 * Y6}, "classes 0 to 1"),
    ],
)
def test_embedding_is_something_else(
    arrays: dict[str, np.ndarray], reason: str, small_embedding: Path
) -> None:
    np.savez(small_embedding, **arrays)
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("newsgroups")
    assert is_sentence(caught.value)


def test_embedding_is_no_archive(small_embedding: Path) -> None:
    small_embedding.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="not a NumPy archive") as caught:
        datasets.load("newsgroups")
    assert is_sentence(caught.value)
