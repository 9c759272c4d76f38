"""The tables and figures of the SpEx paper, computed again beside the published numbers."""

from spexplain.paper.printed import published
from spexplain.paper.protocol import DATASETS, Dataset
from spexplain.paper.results import Results, run
from spexplain.paper.tables import TABLES, Row, rows_of

__all__ = ["DATASETS", "TABLES", "Dataset", "Results", "Row", "published", "rows_of", "run"]
