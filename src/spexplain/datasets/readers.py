"""Readers of datasets in files: text tables, ready vectors, and folders of texts or pictures."""

from __future__ import annotations

import csv
import gzip
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spexplain.datasets.download import (
    download_table,
    find_in_data_folder,
    find_member,
    table_advice,
)
from spexplain.datasets.registry import Embedding, TextTable

if TYPE_CHECKING:
    from sklearn.utils import Bunch

# What the readers of the standard library and NumPy raise on damaged or foreign files.
_UNREADABLE = (ValueError, IndexError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
_BACKGROUND = "BACKGROUND_Google"  # Caltech-101's class of background pictures
_CIFAR_RECORD = 1 + 3 * 32 * 32  # bytes of a picture and its class
_IMAGES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


def make_bunch(
    data: NDArray[np.floating[Any]],
    target: ArrayLike,
    *,
    feature_names: Iterable[str],
    target_names: Iterable[str],
    descr: str,
    **extra: NDArray[np.int64],
) -> Bunch:
    """Combine the parts of a dataset, with the types that `load` documents.

    Parameters
    ----------
    data : ndarray of shape (n_samples, n_features)
        The rows, unchanged.
    target : array-like of shape (n_samples,)
        Classes as 0, 1, ...
    feature_names, target_names : iterable of str
        Names of the columns and of the classes.
    descr : str
        Text for the key ``DESCR``.
    **extra : ndarray
        Further keys.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    from sklearn.utils import Bunch

    return Bunch(
        data=data,
        target=np.asarray(target, dtype=np.int64),
        feature_names=[str(name) for name in feature_names],
        target_names=np.array([str(name) for name in target_names]),
        DESCR=descr,
        **extra,
    )


def load_table(table: TextTable, *, full: bool = False) -> Bunch:
    """Load a dataset from its text file.

    Parameters
    ----------
    table : TextTable
        The dataset.
    full : bool, default=False
        Whether to keep classes below ``table.min_class_size``.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        The dataset.
    """
    path = find_in_data_folder(table.file, table.source.name)
    if path is not None:
        data, labels = read_text_table(path, table)
    else:
        path = download_table(table)
        try:
            data, labels = read_text_table(path, table)
        except ValueError as error:
            # For example a login page instead of the file: if kept, it would be read again.
            path.unlink(missing_ok=True)
            reason = f"what came does not hold it ({error.__cause__})"
            raise ValueError(table_advice(table, reason, path.parent)) from error
    sizes = Counter(labels)
    kept = [full or sizes[label] >= table.min_class_size for label in labels]
    labels = [label for label, keep in zip(labels, kept, strict=True) if keep]
    # Classes named by numbers follow the numbers: 2 before 10.
    numbered = all(label.isdecimal() for label in labels)
    names = sorted(set(labels), key=int) if numbered else sorted(set(labels))
    code = {name: i for i, name in enumerate(names)}
    return make_bunch(
        data[kept],
        [code[label] for label in labels],
        feature_names=table.features,
        target_names=names,
        descr=table.descr,
    )


def read_text_table(path: Path, table: TextTable) -> tuple[NDArray[np.float64], list[str]]:
    """Read a dataset's text file, and check that it is that dataset.

    Parameters
    ----------
    path : Path
        A CSV file, perhaps compressed by gzip, an ARFF file, or a zip archive with one of them.
    table : TextTable
        The dataset.

    Returns
    -------
    data : ndarray of shape (n_samples, n_features)
        The features, in the order of ``table.features``.
    labels : list of str
        The names of the classes.
    """
    try:
        name, content = _named_content(path, table.source.member)
        # The rows are ASCII; a comment in another encoding must not cause an error.
        text = content.decode("utf-8-sig", errors="replace")
        columns, rows = (parse_arff if name.lower().endswith(".arff") else parse_csv)(text)
        lower = [column.lower() for column in columns]
        proper = [table.spellings.get(column, column).lower() for column in lower]
        missing = [name for name in (*table.features, "class") if name.lower() not in proper]
        if missing:
            raise ValueError(f"it has no column {missing[0]!r}")
        # By name, not by position: sources are free to order their columns.
        features = [proper.index(feature.lower()) for feature in table.features]
        label = proper.index("class")
        data = np.array([[float(row[j]) for j in features] for row in rows], dtype=np.float64)
        labels = [row[label].strip() for row in rows]
        if Counter(labels) != Counter(table.class_sizes):
            raise ValueError(
                f"it has {len(labels)} rows in {len(set(labels))} classes, where "
                f"{sum(table.class_sizes.values())} rows in {len(table.class_sizes)} classes of "
                "known sizes should be"
            )
    except (*_UNREADABLE, gzip.BadGzipFile) as error:
        raise _foreign(path, table.name, error) from error
    return data, labels


def parse_csv(text: str) -> tuple[list[str], list[list[str]]]:
    """Split a CSV text with a header row.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    columns : list of str
        Names of the columns.
    rows : list of list of str
        The rows, without empty ones.
    """
    columns, *rows = [row for row in csv.reader(text.splitlines()) if row] or [[]]
    return [column.strip() for column in columns], rows


def parse_arff(text: str) -> tuple[list[str], list[list[str]]]:
    """Split a text in the attribute-relation file format, dense rows only.

    SciPy's reader is not used: it refuses text columns, and returns records that would need unpacking.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    columns : list of str
        Names of the attributes.
    rows : list of list of str
        The rows.
    """
    columns: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if attribute := re.match(r"""\s*@attribute\s+('[^']*'|"[^"]*"|\S+)""", line, re.IGNORECASE):
            columns.append(attribute[1].strip("'\""))
        elif line.strip().lower() == "@data":
            break
    data = (line for line in lines if line.strip() and not line.lstrip().startswith("%"))
    return columns, list(csv.reader(data, skipinitialspace=True, quotechar="'"))


def _named_content(path: Path, member: str | None) -> tuple[str, bytes]:
    """Return the name and the content of the text file at `path`, or in the archive there."""
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return path.stem, file.read()
    if path.suffix != ".zip":
        return path.name, path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        name = find_member(archive, member)
        return name, archive.read(name)


def _foreign(path: Path, name: str, error: Exception) -> ValueError:
    """Return the error for a file that does not hold the dataset."""
    return ValueError(f"The file {path} does not hold the dataset {name!r}: {error}.")


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
    except _UNREADABLE as error:
        raise _foreign(path, embedding.name, error) from error
    return make_bunch(
        data,
        target,
        feature_names=[f"dim_{i}" for i in range(data.shape[1])],
        target_names=embedding.target_names,
        descr=embedding.descr,
        **labels,
    )


@dataclass(frozen=True)
class RawData:
    """Samples on disk, and their classes in memory.

    Attributes
    ----------
    read : callable
        Returns the text or picture with a given number.
    target : ndarray of shape (n_samples,)
        Classes as 0, 1, ...
    target_names : tuple of str
        Names of the classes.
    fingerprint : str
        Changes whenever the files change.
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
    # As scikit-learn reads the messages, some of which have invalid bytes.
    return _listed(folder, paths, lambda path: path.read_text(encoding="latin-1"))


def idx_images(folder: Path) -> RawData:
    """Open MNIST's own files, mapped instead of read into memory.

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
    """Open the files of CIFAR-10's binary version, mapped instead of read into memory.

    Parameters
    ----------
    folder : Path
        Holds ``data_batch_1.bin``, ``data_batch_2.bin``, ...: for every picture a byte that is its
        class, then 32 x 32 red, as many green, and as many blue values.
    target_names : tuple of str
        Names of the classes.

    Returns
    -------
    raw : RawData
        The pictures in the order of the files.
    """
    records = [
        _cifar_records(path, len(target_names)) for path in sorted(folder.glob("data_batch_*.bin"))
    ]
    starts = np.cumsum([0, *map(len, records)])

    def read(sample: int) -> Any:
        file = int(np.searchsorted(starts, sample, side="right")) - 1
        pixels = records[file][sample - starts[file], 1:]
        return picture(pixels.reshape(3, 32, 32).transpose(1, 2, 0))

    target = np.concatenate([each[:, 0] for each in records]).astype(np.int64)
    return RawData(read, target, target_names, sha256(target.tobytes()).hexdigest())


def _cifar_records(path: Path, n_classes: int) -> NDArray[np.uint8]:
    """Map a file of CIFAR-10: a row for every picture, its class first."""
    size = path.stat().st_size
    if size == 0 or size % _CIFAR_RECORD:
        raise ValueError(
            f"The file {path} is not of CIFAR's form (its {size} bytes are not pictures of "
            f"{_CIFAR_RECORD} each)."
        )
    records: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r").reshape(
        -1, _CIFAR_RECORD
    )
    if records[:, 0].max() >= n_classes:
        raise ValueError(
            f"The file {path} is not of CIFAR's form (it has a class beyond {n_classes - 1})."
        )
    return records


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
    """Return the files of every class, sorted by name."""
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


def open_folder(embedding: Embedding, folder: Path) -> RawData:
    """Open a dataset of the user: a folder per class, or the files as they are published.

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
    # The path where torchvision unpacks them, relative to the folder itself or its parent.
    for inside in (".", "MNIST/raw"):
        if embedding.name == "mnist" and (folder / inside / "train-images-idx3-ubyte").is_file():
            return idx_images(folder / inside)
    for inside in (".", "cifar-10-batches-bin", "cifar-10-batches-py"):
        if embedding.name == "cifar10" and (folder / inside / "data_batch_1.bin").is_file():
            return cifar_images(folder / inside, embedding.target_names)
        if embedding.name == "cifar10" and (folder / inside / "data_batch_1").is_file():
            raise ValueError(
                f"The folder {folder / inside} holds CIFAR-10 as pickles, which could run code and are not read: "
                f"get the binary version from {embedding.remotes[0].urls[0]} and unpack it."
            )
    for inside in ("101_ObjectCategories", "caltech101/101_ObjectCategories"):
        if embedding.name == "caltech101" and (folder / inside).is_dir():
            folder = folder / inside
            break
    return image_folder(folder, without=[_BACKGROUND] if embedding.name == "caltech101" else [])
