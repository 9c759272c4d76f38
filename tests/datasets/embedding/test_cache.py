"""Embeddings are computed once, whatever interrupts them."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from encoded import MeanColor, check_sentence, entries
from spexplain import datasets

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def test_second_load_computes_nothing(pictures: Path, cache: Path) -> None:
    first = datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    again = MeanColor()
    second = datasets.load("caltech101", folder=pictures, encoder=again, batch_size=3)
    assert again.batches == []
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[key], second[key]) for key in first)
    assert len(entries(cache)) == 1
    files = {path.name for path in (cache / "embeddings" / entries(cache)[0]).iterdir()}
    assert {"data.npy", "target.npy", "classes.json"} <= files


def test_other_models_and_other_pictures_are_other_entries(pictures: Path, cache: Path) -> None:
    encoders = [MeanColor() for _ in range(3)]
    encoders[1].name = "another"
    for encoder in encoders[:2]:
        datasets.load("caltech101", folder=pictures, encoder=encoder)
    Image.new("RGB", (30, 8)).save(pictures / "cat" / "z.png")
    dataset = datasets.load("caltech101", folder=pictures, encoder=encoders[2])
    assert len(dataset.data) == 11
    assert len(entries(cache)) == 3


class Interrupted(MeanColor):
    """Stops at its third batch."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def encode(self, batch: Sequence[Any], /) -> np.ndarray:
        if len(self.batches) == 2:
            raise self.error
        return super().encode(batch)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_interruption_leaves_no_entry_and_loses_one_batch(
    pictures: Path, cache: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        datasets.load("caltech101", folder=pictures, encoder=Interrupted(error), batch_size=3)
    assert [name.endswith(".part") for name in entries(cache)] == [True]
    rest = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=rest, batch_size=2)
    assert rest.batches == [2, 2]  # six of ten were done
    assert [name.endswith(".part") for name in entries(cache)] == [False]
    # An entry computed in one go is the same.
    whole = MeanColor()
    whole.name = "whole"
    np.testing.assert_array_equal(
        datasets.load("caltech101", folder=pictures, encoder=whole).data, dataset.data
    )


def test_killed_process(pictures: Path, cache: Path) -> None:
    code = """
import os, sys
from spexplain import datasets
class Killed:
    name, n_dims, n = "mean-color", 4, 0
    def encode(self, batch):
        self.n += 1
        if self.n == 3:
            os._exit(7)
        return [[1.0, 2.0, 3.0, 4.0]] * len(batch)
datasets.load("caltech101", folder=sys.argv[1], encoder=Killed(), batch_size=3)
"""
    command = [sys.executable, "-c", code, str(pictures)]
    assert subprocess.run(command, check=False, timeout=120).returncode == 7
    assert [name.endswith(".part") for name in entries(cache)] == [True]
    rest = MeanColor()
    dataset = datasets.load("caltech101", folder=pictures, encoder=rest, batch_size=3)
    assert rest.batches == [3, 1]
    assert dataset.data[:6].tolist() == [[1, 2, 3, 4]] * 6


def test_started_with_vectors_of_another_length(pictures: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        datasets.load(
            "caltech101", folder=pictures, encoder=Interrupted(KeyboardInterrupt()), batch_size=3
        )
    changed = types.SimpleNamespace(
        name="mean-color", n_dims=2, encode=lambda batch: [[1.0, 2.0]] * len(batch)
    )
    dataset = datasets.load("caltech101", folder=pictures, encoder=changed)
    assert dataset.data.tolist() == [[1, 2]] * 10


@pytest.mark.parametrize("meeting", [0, 1, 3])
def test_two_processes_at_once(pictures: Path, cache: Path, meeting: int) -> None:
    class Met(MeanColor):
        def encode(self, batch: Sequence[Any], /) -> np.ndarray:
            if len(self.batches) == meeting:  # another comes, and ends first
                datasets.load("caltech101", folder=pictures, encoder=MeanColor(), batch_size=3)
            return super().encode(batch)

    dataset = datasets.load("caltech101", folder=pictures, encoder=Met(), batch_size=3)
    alone = MeanColor()
    alone.name = "alone"
    expected = datasets.load("caltech101", folder=pictures, encoder=alone)
    np.testing.assert_array_equal(dataset.data, expected.data)
    assert not [name for name in entries(cache) if name.endswith(".part") or "new-" in name]


def test_damaged_entry(pictures: Path, cache: Path) -> None:
    datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    path = next((cache / "embeddings").iterdir()) / "data.npy"
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(ValueError, match="is damaged") as caught:
        datasets.load("caltech101", folder=pictures, encoder=MeanColor())
    check_sentence(caught.value)
