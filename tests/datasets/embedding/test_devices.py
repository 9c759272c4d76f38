"""Where models run, how local weights are named, and that the import is light."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from encoded import check_sentence
from spexplain import datasets
from spexplain.datasets.encoders import pick_device

pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def fake_torch(*, cuda: bool, mps: bool) -> types.ModuleType:
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: cuda)  # type: ignore[attr-defined]
    torch.backends = types.SimpleNamespace(  # type: ignore[attr-defined]
        mps=types.SimpleNamespace(is_available=lambda: mps)
    )
    return torch


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "expected"),
    [
        (True, False, None, "cuda"),
        (True, True, None, "cuda"),
        (False, True, None, "mps"),
        (False, False, None, "cpu"),
        (True, False, "cpu", "cpu"),
        (True, False, "cuda:1", "cuda:1"),
    ],
)
def test_device(
    cuda: bool, mps: bool, asked: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(cuda=cuda, mps=mps))
    assert pick_device(asked) == expected


@pytest.mark.parametrize("asked", ["cuda", "cuda:0", "mps", "gpu", "", 0])
def test_device_that_is_not_there(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch(cuda=False, mps=False))
    with pytest.raises(ValueError, match="device=") as caught:
        pick_device(asked)
    check_sentence(caught.value)
    assert "this machine has cpu" in str(caught.value)


def test_local_weights_have_a_name_of_their_content(tmp_path: Path) -> None:
    names = set()
    for content in (b"one", b"other"):
        (tmp_path / "model.bin").write_bytes(content)
        for weights in (tmp_path, tmp_path / "model.bin"):
            names.add(datasets.ClipEncoder(weights).name)
            names.add(datasets.SbertEncoder(str(weights)).name)
    assert len(names) == 4
    assert datasets.SbertEncoder("org/model").name == "org/model"


def test_import_is_light() -> None:
    heavy = "{'torch', 'open_clip', 'sentence_transformers', 'PIL', 'torchvision'}"
    code = f"import sys, spexplain.datasets; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
