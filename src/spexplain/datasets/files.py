"""Datasets in files: find them, download them, read them."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spexplain.datasets.bunches import make_bunch
from spexplain.datasets.registry import Table

if TYPE_CHECKING:
    from sklearn.utils import Bunch

# What the readers of the standard library and NumPy raise on damaged or foreign files.
UNREADABLE = (ValueError, IndexError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def load_table(table: Table, *, full: bool = False) -> Bunch:
    """Load a dataset from its text file.

    Parameters
    ----------
    table : Table
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
        data, labels = read_table(path, table)
    else:
        path = download(table)
        try:
            data, labels = read_table(path, table)
        except ValueError as error:
            # The login page of a network instead of the file, say: kept, it would be read again.
            path.unlink(missing_ok=True)
            reason = f"what came does not hold it ({error.__cause__})"
            raise ValueError(_advice(table, reason, path.parent)) from error
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


def find_in_data_folder(*names: str) -> Path | None:
    """Look for a file in the folder that ``SPEXPLAIN_DATA`` names.

    Parameters
    ----------
    *names : str
        Names of files, the preferred ones first.

    Returns
    -------
    path : Path or None
        The first that exists; None if there is none, or no such folder is named.
    """
    value = os.environ.get("SPEXPLAIN_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(
            f"The environment variable SPEXPLAIN_DATA is {value!r}, which is not a folder."
        )
    return next((folder / name for name in names if (folder / name).is_file()), None)


def cache_folder() -> Path:
    """Give the folder for what is downloaded or computed once; it need not exist.

    Returns
    -------
    folder : Path
        What ``SPEXPLAIN_CACHE`` names, or else the usual place of the operating system.
    """
    if named := os.environ.get("SPEXPLAIN_CACHE"):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            'Finding the cache folder needs pooch: pip install "spexplain[datasets]", or name a '
            "folder in the environment variable SPEXPLAIN_CACHE."
        ) from error
    return Path(pooch.os_cache("spexplain"))


def download(table: Table) -> Path:
    """Give the path of a dataset's file in the cache, downloading it unless it is there.

    Parameters
    ----------
    table : Table
        The dataset.

    Returns
    -------
    path : Path
        A file with the right checksum, as far as that is known.
    """
    source = table.source
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"Downloading the dataset {table.name!r} needs pooch: "
            'pip install "spexplain[datasets]", or put the file '
            f"{source.name} from {source.url} into the folder that the environment variable "
            "SPEXPLAIN_DATA names."
        ) from error

    folder = cache_folder()
    cache = pooch.create(
        path=folder,
        base_url="",
        registry={source.name: source.sha256},
        urls={source.name: source.url},
    )
    # The files are small: read at once, not streamed, so that a failure leaves no socket open.
    downloader = pooch.HTTPDownloader(stream=False)
    try:
        # Written under another name first, and renamed once the checksum has been found right.
        return Path(cache.fetch(source.name, downloader=downloader))
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno is not None:
            reason = f"the folder cannot be written ({error.strerror or 'permission denied'})"
            raise OSError(_advice(table, reason, folder)) from error
        # What is left are the errors of requests, whose texts are long and show its innards.
        response = getattr(error, "response", None)
        if response is not None:
            reason = f"the server answered {response.status_code} {response.reason}"
        else:
            reason = f"no connection to the server, or it broke ({type(error).__name__})"
        raise ConnectionError(_advice(table, reason, folder)) from error
    except ValueError as error:
        reason = f"what came does not have the SHA-256 checksum {source.sha256}"
        raise ValueError(_advice(table, reason, folder)) from error


def read_table(path: Path, table: Table) -> tuple[NDArray[np.float64], list[str]]:
    """Read a dataset's text file, and check that it is that dataset.

    Parameters
    ----------
    path : Path
        A CSV file, perhaps compressed by gzip, an ARFF file, or a zip archive with one of them.
    table : Table
        The dataset.

    Returns
    -------
    data : ndarray of shape (n_samples, n_features)
        The features, in the order of ``table.features``.
    labels : list of str
        The names of the classes.
    """
    try:
        name, content = _unpack(path, table.source.member)
        # The rows are ASCII; a comment in some other encoding must not stand in the way.
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
    except (*UNREADABLE, gzip.BadGzipFile) as error:
        raise foreign(path, table.name, error) from error
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

    SciPy's reader is not used: it refuses text columns, and gives records to be taken apart again.

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


def _unpack(path: Path, member: str | None) -> tuple[str, bytes]:
    """Give the name and the content of the text file in, or at, `path`."""
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return path.stem, file.read()
    if path.suffix != ".zip":
        return path.name, path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        # macOS packs a second, hidden file of the same ending next to each.
        names = [name for name in archive.namelist() if not name.startswith("__MACOSX")]
        found = [name for name in names if name.lower().endswith((member or "").lower())]
        if not found:
            raise ValueError(f"it has no file that ends in {member}")
        return found[0], archive.read(found[0])


def foreign(path: Path, name: str, error: Exception) -> ValueError:
    """Say in one sentence that a file is not the dataset that it should be."""
    return ValueError(f"The file {path} does not hold the dataset {name!r}: {error}.")


def _advice(table: Table, reason: str, folder: Path) -> str:
    """Say in one sentence what failed, and how to do without the download."""
    return (
        f"The dataset {table.name!r} could not be downloaded: {reason}; get it from "
        f"{table.source.url} and put it as {table.source.name} into {folder}, or into the folder "
        "that the environment variable SPEXPLAIN_DATA names."
    )
