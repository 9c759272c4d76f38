"""The command line: files in, a tree in the terminal, files out; only `main` is for others."""

import sys
from importlib.util import find_spec

_NEEDED = ("typer", "rich", "polars")


def main() -> int | None:
    """Run the command line; without its extra, say in one sentence how to get it.

    Returns
    -------
    status : int or None
        1 if packages are missing, 130 after Ctrl-C while they are loaded. Otherwise the process ends
        with the exit status of the command: 0 for success, 1 for a failure, 2 for wrong usage, 130
        after Ctrl-C.
    """
    try:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            sentence = f"The command line needs {', '.join(missing)}"
            print(f'{sentence}: pip install "spexplain[cli]"', file=sys.stderr)
            return 1
        from spexplain.cli.app import run

        run()
    except KeyboardInterrupt:  # before there is a command that could handle it
        return 130
    return None
