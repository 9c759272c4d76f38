"""Free memory, checked before large allocations, so that an error comes instead of a killed process."""

import os
from pathlib import Path

_SMALL = 1 << 26  # bytes that are allocated without a check
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")
_NO_LIMIT = 1 << 60  # value of old control groups without a limit


def check_memory(n_bytes: float, what: str, cure: str) -> None:
    """Raise an error if memory is surely not sufficient.

    Parameters
    ----------
    n_bytes : float
        Memory that is about to be allocated.
    what : str
        What needs the memory: the beginning of the sentence, in the plural.
    cure : str
        What to do instead: the end of the sentence.

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
    """Return an amount of memory in words.

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
    """Return the bytes that this process can still allocate, according to the system.

    The least of the free memory of the machine, of the rest in its control group (a container), and of
    the rest under the limit on this process's addresses; infinity if nothing is known.
    """
    return max(0.0, min(_of_machine(), _of_groups(), _of_limit()))


def _of_machine() -> float:
    """Return the bytes that are free or can be freed, including swap space."""
    lines = _text("/proc/meminfo").splitlines()
    known = {line.partition(":")[0]: line.split()[1] for line in lines if len(line.split()) > 1}
    if "MemAvailable" in known:
        return 1024.0 * (int(known["MemAvailable"]) + int(known.get("SwapFree", 0)))
    try:  # all memory, if the free part is not known
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _of_groups() -> float:
    """Return the bytes that the control groups of this process, of both versions, may still take."""
    left = float("inf")
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers not in ("", "memory"):
            continue
        root = Path("/sys/fs/cgroup") / controllers
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        limit_name, used_name = names if controllers else ("memory.max", "memory.current")
        group = root / path.lstrip("/")
        # Inside a container the path is often that of the host; then the container's own group is the root.
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
    """Return the bytes left under the limit on addresses (ulimit -v)."""
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
