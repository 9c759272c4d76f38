"""Writing a report to a file."""

import os
from pathlib import Path

from spexplain.files import write_file


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
    # What a symbolic link points to is replaced, so its folder is what counts.
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r} to write the report to.")
    return write_file(target, html, force=force)
