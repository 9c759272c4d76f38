"""A decision tree of scikit-learn whose leaves can predict another class than their commonest one."""

from typing import Any

from sklearn.tree import DecisionTreeClassifier

from spexplain.aliases import Array


class LabelledTreeClassifier(DecisionTreeClassifier):
    """A decision tree that predicts the class each leaf stands for, and the shares of all classes.

    Methods that separate centres let a leaf stand for the cluster of its centre, even if more of its rows
    are of another cluster.

    Attributes
    ----------
    node_classes_ : array of shape (n_nodes,)
        The class that each leaf stands for.
    """

    node_classes_: Array

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Return the class that the leaf of every row stands for.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Rows, which are rounded to float32.
        check_input : bool, default=True
            Whether X is checked.

        Returns
        -------
        classes : array of shape (n_rows,)
        """
        found: Array = self.node_classes_[self.apply(X, check_input=check_input)]
        return found
