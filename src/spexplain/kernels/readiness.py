"""Whether compiled code pays for a table: that depends on its size, and on what is loaded or kept on disk already.

Loads nothing itself. All engines give the same tree, so a wrong guess costs time only.
"""

import os
import sys
from functools import cache
from math import inf
from pathlib import Path

# Measured by `benchmarks/auto_border.py`.
_LEAST_VALUES = 20_000  # of a table; below, compiled code gains nothing even where it is loaded
_SAVED = 3.5e-7  # seconds that it saves a value
_TO_IMPORT = 0.3  # seconds until Numba is imported
_TO_LOAD = 0.3  # seconds until the kernels of a fit are loaded from disk
_TO_COMPILE = 5.0  # seconds until they are compiled
_TO_COMPILE_ONE = {"groups": 0.3}  # modules whose kernels are used alone, where Numba runs already

_n_values_before = 0


def compiled_pays(n_values: int, kernel: str = "labels.walk_labels") -> bool:
    """Whether compiled code is the faster way for a table of that many values, in this process as it is now.

    Tables that were passed to `count_table` count too: what did not pay for one of them may pay for all
    of them together.

    Parameters
    ----------
    n_values : int
        Rows times columns.
    kernel : str
        Module and name of the kernel that would be used; it stands for those that it is used with.
    """
    if n_values < _LEAST_VALUES:
        return False
    return (n_values + _n_values_before) * _SAVED >= _seconds_to_start(kernel)


def count_table(n_values: int) -> None:
    """Remember that a table was searched without compiled code."""
    global _n_values_before  # noqa: PLW0603
    if n_values >= _LEAST_VALUES:
        _n_values_before += n_values


def _seconds_to_start(kernel: str) -> float:
    """Return how long it takes until a kernel can run compiled: for ever where Numba is switched off."""
    if _is_switched_off():
        return inf
    module, _, name = kernel.partition(".")
    loaded = sys.modules.get(f"spexplain.kernels.{module}")
    if loaded is not None and getattr(loaded, name).signatures:
        return 0.0
    is_kept = _is_on_disk(kernel)
    if "numba" in sys.modules:
        return _TO_LOAD if is_kept else _TO_COMPILE_ONE.get(module, _TO_COMPILE)
    return _TO_IMPORT + (_TO_LOAD if is_kept else _TO_COMPILE)


def _is_switched_off() -> bool:
    """Whether kernels run as plain Python: the user has set NUMBA_DISABLE_JIT."""
    numba = sys.modules.get("numba")
    if numba is not None:
        return bool(numba.config.DISABLE_JIT)
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


@cache
def _is_on_disk(kernel: str) -> bool:
    """Whether Numba seems to have kept a kernel; it does so beside the code or in a folder of the user's."""
    beside = Path(__file__).parent / "__pycache__"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        folders = list(Path(chosen).glob("kernels_*"))
    else:
        folders = [beside, *(Path.home() / ".cache" / "numba").glob("kernels_*")]
    return any(any(folder.glob(f"{kernel}-*.nbi")) for folder in folders)
