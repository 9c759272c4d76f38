"""Out of Python: an explanation as SQL, dbt, JSON, ONNX, Python, data frame expressions and scikit-learn.

Import the functions from here. Each takes an `Explanation`; the methods of the same names are in
`spexplain.explanation`.
"""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.export.dbt import dbt_files
    from spexplain.export.expressions import to_polars, to_pyspark
    from spexplain.export.labels import LabelKind
    from spexplain.export.onnx_graph import to_onnx
    from spexplain.export.python_source import to_python
    from spexplain.export.serialize import to_json
    from spexplain.export.sklearn_tree import to_sklearn
    from spexplain.export.sql import to_sql

__all__ = [
    "LabelKind",
    "dbt_files",
    "to_json",
    "to_onnx",
    "to_polars",
    "to_pyspark",
    "to_python",
    "to_sklearn",
    "to_sql",
]

__getattr__ = names_of(
    __name__,
    {
        "LabelKind": "labels",
        "dbt_files": "dbt",
        "to_json": "serialize",
        "to_onnx": "onnx_graph",
        "to_polars": "expressions",
        "to_pyspark": "expressions",
        "to_python": "python_source",
        "to_sklearn": "sklearn_tree",
        "to_sql": "sql",
    },
)
