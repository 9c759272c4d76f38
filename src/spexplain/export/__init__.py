"""Out of Python: an explanation as SQL, JSON, ONNX, plain Python and a scikit-learn classifier.

Import the functions from here. Each takes an `Explanation`; the methods of the same names are in
`spexplain.explanation`.
"""

from spexplain.export.labels import LabelKind
from spexplain.export.onnx_graph import to_onnx
from spexplain.export.python_source import to_python
from spexplain.export.serialize import to_json
from spexplain.export.sklearn_tree import to_sklearn
from spexplain.export.sql import to_sql

__all__ = ["LabelKind", "to_json", "to_onnx", "to_python", "to_sklearn", "to_sql"]
