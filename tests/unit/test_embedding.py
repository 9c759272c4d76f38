"""Texts and pictures as vectors: batches, memory, cache and errors, with models that need no torch."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from spexplain import datasets
from spexplain.datasets import originals, raw
from spexplain.datasets.embedded import is_at_hand
from spexplain.datasets.embeddings import EMBEDDINGS
from spexplain.datasets.encoders import pick_device
from spexplain.datasets.stream import entry_name

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


class MeanColor:
    """Embeds a picture as its mean colour and width."""

    name = "mean-color"
    n_dims = 4

    def __init__(self) -> None:
        self.batches: list[int] = []

    def encode(self, batch: Sequence[Any], /) -> np.ndarray:
        self.batches.append(len(batch))
        assert all(image.mode == "RGB" for image in batch)
        return np.array([[*np.asarray(image).mean(axis=(0, 1)), image.width] for image in batch])


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder, and an empty cache."""
    monkeypatch.delenv("SPEXPLAIN_DATA", raising=False)
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Ten pictures in three classes, a background class, and files that are no pictures."""
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


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "embeddings").glob("*"))


def check_sentence(error: BaseException) -> None:
    assert "\n" not in str(error)
    assert str(error).endswith(".")


# ---------------------------------------------------------------- what comes out


def test_pictures_of_a_folder(pictures: Path) -> None:
    encoder = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=encoder, batch_size=4)
    assert isinstance(dataset, Bunch)
    assert dataset.data.dtype == np.float32
    assert dataset.data.shape == (10, 4)
    assert dataset.target.dtype == np.int64
    assert dataset.target.tolist() == [0] * 3 + [1] * 5 + [2] * 2
    assert dataset.target_names.tolist() == ["ant", "bee", "cat"]
    assert dataset.feature_names == ["dim_0", "dim_1", "dim_2", "dim_3"]
    assert dataset.data[:, 3].tolist() == [8, 9, 10, 8, 9, 10, 11, 12, 8, 9]
    np.testing.assert_allclose(dataset.data[:3, 0], 0, atol=3)
    np.testing.assert_allclose(dataset.data[3:8, 0], 60, atol=3)
    assert "mean-color" in dataset.DESCR
    assert encoder.batches == [4, 4, 2]


@pytest.mark.parametrize("batch_size", [1, 3, 10, 1000])
def test_the_size_of_batches_changes_nothing(pictures: Path, batch_size: int, cache: Path) -> None:
    encoder = MeanColor()
    dataset = datasets.load("cifar10", folder=pictures, encoder=encoder, batch_size=batch_size)
    assert sum(encoder.batches) == 14  # only Caltech-101 has a background class
    assert max(encoder.batches) == min(batch_size, 14)
    whole = [
        raw.read_image(path) for path in sorted(pictures.glob("*/*.*")) if path.suffix != ".txt"
    ]
    np.testing.assert_array_equal(dataset.data, MeanColor().encode(whole).astype(np.float32))


def test_texts_of_a_folder(tmp_path: Path) -> None:
    for name, texts in {"sci.space": ["orbit", "a moon"], "rec.autos": ["car \xe9"]}.items():
        (tmp_path / "texts" / name).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "texts" / name / f"{i}").write_bytes(text.encode("latin-1"))
    encoder = types.SimpleNamespace(
        name="lengths", n_dims=1, encode=lambda batch: [[len(text)] for text in batch]
    )
    dataset = datasets.load("newsgroups", folder=tmp_path / "texts", encoder=encoder)
    assert dataset.data.tolist() == [[5], [5], [6]]
    assert dataset.target_names[dataset.target].tolist() == ["rec.autos", "sci.space", "sci.space"]


def test_newsgroups_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def fetch(**options: Any) -> Bunch:
        asked.append(options)
        return Bunch(data=["a", "bcd", "ef"], target=[1, 0, 1], target_names=["x", "y"])

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", fetch)
    encoder = types.SimpleNamespace(
        name="lengths", n_dims=1, encode=lambda batch: [[len(text)] for text in batch]
    )
    for _ in range(2):
        dataset = datasets.load("newsgroups", encoder=encoder)
        assert dataset.data.tolist() == [[1], [3], [2]]
        assert dataset.target.tolist() == [1, 0, 1]
    assert asked == [{"subset": "train"}]  # with headers, in scikit-learn's order, and once


def idx(values: np.ndarray) -> bytes:
    return np.array([0x0800 + values.ndim, *values.shape], dtype=">i4").tobytes() + values.tobytes()


@pytest.mark.parametrize("inside", [".", "MNIST/raw"])
def test_mnist_as_published(tmp_path: Path, inside: str) -> None:
    digits = np.random.default_rng(0).integers(0, 256, (7, 28, 28), dtype=np.uint8)
    labels = np.array([5, 0, 4, 1, 9, 2, 1], dtype=np.uint8)
    folder = tmp_path / "digits" / inside
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(idx(digits))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    dataset = datasets.load("mnist", folder=tmp_path / "digits", encoder=MeanColor(), batch_size=3)
    np.testing.assert_allclose(dataset.data[:, 1], digits.mean(axis=(1, 2)), rtol=1e-6)
    assert dataset.target.tolist() == labels.tolist()
    assert dataset.target_names.tolist() == [str(digit) for digit in range(10)]


@pytest.fixture
def cifar(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """Two files of CIFAR-10's form with five pictures, and the pictures."""
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3, 32, 32), dtype=np.uint8)
    folder = tmp_path / "small" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for number, rows in ((1, slice(0, 3)), (2, slice(3, 5))):
        content = {
            b"data": pixels[rows].reshape(-1, 3072),
            b"labels": list(range(5))[rows],
            b"batch_label": b"some",
        }
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(content, protocol=2))
    return tmp_path / "small", pixels


@pytest.mark.parametrize("inside", [".", "cifar-10-batches-py"])
def test_cifar_as_published(cifar: tuple[Path, np.ndarray], inside: str) -> None:
    folder, pixels = cifar
    dataset = datasets.load("cifar10", folder=folder / inside, encoder=MeanColor(), batch_size=2)
    np.testing.assert_allclose(dataset.data[:, :3], pixels.mean(axis=(2, 3)), rtol=1e-6)
    assert dataset.target.tolist() == [0, 1, 2, 3, 4]
    assert dataset.target_names[1] == "automobile"


def test_caltech_as_published(pictures: Path, tmp_path: Path) -> None:
    folder = tmp_path / "published" / "caltech101"
    folder.mkdir(parents=True)
    pictures.rename(folder / "101_ObjectCategories")
    for each in (folder, folder.parent):
        dataset = datasets.load("caltech101", folder=each, encoder=MeanColor())
        assert dataset.target_names.tolist() == ["ant", "bee", "cat"]


# ---------------------------------------------------------------- ready embeddings


def test_ready_embeddings_come_first_unless_own_are_asked_for(
    pictures: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    shape, n_classes = EMBEDDINGS["mnist"].shape, 10
    np.savez(
        ready / EMBEDDINGS["mnist"].file,
        X=np.zeros(shape, dtype=np.float16),
        y=np.arange(shape[0], dtype=np.int16) % n_classes,
    )
    monkeypatch.setenv("SPEXPLAIN_DATA", str(ready))
    assert datasets.load("mnist", batch_size=8, device="cpu").data.shape == (60000, 512)
    assert datasets.load("mnist", folder=pictures, encoder=MeanColor()).data.shape == (14, 4)


def test_at_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pictures: Path, cache: Path
) -> None:
    mnist = EMBEDDINGS["mnist"]
    assert not is_at_hand(mnist)
    datasets.load("mnist", folder=pictures, encoder=MeanColor())  # others: they do not count
    assert not is_at_hand(mnist)
    # As if the model of the paper had done all its work on the pictures of the paper.
    (made,) = (cache / "embeddings").iterdir()
    made.rename(made.with_name(entry_name("mnist", datasets.ClipEncoder().name, "original")))
    assert is_at_hand(mnist)
    assert datasets.load("mnist").data.shape == (14, 4)  # no model is needed
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path / "other"))
    assert not is_at_hand(mnist)
    (tmp_path / mnist.file).touch()
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    assert is_at_hand(mnist)


# ---------------------------------------------------------------- memory


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


# ---------------------------------------------------------------- the cache


def test_second_load_computes_nothing(pictures: Path, cache: Path) -> None:
    first = datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    again = MeanColor()
    second = datasets.load("caltech101", folder=pictures, encoder=again, batch_size=3)
    assert again.batches == []
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert len(entries(cache)) == 1
    files = {path.name for path in (cache / "embeddings" / entries(cache)[0]).iterdir()}
    assert {"data.npy", "target.npy", "classes.json"} <= files


def test_other_models_and_other_pictures_are_other_entries(pictures: Path, cache: Path) -> None:
    encoders = [MeanColor() for _ in range(3)]
    encoders[1].name = "another"
    for encoder in encoders[:2]:
        datasets.load("caltech101", folder=pictures, encoder=encoder)
    Image.new("RGB", (30, 8)).save(pictures / "cat" / "z.png")
    dataset = datasets.load("caltech101", folder=pictures, encoder=encoders[2])
    assert len(dataset.data) == 11
    assert len(entries(cache)) == 3


class Interrupted(MeanColor):
    """Stops at its third batch."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def encode(self, batch: Sequence[Any], /) -> np.ndarray:
        if len(self.batches) == 2:
            raise self.error
        return super().encode(batch)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_interruption_leaves_no_entry_and_loses_one_batch(
    pictures: Path, cache: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        datasets.load("caltech101", folder=pictures, encoder=Interrupted(error), batch_size=3)
    assert [name.endswith(".part") for name in entries(cache)] == [True]
    rest = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=rest, batch_size=2)
    assert rest.batches == [2, 2]  # six of ten were done
    assert [name.endswith(".part") for name in entries(cache)] == [False]
    # An entry computed in one go is the same.
    whole = MeanColor()
    whole.name = "whole"
    np.testing.assert_array_equal(
        datasets.load("caltech101", folder=pictures, encoder=whole).data, dataset.data
    )


def test_killed_process(pictures: Path, cache: Path) -> None:
    code = """
import os, sys
from spexplain import datasets
class Killed:
    name, n_dims, n = "mean-color", 4, 0
    def encode(self, batch):
        self.n += 1
        if self.n == 3:
            os._exit(7)
        return [[1.0, 2.0, 3.0, 4.0]] * len(batch)
datasets.load("caltech101", folder=sys.argv[1], encoder=Killed(), batch_size=3)
"""
    command = [sys.executable, "-c", code, str(pictures)]
    assert subprocess.run(command, check=False, timeout=120).returncode == 7
    assert [name.endswith(".part") for name in entries(cache)] == [True]
    rest = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=rest, batch_size=3)
    assert rest.batches == [3, 1]
    assert dataset.data[:6].tolist() == [[1, 2, 3, 4]] * 6


def test_started_with_vectors_of_another_length(pictures: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        datasets.load(
            "caltech101", folder=pictures, encoder=Interrupted(KeyboardInterrupt()), batch_size=3
        )
    changed = types.SimpleNamespace(
        name="mean-color", n_dims=2, encode=lambda batch: [[1.0, 2.0]] * len(batch)
    )
    dataset = datasets.load("caltech101", folder=pictures, encoder=changed)
    assert dataset.data.tolist() == [[1, 2]] * 10


@pytest.mark.parametrize("meeting", [0, 1, 3])
def test_two_processes_at_once(pictures: Path, cache: Path, meeting: int) -> None:
    class Met(MeanColor):
        def encode(self, batch: Sequence[Any], /) -> np.ndarray:
            if len(self.batches) == meeting:  # another comes, and ends first
                datasets.load("caltech101", folder=pictures, encoder=MeanColor(), batch_size=3)
            return super().encode(batch)

    dataset = datasets.load("caltech101", folder=pictures, encoder=Met(), batch_size=3)
    alone = MeanColor()
    alone.name = "alone"
    expected = datasets.load("caltech101", folder=pictures, encoder=alone)
    np.testing.assert_array_equal(dataset.data, expected.data)
    assert not [name for name in entries(cache) if name.endswith(".part") or "new-" in name]


def test_damaged_entry(pictures: Path, cache: Path) -> None:
    datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    path = next((cache / "embeddings").iterdir()) / "data.npy"
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(ValueError, match="is damaged") as caught:
        datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    check_sentence(caught.value)


# ---------------------------------------------------------------- wrong calls


def test_unknown_option(pictures: Path) -> None:
    with pytest.raises(TypeError, match="'cifar10' has no parameter 'n_samples'") as caught:
        datasets.load("cifar10", folder=pictures, n_samples=4)
    check_sentence(caught.value)
    with pytest.raises(TypeError, match="'r15' has no parameter 'folder'"):
        datasets.load("r15", folder=pictures)


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "8", True])
def test_wrong_batch_size(pictures: Path, batch_size: Any) -> None:
    with pytest.raises(ValueError, match="batch_size=") as caught:
        datasets.load("cifar10", folder=pictures, encoder=MeanColor(), batch_size=batch_size)
    check_sentence(caught.value)


@pytest.mark.parametrize("option", [{"weights": "some"}, {"device": "cpu"}])
def test_encoder_with_options_of_another(pictures: Path, option: dict[str, str]) -> None:
    with pytest.raises(
        ValueError, match=f"{next(iter(option))} is a matter of the encoder"
    ) as caught:
        datasets.load("cifar10", folder=pictures, encoder=MeanColor(), **option)
    check_sentence(caught.value)


def test_encoder_that_is_none(pictures: Path) -> None:
    with pytest.raises(TypeError, match="encoder must have") as caught:
        datasets.load("cifar10", folder=pictures, encoder=len)
    check_sentence(caught.value)


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [(np.zeros((10, 3)), r"shape \(10, 3\)"), (np.full((10, 4), np.nan), "finite")],
)
def test_encoder_that_gives_something_else(
    pictures: Path, vectors: np.ndarray, reason: str
) -> None:
    encoder = types.SimpleNamespace(name="wrong", n_dims=4, encode=lambda batch: vectors)
    with pytest.raises(ValueError, match=reason) as caught:
        datasets.load("caltech101", folder=pictures, encoder=encoder)
    check_sentence(caught.value)


def test_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="folder=") as caught:
        datasets.load("mnist", folder=tmp_path / "nowhere", encoder=MeanColor())
    check_sentence(caught.value)
    with pytest.raises(ValueError, match="must hold a folder of pictures for every class") as empty:
        datasets.load("mnist", folder=tmp_path, encoder=MeanColor())
    check_sentence(empty.value)


def test_unreadable_picture(pictures: Path) -> None:
    (pictures / "bee" / "0.jpg").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"The picture .*0\.jpg cannot be read") as caught:
        datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    check_sentence(caught.value)


@pytest.mark.parametrize("content", [b"", b"\0" * 40, idx(np.zeros(5, dtype=np.uint8))])
def test_foreign_mnist_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(ValueError, match="not of MNIST's form") as caught:
        datasets.load("mnist", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)


class Evil:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return print, ("run",)


@pytest.mark.parametrize(
    "content", [b"", b"text", pickle.dumps({b"data": 1}), pickle.dumps({b"data": Evil()})]
)
def test_foreign_cifar_files_run_nothing(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data_batch_1").write_bytes(content)
    with pytest.raises(ValueError, match="not of CIFAR's form") as caught:
        datasets.load("cifar10", folder=tmp_path, encoder=MeanColor())
    check_sentence(caught.value)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["mnist", "cifar10", "caltech101", "newsgroups"])
def test_no_connection(name: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups", refuse)
    monkeypatch.setattr(originals, "_DOWNLOADS", dict.fromkeys(EMBEDDINGS, refuse))
    with pytest.raises(ConnectionError, match="no route to host") as caught:
        datasets.load(name, encoder=MeanColor())
    check_sentence(caught.value)
    assert "give folder" in str(caught.value)
    assert not (cache / "embeddings").exists()


def test_no_download_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_DOWNLOADS", {})  # would raise a KeyError
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(ImportError, match=r"spexplain\[embed\]"):
        datasets.load("mnist")


# ---------------------------------------------------------------- devices


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
