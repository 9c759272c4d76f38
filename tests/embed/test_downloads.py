"""Originals are downloaded, from this machine, and embedded."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from encoded import check_sentence, idx
from spexplain import datasets


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_of_mnist(
    open_clip: Any,
    torchvision: Any,
    clip_folder: Path,
    served: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, address = served
    digits = np.random.default_rng(0).integers(0, 256, (7, 28, 28), dtype=np.uint8)
    labels = np.arange(7, dtype=np.uint8)
    resources = []
    for name, values in (("train-images-idx3-ubyte", digits), ("train-labels-idx1-ubyte", labels)):
        content = gzip.compress(idx(values))
        (folder / f"{name}.gz").write_bytes(content)
        resources.append((f"{name}.gz", hashlib.md5(content, usedforsecurity=False).hexdigest()))
    mnist = torchvision.datasets.MNIST
    monkeypatch.setattr(mnist, "resources", resources)
    monkeypatch.setattr(mnist, "mirrors", [f"{address}absent/", address])  # the first one fails
    dataset = datasets.load("mnist", weights=clip_folder, batch_size=4)
    assert dataset.data.shape == (7, 12)
    assert dataset.target.tolist() == list(range(7))
    monkeypatch.setattr(mnist, "mirrors", [])
    other = SimpleNamespace(name="other", n_dims=1, encode=lambda batch: [[1.0]] * len(batch))
    assert datasets.load("mnist", encoder=other).data.shape == (7, 1)  # and nothing is fetched


@pytest.mark.filterwarnings("ignore:Python 3.14 will:DeprecationWarning")  # torchvision unpacks so
def test_download_of_cifar10(
    open_clip: Any,
    torchvision: Any,
    clip_folder: Path,
    served: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, address = served
    pixels = np.random.default_rng(0).integers(0, 256, (10, 3072), dtype=np.uint8)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for number in range(5):
            rows = slice(2 * number, 2 * number + 2)
            content = pickle.dumps({b"data": pixels[rows], b"labels": list(range(10))[rows]})
            member = tarfile.TarInfo(f"cifar-10-batches-py/data_batch_{number + 1}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (folder / "some.tar.gz").write_bytes(buffer.getvalue())
    cifar = torchvision.datasets.CIFAR10
    md5 = hashlib.md5(buffer.getvalue(), usedforsecurity=False).hexdigest()
    monkeypatch.setattr(cifar, "url", f"{address}some.tar.gz")
    monkeypatch.setattr(cifar, "tgz_md5", "0" * 32)
    with pytest.raises(ConnectionError, match="could not be downloaded") as caught:
        datasets.load("cifar10", weights=clip_folder)
    check_sentence(caught.value)
    monkeypatch.setattr(cifar, "tgz_md5", md5)
    dataset = datasets.load("cifar10", weights=clip_folder, batch_size=3)
    assert dataset.data.shape == (10, 12)
    assert dataset.target.tolist() == list(range(10))
    assert dataset.target_names[0] == "airplane"


def test_caltech101_that_torchvision_has_unpacked(
    open_clip: Any, clip_folder: Path, picture_folder: Path, cache: Path
) -> None:
    pytest.importorskip("gdown", reason="gdown is not installed")
    folder = cache / "raw" / "caltech101"
    folder.mkdir(parents=True)
    picture_folder.rename(folder / "101_ObjectCategories")
    (folder / "Annotations").mkdir()
    for name in ("ant", "bee"):
        (folder / "Annotations" / name).mkdir()
    dataset = datasets.load("caltech101", weights=clip_folder)
    assert dataset.data.shape == (7, 12)
    assert dataset.target_names.tolist() == ["ant", "bee"]
