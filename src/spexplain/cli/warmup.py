"""``spexplain warmup``: compile everything that is compiled on first use."""

import time
from collections.abc import Iterator
from typing import Any

import typer


def warmup() -> None:
    """Compile what is compiled on first use, so that the next run starts at once."""
    import warnings

    from spexplain.cli.terminal import Terminal

    terminal = Terminal()
    fits = list(small_fits())
    start = time.perf_counter()
    with terminal.bar("Compiling", len(fits)) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator, X, y in fits:
            estimator.fit(X, y)
            advance(1)
    seconds = time.perf_counter() - start
    typer.echo(f"Compiled in {seconds:.1f} s; kept in {compiled_code_folder()}")


def small_fits() -> Iterator[tuple[Any, Any, Any]]:
    """Yield estimators with small tables and labels; fitting all of them compiles every kernel."""
    import numpy as np

    import spexplain

    random = np.random.default_rng(0)
    # More rows than are sorted as a whole, so that bounds and refinement are met too.
    narrow = random.normal(size=(3_000, 6)).round(2)
    y = (narrow[:, 0] + 0.5 * narrow[:, 1] > 0).astype(int) + (narrow[:, 2] > 0.5)
    large = random.normal(size=(50_000, 20))
    large_y = (large[:, 0] > 0).astype(int) + (large[:, 1] > 0)
    for dtype in (np.float64, np.float32):
        X = narrow.astype(dtype)
        methods: list[tuple[str, dict[str, Any]]] = [
            ("SpexClique", {"refine": "objective"}),
            ("SpexClique", {"refine": "agreement", "clique_weights": "inverse_size"}),
            ("CART", {}),
            ("CART", {"criterion": "volume"}),
            ("SpexKNN", {"n_neighbors": 5, "refine": "objective"}),
            ("NonUniformCut", {"refine": "objective"}),
            ("IMM", {"refine": "objective"}),
            ("EMN", {}),
            ("ExKMC", {"n_leaves": 6, "refine": "objective"}),
            ("ExGreedy", {}),
            ("ExShallow", {}),
            ("BestTree", {"n_leaves": 6}),
        ]
        for name, options in methods:
            estimator = getattr(spexplain, name)(3, engine="histogram", n_jobs=2, **options)
            yield estimator, X, y
        yield spexplain.KernelIMM(3, n_leaves=5, max_anchors=100), X, y
        yield spexplain.SpexClique(3, n_jobs=2), large.astype(dtype), large_y


def compiled_code_folder() -> str:
    """Return where compiled code is kept."""
    from spexplain.kernels import labels

    for kernel in vars(labels).values():
        stats = getattr(kernel, "stats", None)
        path = getattr(stats, "cache_path", None)
        if path:
            return str(path)
    return "memory only: no folder for compiled code can be written to"
