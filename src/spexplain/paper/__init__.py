"""The tables and figures of the SpEx paper, computed again beside the published numbers; import from here."""

from spexplain.paper.protocol import DATASETS, Dataset
from spexplain.paper.published_numbers import published
from spexplain.paper.results import Results, Store, run
from spexplain.paper.tables import TABLES, PaperRow, rows_of

__all__ = [
    "DATASETS",
    "TABLES",
    "Dataset",
    "PaperRow",
    "Results",
    "Store",
    "published",
    "rows_of",
    "run",
]
