"""Writing a file in one step: readers meet the old file or the new one, never half of it."""

import os
import secrets
from pathlib import Path


def write(path: str | os.PathLike[str], html: str, *, force: bool = True) -> Path:
    """Write a report; an interrupted run leaves an older file as it was.

    Parameters
    ----------
    path : str or path
        The file. Its folder must be there.
    html : str
        From `render`.
    force : bool, default=True
        Whether an existing file is replaced; otherwise it is refused.

    Returns
    -------
    path : Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.show.report import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write(Path(folder) / "report.html", "<p>hello</p>")
    ...     print(written.name, written.read_text())
    report.html <p>hello</p>
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"The report's path {str(target)!r} is a folder; name a file in it."
        )
    if not force and target.exists():
        raise _taken(target)
    # What a symbolic link points to is replaced, not the link.
    place = Path(os.path.realpath(target))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(place.parent)!r} to write the report to.")
    # Named before it is made: whenever Ctrl-C comes, it is known what to remove.
    temporary = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(html.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(place))
        if force:
            temporary.replace(place)
        else:
            _place_new(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _mode(place: Path) -> int:
    """Return the permissions of the old file, or those that new files get."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)  # can only be read by setting it
    os.umask(mask)
    return 0o666 & ~mask


def _place_new(temporary: Path, place: Path) -> None:
    """Rename, but refuse a file that somebody else has put there meanwhile."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise _taken(place) from None
    except OSError:  # a file system without links
        temporary.replace(place)


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(f"The file {str(path)!r} exists already and was left as it is.")
