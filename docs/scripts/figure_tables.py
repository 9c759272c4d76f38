"""The small tables of the pictures of the method pages."""

import numpy as np


def blobs(
    centers: list[tuple[float, float]], spread: list[float], size: int = 45, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return points around centres, and the number of each point's centre."""
    random = np.random.default_rng(seed)
    parts = [random.normal(at, width, (size, 2)) for at, width in zip(centers, spread, strict=True)]
    return np.vstack(parts), np.repeat(np.arange(len(centers)), size)


def three_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Return three clusters that no three boxes part without a mistake."""
    return blobs([(0, 0), (2.4, 2.0), (4.0, -0.4)], [0.62, 0.7, 0.62])


def eight_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Return eight clusters, wider towards the middle."""
    centers = [(1.9 * step, 0.9 * ((step * 3) % 8)) for step in range(8)]
    spread = [0.35, 0.5, 0.65, 0.8, 0.8, 0.65, 0.5, 0.35]
    return blobs([(float(a), float(b)) for a, b in centers], spread, size=35, seed=2)


def ring(size: int = 110, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a disc inside a ring."""
    random = np.random.default_rng(seed)
    angle = random.uniform(0, 2 * np.pi, 2 * size)
    radius = np.r_[0.8 * np.sqrt(random.uniform(size=size)), random.normal(2.2, 0.12, size)]
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], np.repeat([0, 1], size)


def arc(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return two discs and an arc around them."""
    random = np.random.default_rng(seed)
    angle = random.uniform(-0.25 * np.pi, 1.25 * np.pi, 90)
    around = 3 * np.c_[np.cos(angle), np.sin(angle)] + random.normal(0, 0.25, (90, 2))
    discs = [random.normal((at, 0), 0.45, (60, 2)) for at in (-1.2, 1.2)]
    return np.vstack([around, *discs]), np.repeat([0, 1, 2], [90, 60, 60])
