"""Pictures are downloaded, from this machine, checked, unpacked once, and embedded."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from encoded import MeanColor, check_sentence, cifar_records, idx
from served import Server
from spexplain import datasets
from spexplain.datasets.registry import EMBEDDINGS, Embedding

pytest.importorskip("PIL.Image", reason="Pillow is not installed")
PICTURES = ("mnist", "cifar10", "caltech101")
PIXELS = np.random.default_rng(0).integers(0, 256, (10, 3, 32, 32), dtype=np.uint8)
DIGITS = np.random.default_rng(0).integers(0, 256, (7, 28, 28), dtype=np.uint8)


@pytest.fixture
def serve(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Embedding]:
    """A function that lets the server stand in for the sources of a dataset; the first mirror fails."""

    def put(name: str, *contents: bytes, checksum: str | None = None) -> Embedding:
        embedding = EMBEDDINGS[name]
        remotes = []
        for remote, content in zip(embedding.remotes, contents, strict=True):
            server.files[f"/{remote.name}"] = content
            digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
            urls = (f"{server.address}/absent", f"{server.address}/{remote.name}")
            remotes.append(replace(remote, urls=urls, checksum=checksum or f"md5:{digest}"))
        embedding = replace(embedding, remotes=tuple(remotes))
        monkeypatch.setitem(EMBEDDINGS, name, embedding)
        return embedding

    return put


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def cifar_archive() -> bytes:
    """Five files of two pictures each."""
    parts = np.split(np.arange(10), 5)
    return tar_of(
        {
            f"cifar-10-batches-bin/data_batch_{i}.bin": cifar_records(PIXELS[part], part)
            for i, part in enumerate(parts, 1)
        }
    )


def caltech_archive(pictures: Path) -> bytes:
    """An archive in an archive, as published."""
    paths = sorted(path for path in pictures.rglob("*") if path.is_file())
    content = {
        f"101_ObjectCategories/{path.relative_to(pictures).as_posix()}": path.read_bytes()
        for path in paths
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("__MACOSX/caltech-101/._101_ObjectCategories.tar.gz", b"\x00")
        archive.writestr("caltech-101/101_ObjectCategories.tar.gz", tar_of(content))
        archive.writestr("caltech-101/Annotations.tar", b"not this one")
    return buffer.getvalue()


def check_loaded_once(name: str, server: Server, cache: Path, *, left: set[str]) -> None:
    """Another model finds the pictures in the cache, where no archive and nothing half-made is left."""
    server.close()
    other = MeanColor()
    other.name = "other"
    datasets.load(name, encoder=other)
    assert {path.name for path in (cache / "raw" / name).iterdir()} == left


def test_mnist(serve: Callable[..., Embedding], server: Server, cache: Path) -> None:
    labels = np.arange(7, dtype=np.uint8)
    serve("mnist", gzip.compress(idx(DIGITS)), gzip.compress(idx(labels)))
    dataset = datasets.load("mnist", encoder=MeanColor(), batch_size=4)
    np.testing.assert_allclose(dataset.data[:, 1], DIGITS.mean(axis=(1, 2)), rtol=1e-6)
    assert dataset.target.tolist() == list(range(7))
    assert server.requests == 4  # each file from its second mirror
    left = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}
    check_loaded_once("mnist", server, cache, left=left)


def test_cifar10(serve: Callable[..., Embedding], server: Server, cache: Path) -> None:
    serve("cifar10", cifar_archive())
    dataset = datasets.load("cifar10", encoder=MeanColor(), batch_size=3)
    np.testing.assert_allclose(dataset.data[:, :3], PIXELS.mean(axis=(2, 3)), rtol=1e-6)
    assert dataset.target.tolist() == list(range(10))
    assert dataset.target_names[0] == "airplane"
    check_loaded_once("cifar10", server, cache, left={"cifar-10-batches-bin"})


def test_caltech101(
    serve: Callable[..., Embedding], server: Server, cache: Path, pictures: Path
) -> None:
    serve("caltech101", caltech_archive(pictures))
    dataset = datasets.load("caltech101", encoder=MeanColor())
    assert dataset.data.shape == (10, 4)
    assert dataset.target_names.tolist() == ["ant", "bee", "cat"]
    check_loaded_once("caltech101", server, cache, left={"101_ObjectCategories"})


def test_caltech101_that_torchvision_has_unpacked(pictures: Path, cache: Path) -> None:
    folder = cache / "raw" / "caltech101"
    folder.mkdir(parents=True)
    pictures.rename(folder / "101_ObjectCategories")
    assert datasets.load("caltech101", encoder=MeanColor()).data.shape == (10, 4)


def test_unpacking_that_is_interrupted_begins_anew(
    serve: Callable[..., Embedding], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve("cifar10", cifar_archive())
    extractall = tarfile.TarFile.extractall

    def interrupted(self: tarfile.TarFile, path: Path, **options: object) -> None:
        extractall(self, path, members=self.getmembers()[:2], **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extractall", interrupted)
        with pytest.raises(KeyboardInterrupt):
            datasets.load("cifar10", encoder=MeanColor())
    assert datasets.load("cifar10", encoder=MeanColor()).data.shape == (10, 4)
    assert [path.name for path in (cache / "raw" / "cifar10").iterdir()] == ["cifar-10-batches-bin"]


def check_trouble(error: BaseException, name: str, cache: Path) -> None:
    check_sentence(error)
    assert f"The images of the dataset {name!r} could not be downloaded: " in str(error)
    assert "give folder" in str(error)
    assert not (cache / "embeddings").exists()
    assert not any((cache / "raw" / name).glob("*"))


@pytest.mark.parametrize("name", PICTURES)
def test_no_connection(
    name: str, serve: Callable[..., Embedding], server: Server, cache: Path
) -> None:
    serve(name, *[b"some"] * len(EMBEDDINGS[name].remotes))
    server.close()
    with pytest.raises(ConnectionError, match="no connection") as caught:
        datasets.load(name, encoder=MeanColor())
    check_trouble(caught.value, name, cache)


@pytest.mark.parametrize("name", PICTURES)
def test_wrong_checksum(name: str, serve: Callable[..., Embedding], cache: Path) -> None:
    serve(name, *[b"some"] * len(EMBEDDINGS[name].remotes), checksum="md5:" + 32 * "0")
    with pytest.raises(ValueError, match="does not have the MD5 checksum 0000") as caught:
        datasets.load(name, encoder=MeanColor())
    check_trouble(caught.value, name, cache)


@pytest.mark.parametrize("name", PICTURES)
def test_without_pooch(name: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[datasets\]"') as caught:
        datasets.load(name, encoder=MeanColor())
    check_sentence(caught.value)
    assert repr(name) in str(caught.value)
    assert not cache.exists()


@pytest.mark.parametrize("name", PICTURES)
def test_sources_have_checksums(name: str) -> None:
    assert EMBEDDINGS[name].remotes
    for remote in EMBEDDINGS[name].remotes:
        assert str(remote.checksum).startswith("md5:")
        assert all(url.startswith("https://") and url.endswith(remote.name) for url in remote.urls)
