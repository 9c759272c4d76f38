"""Tiny models with random weights, and pictures, made on the spot; tests that need absent packages skip."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

# No test may wait for a hub. This must stand before the packages that read it are loaded.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest

from caches import cache  # noqa: F401


@pytest.fixture
def picture_folder(tmp_path: Path) -> Path:
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    random = np.random.default_rng(0)
    for name, n_pictures in {"ant": 4, "bee": 3, "BACKGROUND_Google": 2}.items():
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for i in range(n_pictures):
            pixels = random.integers(0, 256, (20 + 9 * i, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"image_{i}.png")
    return tmp_path / "pictures"


def _need(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f'{package} is not installed (pip install "spexplain[embed]")')


@pytest.fixture(scope="session")
def torch() -> Any:
    _need("torch")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    if importlib.util.find_spec("torchvision") is not None:
        _mend_torchvision(torch)
    return torch


def _mend_torchvision(torch: Any) -> None:
    """Let torchvision be imported where its compiled operators cannot be loaded.

    So it is with a build for CUDA beside a build of torch for processors, of which there is no fitting
    torchvision here. It stops when two operators are absent that find boxes in pictures; they are
    declared, and never called: CLIP uses only what torchvision has in Python.
    """
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision

        torchvision.kept = library  # an operator lives as long as its library


@pytest.fixture(scope="session")
def torchvision(torch: Any) -> Any:
    _need("torchvision")
    import torchvision

    return torchvision


@pytest.fixture(scope="session")
def open_clip(torchvision: Any) -> Any:
    _need("open_clip")
    import open_clip

    return open_clip


@pytest.fixture(scope="session")
def clip_config() -> dict[str, Any]:
    """A CLIP model of a few thousand weights."""
    return {
        "embed_dim": 12,
        "quick_gelu": True,
        "vision_cfg": {
            "image_size": 32,
            "layers": 1,
            "width": 32,
            "head_width": 16,
            "patch_size": 16,
        },
        "text_cfg": {"context_length": 8, "vocab_size": 64, "width": 16, "heads": 2, "layers": 1},
    }


@pytest.fixture(scope="session")
def clip_folder(
    open_clip: Any,
    torch: Any,
    clip_config: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The model as a local folder."""
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("clip")
    preprocess = {"mean": [0.48, 0.46, 0.41], "std": [0.27, 0.26, 0.28], "interpolation": "bicubic"}
    content = {"model_cfg": clip_config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(content))
    model = open_clip.CLIP(**clip_config)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, str(folder / "open_clip_model.safetensors"))
    return folder


@pytest.fixture(scope="session")
def sbert_folder(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence transformer of a few thousand weights as a local folder."""
    _need("sentence_transformers", "transformers")
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    try:
        from sentence_transformers.sentence_transformer import modules
    except ImportError:  # before the sixth release
        from sentence_transformers import models as modules

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "a",
        "moon",
        "orbit",
        "car",
        "wheel",
    ]
    words += ["engine", "road"]
    base = tmp_path_factory.mktemp("bert")
    (base / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(base / "vocab.txt")).save_pretrained(base)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(base)
    transformer = modules.Transformer(str(base), max_seq_length=16)
    parts = [transformer, modules.Pooling(16), modules.Normalize()]
    folder = tmp_path_factory.mktemp("sbert")
    SentenceTransformer(modules=parts, device="cpu").save(str(folder))
    return folder
