"""No more pictures in memory than a batch holds."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoded import MeanColor, idx
from spexplain import datasets
from spexplain.datasets import readers

pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.mark.parametrize("batch_size", [1, 4, 6])
def test_one_batch_of_pictures_in_memory(
    pictures: Path, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[weakref.ref[Any]] = []
    most = 0
    read_image = readers.read_image

    def n_alive() -> int:
        return sum(each() is not None for each in seen)

    def counted(path: Path) -> Any:
        nonlocal most
        image = read_image(path)
        seen.append(weakref.ref(image))
        most = max(most, n_alive())
        return image

    monkeypatch.setattr(readers, "read_image", counted)
    datasets.load("caltech101", folder=pictures, encoder=MeanColor(), batch_size=batch_size)
    assert len(seen) == 10
    assert most == batch_size
    assert n_alive() == 0


def test_cifar_is_mapped_not_read(cifar: tuple[Path, np.ndarray]) -> None:
    for path in cifar[0].glob("*/*.bin"):
        assert isinstance(readers._cifar_records(path, n_classes=10), np.memmap)


def test_mnist_is_mapped_not_read(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(np.zeros((3, 28, 28), dtype=np.uint8)))
    assert isinstance(readers._idx(tmp_path / "train-images-idx3-ubyte", n_axes=3), np.memmap)
