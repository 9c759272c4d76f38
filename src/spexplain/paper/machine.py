"""What the numbers were computed on."""

import os
import platform
from pathlib import Path


def describe() -> dict[str, str]:
    """Return the processor, its cores, and the versions that matter.

    Examples
    --------
    >>> from spexplain.paper.machine import describe
    >>> list(describe())
    ['processor', 'cores', 'system', 'Python', 'NumPy', 'scikit-learn', 'spexplain']
    """
    import numpy
    import sklearn

    from spexplain._version import __version__

    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
        "NumPy": str(numpy.__version__),
        "scikit-learn": str(sklearn.__version__),
        "spexplain": __version__,
    }


def load() -> float:
    """Return how many processes wanted a core in the last minute; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _processor() -> str:
    """Return the name of the processor, where the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
