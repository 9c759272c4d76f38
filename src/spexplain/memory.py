"""How much memory is left, asked before much is taken: a sentence is better than a killed process."""

import os
from pathlib import Path

_SMALL = 1 << 26  # bytes that are taken without asking
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
_NO_LIMIT = 1 << 60  # what old control groups write where there is no limit


def check_memory(n_bytes: float, what: str, cure: str) -> None:
    """Refuse what surely does not fit.

    Parameters
    ----------
    n_bytes : float
        Memory that is about to be taken.
    what : str
        What for: the beginning of a sentence, in the plural.
    cure : str
        What to do instead: the end of a sentence.

    Examples
    --------
    >>> from spexplain.memory import check_memory
    >>> check_memory(8e18, "Distances of 1,000,000,000 rows", "take fewer rows")
    Traceback (most recent call last):
        ...
    MemoryError: Distances of 1,000,000,000 rows need 8,000.0 PB of memory, but ... free; take fewer rows.
    """
    if n_bytes < _SMALL:
        return
    free = available_memory()
    if n_bytes > free:
        raise MemoryError(
            f"{what} need {in_words(n_bytes)} of memory, but only {in_words(free)} are free; {cure}."
        )


def in_words(n_bytes: float) -> str:
    """Return an amount of memory for people.

    Examples
    --------
    >>> from spexplain.memory import in_words
    >>> in_words(1_536_000_000)
    '1.5 GB'
    """
    unit = 0
    while n_bytes >= 1000 and unit < len(_UNITS) - 1:
        n_bytes, unit = n_bytes / 1000, unit + 1
    return f"{n_bytes:,.1f} {_UNITS[unit]}"


def available_memory() -> float:
    """Return the bytes that this process can still take, as far as the system tells.

    The least of what the machine has left, what its control group (a container) may still take, and
    what the limit on this process's addresses leaves; infinity where nothing is known.
    """
    return max(0.0, min(_of_machine(), _of_groups(), _of_limit()))


def _of_machine() -> float:
    """Return what is free or can be freed, with swap space."""
    lines = _text("/proc/meminfo").splitlines()
    known = {line.partition(":")[0]: line.split()[1] for line in lines if len(line.split()) > 1}
    if "MemAvailable" in known:
        return 1024.0 * (int(known["MemAvailable"]) + int(known.get("SwapFree", 0)))
    try:  # all there is, where what is free is not told
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _of_groups() -> float:
    """Return what the control groups of this process may still take, of both versions."""
    left = float("inf")
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers not in ("", "memory"):
            continue
        root = Path("/sys/fs/cgroup") / controllers
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        limit_name, used_name = names if controllers else ("memory.max", "memory.current")
        group = root / path.lstrip("/")
        # Within a container the path is often the one outside: its own group is the root then.
        for folder in [group, *group.parents]:
            limit, used = (_number(folder / name) for name in (limit_name, used_name))
            if limit is not None and used is not None and limit < _NO_LIMIT:
                left = min(left, limit - used + _cached(folder))
            if folder == root:
                break
    return left


def _cached(folder: Path) -> int:
    """Return the bytes of files that a group gives up when memory is short."""
    for line in _text(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and value.isdigit():
            return int(value)
    return 0


def _of_limit() -> float:
    """Return what the limit on addresses (ulimit -v) leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    pages = _text("/proc/self/statm").split()
    used = int(pages[0]) * resource.getpagesize() if pages else 0
    return float(limit - used)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: str | Path) -> str:
    """Return the content of a small file, nothing if it cannot be read."""
    try:
        return Path(path).read_text()
    except (OSError, ValueError):
        return ""
