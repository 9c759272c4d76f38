"""Sessions on disk: a line for the start and a line for every edit, written before the page is answered.

A session that was killed in the middle of a line loses this line only. Nobody but the user may read
the files.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

from spexplain.files import write_file

FORMAT, VERSION = "spexplain.studio", 1
_MINE = 0o700  # of folders
_HASHED = 1 << 28  # bytes up to which the content of a table is compared, not only its date


class Stored(NamedTuple):
    """What a file holds of a session."""

    start: dict[str, Any]
    events: list[dict[str, Any]]


def state_folder() -> Path:
    """Return the folder of this user's sessions; it is made if it is not there."""
    chosen = os.environ.get("SPEXPLAIN_STATE")
    if chosen:
        folder = Path(chosen)
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        folder = folder / "spexplain"
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support" / "spexplain"
    else:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        folder = Path(base) / "spexplain"
    folder = folder / "studio"
    folder.mkdir(parents=True, exist_ok=True, mode=_MINE)
    with suppress(OSError):
        folder.chmod(_MINE)
    return folder


def fingerprint(path: Path) -> str:
    """Return a fingerprint of a file, which changes with its content."""
    about = path.stat()
    if about.st_size > _HASHED:
        return f"{about.st_size} {about.st_mtime_ns}"
    return f"{about.st_size} {sha256(path.read_bytes()).hexdigest()}"


class SavedSession(AbstractContextManager["SavedSession"]):
    """The file of a session; only one process has it at a time.

    Parameters
    ----------
    path : path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.studio.saving import SavedSession
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SavedSession(Path(folder) / "a.session") as saved:
    ...         saved.begin({"name": "table.csv"})
    ...         saved.add({"edit": "prune", "arguments": {"node": 2}})
    ...         saved.read().events
    [{'edit': 'prune', 'arguments': {'node': 2}}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))
        self._file: IO[bytes] | None = None
        self._locked = self._lock()

    def _lock(self) -> IO[bytes] | None:
        """Take the session for this process; the lock ends with it, however it ends."""
        try:
            import fcntl
        except ImportError:  # Windows, where an open file cannot be replaced by others
            return None
        file = _opened(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise BlockingIOError(f"{self.path.name} is open in another studio.") from None
        return file

    def read(self) -> Stored | None:
        """Return what the file holds, None if there is none; refuse a file that is not a session."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return None
        found = []
        for line in lines[:-1]:  # what stands behind the last line break was not completed
            try:
                found.append(json.loads(line))
            except ValueError:
                break
        start = found[0] if found else None
        if not isinstance(start, dict) or start.get("format") != FORMAT:
            raise ValueError(f"{self.path} is not a session of the studio.")
        if start.get("version") != VERSION:
            raise ValueError(f"{self.path} was written by another version of spexplain.")
        return Stored(start, [each for each in found[1:] if isinstance(each, dict)])

    def begin(self, start: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = ()) -> None:
        """Write the first line, and perhaps others, in place of everything that was there."""
        self._end()
        lines = [{"format": FORMAT, "version": VERSION, **start}, *events]
        if not self.path.exists():
            _opened(self.path, os.O_WRONLY | os.O_CREAT).close()
        write_file(self.path, b"".join(map(_line, lines)))

    def add(self, event: Mapping[str, Any]) -> None:
        """Write one more line."""
        if self._file is None:
            self._file = _opened(self.path, os.O_WRONLY | os.O_APPEND)
        self._file.write(_line(event))
        self._file.flush()

    def keep_table(self, path: Path, ending: str) -> Path:
        """Move a table that has no other place next to the session, and return where it is."""
        target = self.path.with_name(f"{self.path.stem}.table{ending}")
        for old in self.path.parent.glob(f"{self.path.stem}.table*"):
            if old != path:
                old.unlink()
        shutil.move(path, target)
        target.chmod(0o600)
        return target

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the file."""
        self._end()
        if self._locked is not None:
            self._locked.close()
            self._locked = None


def _opened(path: Path, flags: int) -> IO[bytes]:
    """Open a file that only the user may read."""
    return os.fdopen(os.open(path, flags, 0o600), "ab" if flags & os.O_APPEND else "wb", 0)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode() + b"\n"
