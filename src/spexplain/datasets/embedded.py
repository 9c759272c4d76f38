"""Datasets of texts and pictures: ready embeddings first, then the cache, then the models."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spexplain.datasets.bunches import make_bunch
from spexplain.datasets.embeddings import Embedding
from spexplain.datasets.encoders import ClipEncoder, Encoder, SbertEncoder
from spexplain.datasets.files import UNREADABLE, cache_folder, find_in_data_folder, foreign
from spexplain.datasets.originals import fetch_original, open_folder
from spexplain.datasets.stream import embed, entry_name, read_entry

if TYPE_CHECKING:
    from sklearn.utils import Bunch

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
    """Load a dataset as vectors, which are computed unless they are at hand.

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
    # Whoever names pictures or a model wants these, not what somebody else has made of others.
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
        # The model comes first: without it there is no need to download the pictures.
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
    """Return the folder of the cache that holds the vectors, or will."""
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
            raise ValueError(f"{name} is a matter of the encoder: give either {name} or encoder.")
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


def read_archive(path: Path, embedding: Embedding) -> Bunch:
    """Read ready embeddings, and check that they are those of the dataset.

    Parameters
    ----------
    path : Path
        A NumPy archive.
    embedding : Embedding
        The dataset.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("it is not a NumPy archive")
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        # Half precision saves space in the file only: sums of it would overflow.
        data = arrays.pop("X").astype(np.float32)
        labels = {key: array.astype(np.int64) for key, array in arrays.items()}
        target = labels.pop("y")
        if data.shape != embedding.shape:
            raise ValueError(f"its X has the shape {data.shape}, not {embedding.shape}")
        wrong = [key for key, array in (labels | {"y": target}).items() if len(array) != len(data)]
        if wrong:
            raise ValueError(f"its {wrong[0]} does not have {len(data)} entries")
        classes = len(embedding.target_names)
        if not np.array_equal(np.unique(target), np.arange(classes)):
            raise ValueError(f"its y does not have the classes 0 to {classes - 1}")
    except UNREADABLE as error:
        raise foreign(path, embedding.name, error) from error
    return make_bunch(
        data,
        target,
        feature_names=[f"dim_{i}" for i in range(data.shape[1])],
        target_names=embedding.target_names,
        descr=embedding.descr,
        **labels,
    )
