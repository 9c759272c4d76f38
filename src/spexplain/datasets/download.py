"""Finds files: in the user's data folder, in the cache, or by a download into the cache with pooch."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spexplain.datasets.registry import Embedding, RemoteFile, TextTable

_DATA_FOLDER = "the folder that the environment variable SPEXPLAIN_DATA names"


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
    """Return the cache folder for downloaded and computed files; it need not exist.

    Returns
    -------
    folder : Path
        The folder that ``SPEXPLAIN_CACHE`` names, or else the usual cache folder of the operating system.
    """
    if named := os.environ.get("SPEXPLAIN_CACHE"):
        return Path(named).expanduser()
    pooch = _import_pooch(
        "Finding the cache folder", "name a folder in the environment variable SPEXPLAIN_CACHE"
    )
    return Path(pooch.os_cache("spexplain"))


def download_table(table: TextTable) -> Path:
    """Return the path of a dataset's file in the cache, downloading it unless it is there.

    Parameters
    ----------
    table : TextTable
        The dataset.

    Returns
    -------
    path : Path
        A file with the right checksum, if the checksum is known.
    """
    source = table.source
    _import_pooch(
        f"Downloading the dataset {table.name!r}",
        f"put the file {source.name} from {source.urls[0]} into {_DATA_FOLDER}",
    )
    folder = cache_folder()
    try:
        return _fetch(source, folder)
    except DownloadError as error:
        raise error.kind(table_advice(table, error.reason, folder)) from error.__cause__


def table_advice(table: TextTable, reason: str, folder: Path) -> str:
    """Return the error for a failed download, with the reason and an alternative."""
    return (
        f"The dataset {table.name!r} could not be downloaded: {reason}; get it from "
        f"{table.source.urls[0]} and put it as {table.source.name} into {folder}, or into {_DATA_FOLDER}."
    )


def download_pictures(embedding: Embedding) -> Path:
    """Return the folder with the pictures of a dataset, downloading them unless they are there.

    Parameters
    ----------
    embedding : Embedding
        The dataset.

    Returns
    -------
    folder : Path
        The files as published, unpacked.
    """
    what = f"{embedding.kind} of the dataset {embedding.name!r}"
    _import_pooch(f"Downloading the {what}", folder_advice(embedding))
    folder = cache_folder() / "raw" / embedding.name
    for remote in embedding.remotes:
        try:
            if not (folder / str(remote.unpacked)).exists():
                archive = _fetch(remote, folder)
                _unpack(archive, folder / str(remote.unpacked), remote.member)
                archive.unlink()
        except DownloadError as error:
            sentence = (
                f"The {what} could not be downloaded: {error.reason}; {folder_advice(embedding)}."
            )
            raise error.kind(sentence) from error.__cause__
    return folder


def folder_advice(embedding: Embedding) -> str:
    """Return advice for using texts or pictures without a download."""
    return (
        f"give folder, one with a folder of {embedding.kind} for every class, or put the file "
        f"{embedding.file} into {_DATA_FOLDER}"
    )


def _import_pooch(purpose: str, otherwise: str) -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs pooch: pip install "spexplain[datasets]", or {otherwise}.'
        ) from error
    return pooch


class DownloadError(Exception):
    """A failed download, with the reason for the message."""

    def __init__(self, kind: type[Exception], reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def _fetch(remote: RemoteFile, folder: Path) -> Path:
    """Return the path of a file in a folder of the cache, downloading it unless it is there."""
    import pooch

    failure: Exception | None = None
    for url in remote.urls:
        cache = pooch.create(
            path=folder,
            base_url="",
            registry={remote.name: remote.checksum},
            urls={remote.name: url},
        )
        # Read at once, not streamed, so that a failure leaves no socket open.
        downloader = pooch.HTTPDownloader(stream=False)
        try:
            # Written under another name first, and renamed after the checksum has been verified.
            return Path(cache.fetch(remote.name, downloader=downloader))
        except (OSError, ValueError) as error:
            failure = error
    raise _download_error(failure, remote) from failure


def _download_error(failure: Exception | None, remote: RemoteFile) -> DownloadError:
    """Return the reason for an error of pooch, of requests or of the file system, in words."""
    if isinstance(failure, ValueError):
        kind, _, digest = str(remote.checksum).rpartition(":")
        name = kind.upper() or "SHA-256"
        return DownloadError(ValueError, f"what came does not have the {name} checksum {digest}")
    if isinstance(failure, PermissionError) or getattr(failure, "errno", None) is not None:
        words = getattr(failure, "strerror", None) or "permission denied"
        return DownloadError(OSError, f"the folder cannot be written ({words})")
    # The rest are errors of requests, whose texts are long and full of internals.
    response = getattr(failure, "response", None)
    if response is not None:
        reason = f"the server answered {response.status_code} {response.reason}"
    else:
        reason = f"no connection to the server, or it broke ({type(failure).__name__})"
    return DownloadError(ConnectionError, reason)


def _unpack(archive: Path, target: Path, member: str | None = None) -> None:
    """Unpack a file or folder, which appears complete or not at all.

    Parameters
    ----------
    archive : Path
        A ``.gz``, a ``.tar.gz``, or a ``.zip`` that holds one of these.
    target : Path
        The unpacked file or folder, in the folder of the archive.
    member : str or None
        For a ``.zip``: the ending of the name of the archive in it.
    """
    with TemporaryDirectory(dir=target.parent, prefix="new-") as temporary:
        new = Path(temporary)
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as outer:
                archive = Path(outer.extract(find_member(outer, member), new))
        if archive.name.endswith(".tar.gz"):
            # Python has the filter from 3.11.4 on; the checksum has been verified in any case.
            options: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(archive) as outer_tar:
                outer_tar.extractall(new / "unpacked", **options)
            (new / "unpacked" / target.name).rename(target)
        else:
            with gzip.open(archive) as packed, (new / target.name).open("wb") as file:
                shutil.copyfileobj(packed, file)
            (new / target.name).rename(target)


def find_member(archive: zipfile.ZipFile, ending: str | None) -> str:
    """Return the name of the file in an archive with this ending."""
    # macOS packs a second, hidden file of the same ending next to each.
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX")]
    found = [name for name in names if name.lower().endswith((ending or "").lower())]
    if not found:
        raise ValueError(f"it has no file that ends in {ending}")
    return found[0]
