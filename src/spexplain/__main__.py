"""``python -m spexplain``: the command line."""

import sys

from spexplain.cli import main

if __name__ == "__main__":
    sys.exit(main())
