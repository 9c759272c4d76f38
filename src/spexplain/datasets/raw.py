"""Texts and pictures on disk, each read when its turn comes."""

from __future__ import annotations

import codecs
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_IMAGES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


@dataclass(frozen=True)
class RawData:
    """Samples that are not in memory, and their classes, which are.

    Attributes
    ----------
    read : callable
        Gives the text or picture of a number.
    target : ndarray of shape (n_samples,)
        Classes as 0, 1, ...
    target_names : tuple of str
        Names of the classes.
    fingerprint : str
        Changes whenever the files do.
    """

    read: Callable[[int], Any]
    target: NDArray[np.int64]
    target_names: tuple[str, ...]
    fingerprint: str


def image_folder(folder: Path, *, without: Iterable[str] = ()) -> RawData:
    """Open a folder with a folder of pictures per class.

    Parameters
    ----------
    folder : Path
        Holds ``class/name.jpg``, or other picture formats.
    without : iterable of str
        Classes to leave out.

    Returns
    -------
    raw : RawData
        The pictures, by class and name.
    """
    paths = _by_class(folder, set(without), lambda path: path.suffix.lower() in _IMAGES, "pictures")
    return _listed(folder, paths, read_image)


def text_folder(folder: Path) -> RawData:
    """Open a folder with a folder of text files per class.

    Parameters
    ----------
    folder : Path
        Holds ``class/name``.

    Returns
    -------
    raw : RawData
        The texts, by class and name.
    """
    paths = _by_class(folder, set(), lambda path: not path.name.startswith("."), "texts")
    # As scikit-learn reads the messages, some of which have stray bytes.
    return _listed(folder, paths, lambda path: path.read_text(encoding="latin-1"))


def idx_images(folder: Path) -> RawData:
    """Open MNIST's own files, which are mapped and not read.

    Parameters
    ----------
    folder : Path
        Holds ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte``, unpacked.

    Returns
    -------
    raw : RawData
        The pictures in the order of the file.
    """
    pictures = _idx(folder / "train-images-idx3-ubyte", n_axes=3)
    labels = _idx(folder / "train-labels-idx1-ubyte", n_axes=1)
    if len(pictures) != len(labels):
        raise ValueError(
            f"The folder {folder} holds {len(pictures)} pictures, {len(labels)} labels."
        )
    return RawData(
        read=lambda sample: picture(pictures[sample]),
        target=labels.astype(np.int64),
        target_names=tuple(str(digit) for digit in range(10)),
        fingerprint=sha256(labels.tobytes()).hexdigest(),
    )


def cifar_images(folder: Path, target_names: tuple[str, ...]) -> RawData:
    """Open CIFAR-10's own files of 10,000 pictures each, of which one is held at a time.

    Parameters
    ----------
    folder : Path
        Holds ``data_batch_1``, ``data_batch_2``, ...
    target_names : tuple of str
        Names of the classes.

    Returns
    -------
    raw : RawData
        The pictures in the order of the files.
    """
    files = sorted(folder.glob("data_batch_*"))
    if not files:
        raise ValueError(f"The folder {folder} has no files data_batch_1, data_batch_2 and so on.")
    labels = [np.asarray(_unpickled(file)[b"labels"], dtype=np.int64) for file in files]
    starts = np.cumsum([0, *map(len, labels)])
    held: dict[int, NDArray[np.uint8]] = {}

    def read(sample: int) -> Any:
        file = int(np.searchsorted(starts, sample, side="right")) - 1
        if file not in held:
            held.clear()  # before the next is read, or there would be two
            held[file] = np.asarray(_unpickled(files[file])[b"data"]).reshape(-1, 3, 32, 32)
        return picture(held[file][sample - starts[file]].transpose(1, 2, 0))

    target = np.concatenate(labels)
    return RawData(read, target, target_names, sha256(target.tobytes()).hexdigest())


def picture(pixels: NDArray[np.uint8]) -> Any:
    """Return an array of grey or red, green and blue values as a PIL image in RGB."""
    return _pil().fromarray(np.ascontiguousarray(pixels)).convert("RGB")


def read_image(path: Path) -> Any:
    """Read a file as a PIL image in RGB."""
    try:
        with _pil().open(path) as image:
            return image.convert("RGB")
    except OSError as error:
        raise ValueError(f"The picture {path} cannot be read ({type(error).__name__}).") from error


def _pil() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            'Reading pictures needs Pillow: pip install "spexplain[embed]".'
        ) from error
    return Image


def _by_class(
    folder: Path, without: set[str], is_wanted: Callable[[Path], bool], what: str
) -> dict[str, list[Path]]:
    """Return the files of every class, all in order of their names."""
    if not folder.is_dir():
        raise NotADirectoryError(f"folder={str(folder)!r} is not a folder.")
    classes = sorted(
        path for path in folder.iterdir() if path.is_dir() and path.name not in without
    )
    files = {
        each.name: [p for p in sorted(each.iterdir()) if p.is_file() and is_wanted(p)]
        for each in classes
    }
    found = {name: paths for name, paths in files.items() if paths}
    if not found:
        raise ValueError(f"folder={str(folder)!r} must hold a folder of {what} for every class.")
    return found


def _listed(folder: Path, classes: dict[str, list[Path]], read: Callable[[Path], Any]) -> RawData:
    paths = [path for of_class in classes.values() for path in of_class]
    digest = sha256()
    for path in paths:
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\n".encode())
    return RawData(
        read=lambda sample: read(paths[sample]),
        target=np.repeat(np.arange(len(classes)), [len(each) for each in classes.values()]),
        target_names=tuple(classes),
        fingerprint=digest.hexdigest(),
    )


def _idx(path: Path, *, n_axes: int) -> NDArray[np.uint8]:
    """Map a file of unsigned bytes: a magic number, the length of every axis, the values."""
    try:
        header = np.fromfile(path, dtype=">i4", count=1 + n_axes)
        if len(header) != 1 + n_axes or header[0] != 0x0800 + n_axes:
            raise ValueError("its first bytes are others")
        shape = tuple(int(length) for length in header[1:])
        return np.memmap(path, dtype=np.uint8, mode="r", offset=4 * len(header), shape=shape)
    except (OSError, ValueError) as error:
        raise ValueError(f"The file {path} is not of MNIST's form ({error}).") from error


# What an array in a pickle is made of; older files name modules that NumPy has renamed since.
_PARTS = {
    "ndarray": np.ndarray,
    "dtype": np.dtype,
    "_reconstruct": np.empty(0).__reduce__()[0],
    "encode": codecs.encode,
}


class _Unpickler(pickle.Unpickler):
    """Reads arrays and plain values, and runs nothing else that a file may ask for."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what an array is made of."""
        if module.partition(".")[0] in ("numpy", "_codecs") and name in _PARTS:
            return _PARTS[name]
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _unpickled(path: Path) -> dict[bytes, Any]:
    try:
        with path.open("rb") as file:
            content: dict[bytes, Any] = _Unpickler(file, encoding="bytes").load()
        if not {b"data", b"labels"} <= set(content):
            raise ValueError("it has no data and labels")
    except (pickle.UnpicklingError, EOFError, TypeError, ValueError) as error:
        raise ValueError(f"The file {path} is not of CIFAR's form ({error}).") from error
    return content
