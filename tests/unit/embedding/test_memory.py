"""No more pictures in memory than a batch, or a file, holds."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoded import MeanColor, idx
from spexplain import datasets
from spexplain.datasets import raw

pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.mark.parametrize("batch_size", [1, 4, 6])
def test_one_batch_of_pictures_in_memory(
    pictures: Path, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[weakref.ref[Any]] = []
    most = 0
    read_image = raw.read_image

    def n_alive() -> int:
        return sum(each() is not None for each in seen)

    def counted(path: Path) -> Any:
        nonlocal most
        image = read_image(path)
        seen.append(weakref.ref(image))
        most = max(most, n_alive())
        return image

    monkeypatch.setattr(raw, "read_image", counted)
    datasets.load("caltech101", folder=pictures, encoder=MeanColor(), batch_size=batch_size)
    assert len(seen) == 10
    assert most == batch_size
    assert n_alive() == 0


def test_one_file_of_cifar_in_memory(
    cifar: tuple[Path, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: list[weakref.ref[np.ndarray]] = []
    unpickled = raw._unpickled

    def counted(path: Path) -> dict[bytes, Any]:
        assert not [each for each in alive if each() is not None]
        content = unpickled(path)
        alive.append(weakref.ref(content[b"data"]))
        return content

    monkeypatch.setattr(raw, "_unpickled", counted)
    datasets.load("cifar10", folder=cifar[0], encoder=MeanColor(), batch_size=2)
    assert len(alive) == 4  # both files for their labels, then for their pictures


def test_mnist_is_mapped_not_read(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((3, 28, 28), dtype=np.uint8)))
    assert isinstance(raw._idx(tmp_path / "train-images-idx3-ubyte", n_axes=3), np.memmap)
