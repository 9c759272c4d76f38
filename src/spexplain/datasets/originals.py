"""Where the texts and pictures of the paper come from: folders of the user's, or a download."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from spexplain.datasets.embeddings import Embedding
from spexplain.datasets.files import cache_folder
from spexplain.datasets.raw import RawData, cifar_images, idx_images, image_folder, text_folder

_BACKGROUND = "BACKGROUND_Google"


def open_folder(embedding: Embedding, folder: Path) -> RawData:
    """Open a dataset that the user has: a folder per class, or the files as they are published.

    Parameters
    ----------
    embedding : Embedding
        The dataset.
    folder : Path
        Its folder.

    Returns
    -------
    raw : RawData
        The texts or pictures.
    """
    if embedding.kind == "texts":
        return text_folder(folder)
    # Where torchvision unpacks them, seen from the folder itself or from above.
    for inside in (".", "MNIST/raw"):
        if embedding.name == "mnist" and (folder / inside / "train-images-idx3-ubyte").is_file():
            return idx_images(folder / inside)
    for inside in (".", "cifar-10-batches-py"):
        if embedding.name == "cifar10" and (folder / inside / "data_batch_1").is_file():
            return cifar_images(folder / inside, embedding.target_names)
    for inside in ("101_ObjectCategories", "caltech101/101_ObjectCategories"):
        if embedding.name == "caltech101" and (folder / inside).is_dir():
            folder = folder / inside
            break
    return image_folder(folder, without=[_BACKGROUND] if embedding.name == "caltech101" else [])


def fetch_original(embedding: Embedding) -> RawData:
    """Open a dataset as it is published, downloading it unless an earlier call has.

    Parameters
    ----------
    embedding : Embedding
        The dataset.

    Returns
    -------
    raw : RawData
        The texts or pictures.
    """
    try:
        if embedding.kind == "texts":
            return _newsgroups()
        folder = cache_folder() / "raw"
        folder.mkdir(parents=True, exist_ok=True)
        _DOWNLOADS[embedding.name](folder)
    except (OSError, RuntimeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ConnectionError(
            f"The {embedding.kind} of the dataset {embedding.name!r} could not be downloaded "
            f"({reason}); give folder, one with a folder of {embedding.kind} for every class, or put the "
            f"file {embedding.file} into the folder that the environment variable SPEXPLAIN_DATA names."
        ) from error
    return open_folder(embedding, folder)


def _newsgroups() -> RawData:
    from sklearn.datasets import fetch_20newsgroups

    messages = fetch_20newsgroups(subset="train")
    return RawData(
        read=messages.data.__getitem__,
        target=np.asarray(messages.target, dtype=np.int64),
        target_names=tuple(messages.target_names),
        fingerprint="original",
    )


# torchvision's own classes would read all pictures at once; only its addresses and checksums are used.


def _download_mnist(folder: Path) -> None:
    from torchvision.datasets import MNIST
    from torchvision.datasets.utils import download_and_extract_archive

    for file, md5 in MNIST.resources[:2]:
        if (folder / "MNIST" / "raw" / Path(file).stem).is_file():
            continue
        for place, mirror in enumerate(MNIST.mirrors, start=1):
            try:
                target = folder / "MNIST" / "raw"
                download_and_extract_archive(mirror + file, str(target), filename=file, md5=md5)
                break
            except (OSError, RuntimeError):
                if place == len(MNIST.mirrors):
                    raise


def _download_cifar10(folder: Path) -> None:
    from torchvision.datasets import CIFAR10
    from torchvision.datasets.utils import download_and_extract_archive

    if not all((folder / CIFAR10.base_folder / file).is_file() for file, _ in CIFAR10.train_list):
        download_and_extract_archive(
            CIFAR10.url, str(folder), filename=CIFAR10.filename, md5=CIFAR10.tgz_md5
        )


def _download_caltech101(folder: Path) -> None:
    from torchvision.datasets import Caltech101

    Caltech101(str(folder), download=True)  # lists names, reads no picture


_DOWNLOADS: dict[str, Callable[[Path], None]] = {
    "mnist": _download_mnist,
    "cifar10": _download_cifar10,
    "caltech101": _download_caltech101,
}
