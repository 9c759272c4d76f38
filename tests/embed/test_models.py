"""The embedding of texts and pictures by real models, with tiny random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoded import check_sentence
from spexplain import datasets
from spexplain.datasets.encoders import pick_device

TEXTS = {"rec.autos": ["the car", "a wheel the road engine"], "sci.space": ["a moon", "", "orbit"]}


@pytest.fixture
def text_folder(tmp_path: Path) -> Path:
    for name, texts in TEXTS.items():
        (tmp_path / "texts" / name).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "texts" / name / str(i)).write_text(text)
    return tmp_path / "texts"


# ---------------------------------------------------------------- texts


def test_texts(sbert_folder: Path, text_folder: Path, torch: Any) -> None:
    dataset = datasets.load(
        "newsgroups", folder=text_folder, weights=sbert_folder, batch_size=2, device="cpu"
    )
    assert dataset.data.shape == (5, 16)
    assert dataset.data.dtype == np.float32
    assert dataset.target_names[dataset.target].tolist() == ["rec.autos"] * 2 + ["sci.space"] * 3
    from sentence_transformers import SentenceTransformer

    direct = SentenceTransformer(str(sbert_folder), device="cpu")
    expected = direct.encode([text for texts in TEXTS.values() for text in texts])
    np.testing.assert_allclose(dataset.data, expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(dataset.data, axis=1), 1, atol=1e-5)
    assert len(np.unique(dataset.data.round(5), axis=0)) == 5


def test_texts_from_the_cache_load_no_model(
    sbert_folder: Path, text_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sentence_transformers

    first = datasets.load("newsgroups", folder=text_folder, weights=sbert_folder)
    monkeypatch.delattr(sentence_transformers, "SentenceTransformer")
    again = datasets.load("newsgroups", folder=text_folder, weights=sbert_folder)
    np.testing.assert_array_equal(first.data, again.data)


@pytest.mark.parametrize("weights", [None, "some/name-that-is-nowhere", "folder"])
def test_texts_without_weights(
    sbert_folder: Path, text_folder: Path, weights: str | None, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    given = tmp_path / "empty" if weights == "folder" else weights
    with pytest.raises(OSError, match="could not be loaded") as caught:
        datasets.load("newsgroups", folder=text_folder, weights=given)
    check_sentence(caught.value)
    assert not (tmp_path / "cache").exists()


# ---------------------------------------------------------------- pictures


def encoded(open_clip: Any, torch: Any, folder: Path, pictures: Path) -> np.ndarray:
    """What open_clip gives when called directly."""
    from PIL import Image

    model, prepare = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    paths = sorted(pictures.glob("[ab]*/*.png"))
    with torch.inference_mode():
        vectors = [model.eval().encode_image(prepare(Image.open(path))[None]) for path in paths]
    result: np.ndarray = torch.cat(vectors).numpy()
    return result


def test_pictures(open_clip: Any, torch: Any, clip_folder: Path, picture_folder: Path) -> None:
    dataset = datasets.load(
        "caltech101", folder=picture_folder, weights=clip_folder, batch_size=3, device="cpu"
    )
    assert dataset.data.shape == (7, 12)
    assert dataset.target.tolist() == [0] * 4 + [1] * 3
    expected = encoded(open_clip, torch, clip_folder, picture_folder)
    np.testing.assert_allclose(dataset.data, expected, atol=1e-5)
    assert len(np.unique(dataset.data.round(5), axis=0)) == 7


def test_weights_in_a_file(
    open_clip: Any,
    clip_folder: Path,
    clip_config: dict[str, Any],
    picture_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import json

    (tmp_path / "tiny-test-clip.json").write_text(json.dumps(clip_config))
    open_clip.add_model_config(tmp_path / "tiny-test-clip.json")
    monkeypatch.setattr(datasets.ClipEncoder, "_architecture", "tiny-test-clip")
    weights = clip_folder / "open_clip_model.safetensors"
    dataset = datasets.load("caltech101", folder=picture_folder, weights=weights)
    # A file says nothing about the preparation of pictures, so the vectors differ a little.
    of_folder = datasets.load("caltech101", folder=picture_folder, weights=clip_folder)
    assert np.corrcoef(dataset.data.ravel(), of_folder.data.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("weights", [None, "some/name-that-is-nowhere", "folder", "config only"])
def test_pictures_without_weights(
    open_clip: Any, clip_folder: Path, picture_folder: Path, weights: str | None, tmp_path: Path
) -> None:
    given: Any = weights
    if weights in ("folder", "config only"):
        given = tmp_path / "weights"
        given.mkdir()
        if weights == "config only":
            config = (clip_folder / "open_clip_config.json").read_text()
            (given / "open_clip_config.json").write_text(config)
    with pytest.raises(OSError, match="could not be loaded") as caught:
        datasets.load("caltech101", folder=picture_folder, weights=given)
    check_sentence(caught.value)
    assert not (tmp_path / "cache").exists()


def test_openai_model_is_known(open_clip: Any) -> None:
    architecture, pretrained = datasets.ClipEncoder()._source()
    assert (architecture, pretrained) in open_clip.list_pretrained()
    assert open_clip.get_model_config(architecture)["quick_gelu"] is True
    assert open_clip.get_model_config(architecture)["embed_dim"] == 512


# ---------------------------------------------------------------- devices


def test_devices(torch: Any) -> None:
    assert pick_device("cpu") == "cpu"
    assert torch.zeros(1, device=pick_device()).device.type == pick_device()
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' is not there"):
            pick_device("cuda")


def test_gpu_agrees(torch: Any, sbert_folder: Path, text_folder: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    encoder = datasets.SbertEncoder(sbert_folder)
    on_gpu = datasets.load("newsgroups", folder=text_folder, encoder=encoder)
    assert next(encoder._model.parameters()).device.type == "cuda"
    texts = [text for of_class in TEXTS.values() for text in of_class]
    on_cpu = datasets.SbertEncoder(sbert_folder, device="cpu").encode(texts)
    np.testing.assert_allclose(on_gpu.data, on_cpu, atol=1e-3)


def test_gpu_agrees_on_pictures(torch: Any, clip_folder: Path, picture_folder: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    encoder = datasets.ClipEncoder(clip_folder)
    on_gpu = datasets.load("caltech101", folder=picture_folder, encoder=encoder)
    assert next(encoder._loaded[0].parameters()).device.type == "cuda"
    cpu = datasets.ClipEncoder(clip_folder, device="cpu")
    cpu_vectors = datasets.load("cifar10", folder=picture_folder, encoder=cpu).data[2:]
    np.testing.assert_allclose(on_gpu.data, cpu_vectors, atol=1e-2)
