"""Finished tasks on disk: one small file each, so that a run goes on where another stopped."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spexplain._version import __version__
from spexplain.paper.tables import Task
from spexplain.show.report.files import write

_LIBRARIES = ("numpy", "scikit-learn", "pyamg")


class Store:
    """A folder of finished tasks.

    A file is written under another name and renamed, so it is there as a whole or not at all. It
    tells everything that its numbers depend on: task and settings, the data, the versions of
    spexplain and of the libraries behind the references. A record of anything else is not taken.

    Parameters
    ----------
    folder : Path
        Where the files are; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, task: Task, digest: str) -> dict[str, Any] | None:
        """Return the record of a task on the data of this digest, or None."""
        path = self._path(task, digest)
        try:
            kept = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(kept, dict) or kept.get("of") != _identity(task, digest):
            return None
        record = kept.get("record")
        return record if isinstance(record, dict) else None

    def put(self, task: Task, digest: str, record: dict[str, Any]) -> None:
        """Keep the record of a task."""
        kept = {"of": _identity(task, digest), "record": record}
        write(self._path(task, digest), json.dumps(kept, allow_nan=True))

    def clear(self, names: Iterable[str]) -> None:
        """Forget everything about some datasets."""
        for name in names:
            for path in self.folder.glob(f"{name.lower()}-*.json"):
                path.unlink()

    def _path(self, task: Task, digest: str) -> Path:
        text = json.dumps(_identity(task, digest), sort_keys=True)
        code = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        name = "-".join((task.dataset, task.kind, task.method)).lower().replace(" ", "-")
        return self.folder / f"{name}-{code}.json"


def _identity(task: Task, digest: str) -> dict[str, Any]:
    """Return all that a record depends on."""
    return {
        "task": asdict(task),
        "run": type(task.reference).__name__,
        "data": digest,
        "spexplain": __version__,
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
