"""A server on this machine that stands in for the sources of datasets, and what to ask of a dataset."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from spexplain.datasets.registry import TABLES, TextTable


def check_bunch(dataset: Bunch, n_samples: int, n_features: int, n_classes: int) -> None:
    assert isinstance(dataset, Bunch)
    assert dataset.data.shape == (n_samples, n_features)
    assert np.isfinite(dataset.data).all()
    assert dataset.target.dtype == np.int64
    assert np.unique(dataset.target).tolist() == list(range(n_classes))
    assert dataset.target.shape == (n_samples,)
    assert isinstance(dataset.feature_names, list)
    assert len(dataset.feature_names) == n_features
    assert all(type(name) is str for name in dataset.feature_names)
    assert isinstance(dataset.target_names, np.ndarray)
    assert dataset.target_names.dtype.kind == "U"
    assert len(set(dataset.target_names)) == n_classes
    assert len(dataset.DESCR) > 80


def same(a: Bunch, b: Bunch) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def is_sentence(error: BaseException) -> bool:
    text = str(error)
    return "\n" not in text and text.endswith(".")


def arff(
    columns: tuple[str, ...] | list[str],
    classes: list[str],
    rows: list[str],
    newline: str = "\n",
) -> bytes:
    lines = ["% a comment, with", "", "@RELATION some", ""]
    lines += [f"@ATTRIBUTE {column}\tREAL" for column in columns]
    lines += [f"@attribute 'Class' {{{','.join(classes)}}}", "", "@DATA", *rows, ""]
    return newline.join(lines).encode()


def zipped(content: bytes, name: str = "Beans/Dry_Bean.ARFF") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Beans/readme.txt", "not this one")
        archive.writestr("__MACOSX/Beans/._Dry_Bean.arff", b"\x00")
        archive.writestr(name, content)
    return buffer.getvalue()


def uci_spelling(table: TextTable) -> list[str]:
    other = {"AspectRation": "AspectRatio", "roundness": "Roundness"}
    return [other.get(feature, feature) for feature in table.features]


def small(table: TextTable, n_per_class: int = 3) -> tuple[TextTable, list[str]]:
    """Shrink a dataset to a few made-up rows."""
    rows = []
    for k, label in enumerate(table.class_sizes):
        for i in range(n_per_class):
            values = [f"{k}.{i}{j:02d}" for j in range(len(table.features))]
            rows.append(",".join([*values, label]))
    sizes = dict.fromkeys(table.class_sizes, n_per_class)
    return replace(table, class_sizes=sizes, min_class_size=0), rows


class Server:
    """A server on this machine, with files to be set and requests to be counted."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.promise = 0
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                content = outer.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) + outer.promise))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()


def serve_small(
    serve: Callable[..., TextTable], name: str, sha256: str | None = "right"
) -> TextTable:
    table, rows = small(TABLES[name])
    content = arff(table.features, [*table.class_sizes], rows)
    return serve(name, content, sha256=sha256, table=table)


def check_trouble(error: BaseException, table: TextTable, cache: Path) -> None:
    """The message helps on, and the cache has nothing of a failed download."""
    assert is_sentence(error)
    for part in (repr(table.name), table.source.urls[0], table.source.name, str(cache)):
        assert part in str(error)
    assert not cache.exists() or not any(cache.iterdir())
