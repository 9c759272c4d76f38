"""Tables to measure on."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """A table with reference labels."""

    name: str
    X: np.ndarray
    labels: np.ndarray
    n_leaves: int


def mixture(n: int, d: int, k: int = 10, *, rank: int = 40, seed: int = 0) -> Case:
    """Return a Gaussian mixture of some rank in d dimensions plus noise, with a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    rank = min(rank, d)
    labels = rng.integers(0, k, size=n)
    hidden = 2.0 * rng.normal(size=(k, rank))[labels] + rng.normal(size=(n, rank))
    X = (hidden @ rng.normal(size=(rank, d)) / np.sqrt(rank)).astype(np.float32)
    X += 0.5 * rng.standard_normal(size=(n, d), dtype=np.float32)
    flipped = rng.random(n) < 0.1
    labels[flipped] = rng.integers(0, k, size=int(flipped.sum()))
    return Case(f"mixture {n:,}×{d}, k={k}", X, labels, k)


def iris() -> Case:
    """Return the smallest real table."""
    from spexplain import datasets

    bunch = datasets.load("iris")
    return Case("iris 150×4, k=3", bunch.data, bunch.target, 3)


def embeddings() -> list[Case]:
    """Real tables of many columns, where the data folder has them."""
    from spexplain import datasets

    folder = os.environ.get("SPEXPLAIN_DATA")
    cases = []
    for name, file in (
        ("caltech101", "caltech101_effnet.npz"),
        ("newsgroups", "newsgroups_mpnet.npz"),
    ):
        if folder and (Path(folder) / file).exists():
            bunch = datasets.load(name)
            k = len(np.unique(bunch.kmeans))
            shape = f"{bunch.data.shape[0]:,}×{bunch.data.shape[1]}"
            cases.append(Case(f"{name} {shape}, k={k}", bunch.data, bunch.kmeans, k))
    return cases
