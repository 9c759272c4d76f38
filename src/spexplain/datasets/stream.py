"""From raw data to vectors on disk, one batch at a time, with a folder in the cache as the result.

A folder is filled under another name and renamed once it is complete, so a reader never meets half
of it. An interrupted run goes on after its last finished batch.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from hashlib import sha256
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spexplain.datasets.encoders import Encoder
from spexplain.datasets.raw import RawData

_LOG = getLogger(__name__)


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
        # Another process may have been at the same work, and ended first.
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
    """Make the unfinished folder at its full size, at once visible as a whole."""
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
        ):  # a full disk must be told now: later it would end the process
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
        # No name is given to the batch: it would live on while the next is read.
        data[start:stop] = _checked(
            encoder.encode([raw.read(sample) for sample in range(start, stop)]),
            (stop - start, data.shape[1]),
            encoder.name,
        )
        data.flush()
        _note(part / "done", stop)
        _LOG.info("%s: %d of %d embedded", part.stem, stop, len(data))


def _checked(vectors: Any, shape: tuple[int, int], name: str) -> NDArray[np.floating[Any]]:
    array = np.asarray(vectors)
    if array.shape != shape:
        raise ValueError(f"The encoder {name!r} gave vectors of shape {array.shape}, not {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"The encoder {name!r} gave vectors that are not finite.")
    return array


def _note(path: Path, done: int) -> None:
    """Write how many samples are done, in one step."""
    new = path.with_name("done.new")
    new.write_text(str(done), encoding="utf-8")
    new.replace(path)
