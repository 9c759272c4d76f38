"""The embedding of texts and pictures by real models, with tiny random weights."""

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

from spexplain import datasets
from spexplain.datasets.encoders import pick_device

TEXTS = {"rec.autos": ["the car", "a wheel the road engine"], "sci.space": ["a moon", "", "orbit"]}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("SPEXPLAIN_DATA", raising=False)
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def text_folder(tmp_path: Path) -> Path:
    for name, texts in TEXTS.items():
        (tmp_path / "texts" / name).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "texts" / name / str(i)).write_text(text)
    return tmp_path / "texts"


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


def check_sentence(error: BaseException) -> None:
    assert "\n" not in str(error)
    assert str(error).endswith(".")


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


# ---------------------------------------------------------------- downloads, from this machine


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


def idx(values: np.ndarray) -> bytes:
    return np.array([0x0800 + values.ndim, *values.shape], dtype=">i4").tobytes() + values.tobytes()


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
