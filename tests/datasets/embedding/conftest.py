"""No data folder, an empty cache, and a few pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caches import cache  # noqa: F401
from encoded import cifar_records


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Ten pictures in three classes, a background class, and files that are no pictures."""
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder = tmp_path / "pictures"
    sizes = {"ant": 3, "bee": 5, "cat": 2, "BACKGROUND_Google": 4}
    for shade, (name, n_pictures) in enumerate(sizes.items()):
        (folder / name).mkdir(parents=True)
        (folder / name / "notes.txt").write_text("no picture")
        for i in range(n_pictures):
            ending, mode = (("jpg", "RGB"), ("png", "L"), ("PNG", "RGBA"))[i % 3]
            color: Any = 60 * shade if mode == "L" else (60 * shade, 10 * i, 5, 255)[: len(mode)]
            Image.new(mode, (8 + i, 8), color).save(folder / name / f"{i}.{ending}")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def cifar(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """Two files of CIFAR-10's binary form with five pictures, and the pictures."""
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3, 32, 32), dtype=np.uint8)
    folder = tmp_path / "small" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for number, rows in ((1, slice(0, 3)), (2, slice(3, 5))):
        content = cifar_records(pixels[rows], np.arange(5)[rows])
        (folder / f"data_batch_{number}.bin").write_bytes(content)
    return tmp_path / "small", pixels
