"""Inputs from which the coverage-guided fuzzer makes others; ``campaign/seeds`` holds them as files."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from targets import SUFFIXES, TARGETS, model

from spexplain.export import to_json
from spexplain.export.dialects import DIALECTS


def seeds(target: str) -> Iterator[bytes]:
    """Give inputs of which the fuzzer makes others; ``campaign/seeds`` holds them."""
    if target == "from_json":
        yield b"\0" + to_json(model()).encode()
        yield bytes([1, 3, 1, 2, 4, 20])
    elif target == "to_sql":
        for at in range(len(DIALECTS)):
            yield bytes([at]) + b"".join(
                bytes([len(each)]) + each + b"\0" for each in _HOSTILE_NAMES
            )
    else:
        yield from _table_seeds()


_HOSTILE_NAMES = (b'a"b', b"`x`'; --", b"it's", b"\\", b"\xc3\xbc\n", b"t]", b"label")


def _table_seeds() -> Iterator[bytes]:
    import polars as pl

    frame = pl.DataFrame({"a": [0.5, None, 3.0], "b": [1, -3, 4], "c": ["x", "=1", 'q"t']})
    for at, suffix in enumerate(SUFFIXES):
        file = io.BytesIO()
        kind = suffix.removesuffix(".gz")
        if kind in ("csv", "tsv"):
            frame.write_csv(file, separator="\t" if kind == "tsv" else ",")
        elif kind in ("jsonl", "json"):
            frame.write_ndjson(file)
        elif kind == "parquet":
            frame.write_parquet(file, compression="uncompressed")
        elif kind == "arrow":
            frame.write_ipc(file)
        else:
            np.save(file, np.array([[0.5, 1.0], [1.5, 2.0]]))
        yield bytes([at, 3]) + file.getvalue()


def write_seeds(folder: Path) -> None:
    """Write the seeds of all targets, one file each."""
    for target in TARGETS:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds(target)):
            temporary = folder / target / f".{number}.tmp"
            temporary.write_bytes(seed)
            os.replace(temporary, folder / target / f"{number}")
