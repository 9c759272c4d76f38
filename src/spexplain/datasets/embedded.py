"""Datasets of texts and pictures: from precomputed vectors, else from the cache, else by a model.

Vectors are computed batch by batch into a folder of the cache. The folder has another name until it is
complete, so a reader never finds a partial one. An interrupted run continues after its last finished
batch.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from hashlib import sha256
from logging import getLogger
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spexplain.datasets.download import (
    cache_folder,
    download_pictures,
    find_in_data_folder,
    folder_advice,
)
from spexplain.datasets.encoders import ClipEncoder, Encoder, SbertEncoder
from spexplain.datasets.readers import RawData, make_bunch, open_folder, read_archive
from spexplain.datasets.registry import Embedding
from spexplain.files import write_file

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_LOG = getLogger(__name__)
OPTIONS = ("folder", "weights", "encoder", "batch_size", "device")
_ORIGINAL = "original"  # stands for the files as published, which do not change
_BATCH_SIZES = {"texts": 64, "images": 256}


def load_embedding(
    embedding: Embedding,
    *,
    folder: str | PathLike[str] | None = None,
    weights: str | PathLike[str] | None = None,
    encoder: Encoder | None = None,
    batch_size: int | None = None,
    device: str | None = None,
) -> Bunch:
    """Load a dataset as vectors, which are computed if they are not available.

    Parameters
    ----------
    embedding : Embedding
        The dataset.
    folder, weights, encoder, batch_size, device
        As for `spexplain.datasets.load`.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    # If pictures or a model are given, precomputed vectors of other ones must not be used.
    if folder is None and weights is None and encoder is None:
        path = find_in_data_folder(embedding.file)
        if path is not None:
            return read_archive(path, embedding)
    model = _chosen_encoder(embedding, encoder, weights, device)
    size = _BATCH_SIZES[embedding.kind] if batch_size is None else batch_size
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"batch_size={batch_size!r} must be a whole number of at least 1.")
    raw = None if folder is None else open_folder(embedding, Path(folder).expanduser())
    fingerprint = _ORIGINAL if raw is None else raw.fingerprint
    entry = _entry(embedding, model, fingerprint)
    if not entry.is_dir():
        # Check the model first: without it there is no need to download the pictures.
        n_dims = _n_dims(embedding, model)
        raw = fetch_original(embedding) if raw is None else raw
        embed(raw, model, entry, n_dims=n_dims, batch_size=size)
    return _bunch(embedding, model.name, entry)


def is_at_hand(embedding: Embedding) -> bool:
    """Whether `load_embedding` without options only reads files: no model, no download.

    Parameters
    ----------
    embedding : Embedding
        The dataset.

    Returns
    -------
    is_at_hand : bool
        Whether the data folder or the cache holds it.
    """
    if find_in_data_folder(embedding.file) is not None:
        return True
    model = _chosen_encoder(embedding, None, None, None)
    return _entry(embedding, model, _ORIGINAL).is_dir()


def _entry(embedding: Embedding, model: Encoder, fingerprint: str) -> Path:
    """Return the folder of the cache for the vectors, which need not exist yet."""
    return cache_folder() / "embeddings" / entry_name(embedding.name, model.name, fingerprint)


def _chosen_encoder(
    embedding: Embedding,
    encoder: Encoder | None,
    weights: str | PathLike[str] | None,
    device: str | None,
) -> Encoder:
    """Return the model that was given, or the one that the paper uses."""
    if encoder is None:
        make = SbertEncoder if embedding.kind == "texts" else ClipEncoder
        return make(weights, device=device)
    for name, value in (("weights", weights), ("device", device)):
        if value is not None:
            raise ValueError(f"{name} belongs to the encoder: give either {name} or encoder.")
    if not isinstance(encoder, Encoder):
        raise TypeError(
            f"encoder must have the attributes name and n_dims and the method encode, "
            f"which {type(encoder).__name__} does not."
        )
    return encoder


def _n_dims(embedding: Embedding, model: Encoder) -> int:
    """Return the length of the vectors, for which the model is loaded."""
    try:
        return model.n_dims
    except ImportError as error:
        raise ImportError(
            f"The dataset {embedding.name!r} is not at hand (no {embedding.file} in a folder that the "
            f"environment variable SPEXPLAIN_DATA names): {error}"
        ) from error


def _bunch(embedding: Embedding, model: str, entry: Path) -> Bunch:
    data, target, names = read_entry(entry)
    return make_bunch(
        data,
        target,
        feature_names=[f"dim_{i}" for i in range(data.shape[1])],
        target_names=names,
        descr=(
            f"{embedding.original} Here {len(data)} in {len(names)} classes, each turned into "
            f"{data.shape[1]} numbers by {model}."
        ),
    )


def fetch_original(embedding: Embedding) -> RawData:
    """Open a dataset as it is published, downloading it if it is not in the cache.

    Parameters
    ----------
    embedding : Embedding
        The dataset.

    Returns
    -------
    raw : RawData
        The texts or pictures.
    """
    if embedding.kind == "images":
        return open_folder(embedding, download_pictures(embedding))
    from sklearn.datasets import fetch_20newsgroups

    try:
        messages = fetch_20newsgroups(subset="train")
    except (OSError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ConnectionError(
            f"The texts of the dataset {embedding.name!r} could not be downloaded: {reason}; "
            f"{folder_advice(embedding)}."
        ) from error
    return RawData(
        read=messages.data.__getitem__,
        target=np.asarray(messages.target, dtype=np.int64),
        target_names=tuple(messages.target_names),
        fingerprint=_ORIGINAL,
    )


def entry_name(dataset: str, model: str, fingerprint: str) -> str:
    """Return the name of the folder that holds these vectors and no others."""
    digest = sha256("\0".join((dataset, model, fingerprint)).encode()).hexdigest()
    return f"{dataset}-{digest[:16]}"


def embed(raw: RawData, encoder: Encoder, entry: Path, *, n_dims: int, batch_size: int) -> None:
    """Turn all samples into vectors, holding one batch of them in memory.

    Parameters
    ----------
    raw : RawData
        The samples.
    encoder : Encoder
        The model.
    entry : Path
        The folder to make, with ``data.npy``, ``target.npy`` and ``classes.json``.
    n_dims : int
        Length of the vectors.
    batch_size : int
        Samples in a batch.
    """
    part = entry.with_name(f"{entry.name}.part")
    if part.is_dir() and not _is_of_shape(part, (len(raw.target), n_dims)):
        shutil.rmtree(part)
    if not part.is_dir():
        _allocate(part, raw, n_dims)
    try:
        _fill(part, raw, encoder, batch_size)
        part.rename(entry)
    except OSError:
        # Another process may have finished the same work first.
        if not entry.is_dir():
            raise


def read_entry(entry: Path) -> tuple[NDArray[np.float32], NDArray[np.int64], list[str]]:
    """Read a finished folder: vectors, classes, and their names."""
    try:
        data = np.load(entry / "data.npy", allow_pickle=False)
        target = np.load(entry / "target.npy", allow_pickle=False)
        names = json.loads((entry / "classes.json").read_text(encoding="utf-8"))
        if len(data) != len(target):
            raise ValueError(f"{len(data)} vectors, {len(target)} classes")
    except (OSError, ValueError) as error:
        raise ValueError(f"The folder {entry} is damaged ({error}): delete it.") from error
    return data, target, names


def _allocate(part: Path, raw: RawData, n_dims: int) -> None:
    """Create the unfinished folder at its full size, in a single step."""
    part.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=part.parent))
    try:
        np.save(new / "target.npy", raw.target)
        (new / "classes.json").write_text(json.dumps(raw.target_names), encoding="utf-8")
        (new / "done").write_text("0", encoding="utf-8")
        path, shape = new / "data.npy", (len(raw.target), n_dims)
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(
            os, "posix_fallocate"
        ):  # a full disk must be noticed now: later it would kill the process
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        new.rename(part)
    except OSError:
        if not part.is_dir():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _is_of_shape(part: Path, shape: tuple[int, int]) -> bool:
    found: Any = np.load(part / "data.npy", mmap_mode="r", allow_pickle=False)
    return bool(found.shape == shape)


def _fill(part: Path, raw: RawData, encoder: Encoder, batch_size: int) -> None:
    data = np.load(part / "data.npy", mmap_mode="r+", allow_pickle=False)
    done = int((part / "done").read_text(encoding="utf-8"))
    for start in range(done, len(data), batch_size):
        stop = min(start + batch_size, len(data))
        # No variable for the batch: it would keep the batch in memory while the next one is read.
        data[start:stop] = _checked(
            encoder.encode([raw.read(sample) for sample in range(start, stop)]),
            (stop - start, data.shape[1]),
            encoder.name,
        )
        data.flush()
        write_file(part / "done", str(stop))
        _LOG.info("%s: %d of %d embedded", part.stem, stop, len(data))


def _checked(vectors: Any, shape: tuple[int, int], name: str) -> NDArray[np.floating[Any]]:
    array = np.asarray(vectors)
    if array.shape != shape:
        raise ValueError(f"The encoder {name!r} gave vectors of shape {array.shape}, not {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"The encoder {name!r} gave vectors that are not finite.")
    return array
