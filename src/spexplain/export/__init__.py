"""Out of Python: a fitted tree as SQL, JSON, ONNX, plain Python and a scikit-learn classifier."""

from spexplain.export.labels import LabelKind
from spexplain.export.loaded import LoadedModel, from_json
from spexplain.export.methods import Exports
from spexplain.export.model import Model
from spexplain.export.onnx_graph import to_onnx
from spexplain.export.python_source import to_python
from spexplain.export.serialize import to_json
from spexplain.export.sklearn_tree import to_sklearn
from spexplain.export.sql import to_sql

__all__ = [
    "Exports",
    "LabelKind",
    "LoadedModel",
    "Model",
    "from_json",
    "to_json",
    "to_onnx",
    "to_python",
    "to_sklearn",
    "to_sql",
]
