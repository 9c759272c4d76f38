"""The exports as methods, for everything that has a `tree_`."""

from collections.abc import Sequence
from typing import Any

from spexplain.export.dialects import DialectName
from spexplain.export.labels import LabelKind
from spexplain.export.model import Model
from spexplain.export.onnx_graph import InputType, to_onnx
from spexplain.export.python_source import to_python
from spexplain.export.serialize import to_json
from spexplain.export.sklearn_tree import to_sklearn
from spexplain.export.sql import to_sql


class Exports:
    """Methods that write a fitted tree in other languages; `Model.of` says what they read."""

    def to_sql(
        self,
        *,
        dialect: DialectName = "duckdb",
        table: str | Sequence[str] | None = None,
        label: LabelKind = "leaf",
        name: str = "cluster",
        view: str | Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> str:
        """Return the tree as a CASE expression, a query or a view.

        A row whose value is missing (NULL or NaN) where a test needs it gets NULL.

        Parameters
        ----------
        dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
            The database.
        table : str or sequence of str, optional
            The table to label (dots separate its schema); given, a complete query is returned.
        label : {"leaf", "reference"}
            Leaf ids, or the reference label that each leaf stands for.
        name : str
            Name of the new column in a query or view.
        view : str or sequence of str, optional
            Name of a view over `table` to create.
        feature_names : list of str, optional
            Names of the columns in the database; by default those of the training table.

        Returns
        -------
        sql : str
        """
        model = Model.of(self, feature_names)
        return to_sql(model, dialect=dialect, table=table, label=label, name=name, view=view)

    def to_json(self) -> str:
        """Return the model as JSON text that `spexplain.from_json` reads: exact floats, no pickle.

        Returns
        -------
        text : str
        """
        return to_json(Model.of(self))

    def to_python(
        self, *, label: LabelKind = "leaf", feature_names: Sequence[str] | None = None
    ) -> str:
        """Return the source of a function ``predict(row)`` that needs nothing but Python.

        Parameters
        ----------
        label : {"leaf", "reference"}
            What the function returns.
        feature_names : list of str, optional
            Keys of a row that is a mapping; by default the names of the training table.

        Returns
        -------
        source : str
        """
        return to_python(Model.of(self, feature_names), label=label)

    def to_sklearn(self, X: Any = None, *, label: LabelKind = "leaf") -> Any:
        """Return the tree as a fitted scikit-learn classifier, for plots and explainers made for it.

        scikit-learn rounds rows to float32. With `X`, thresholds are adapted to those rows, and a
        warning tells how many still get another label.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
            Rows on which the two must agree, usually the training rows.
        label : {"leaf", "reference"}
            The classes: leaf ids, or the reference label that each leaf stands for.

        Returns
        -------
        classifier : sklearn.tree.DecisionTreeClassifier
        """
        return to_sklearn(Model.of(self), X, label=label)

    def to_onnx(self, *, label: LabelKind = "leaf", input_type: InputType = "float64") -> Any:
        """Return the tree as an ONNX model; thresholds stay float64. Needs the extra ``onnx``.

        Parameters
        ----------
        label : {"leaf", "reference"}
            The output, which also carries this name.
        input_type : {"float64", "float32"}
            Type of the input ``X``, shape (n_rows, n_features).

        Returns
        -------
        model : onnx.ModelProto
        """
        return to_onnx(Model.of(self), label=label, input_type=input_type)
