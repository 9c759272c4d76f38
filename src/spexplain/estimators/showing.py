"""Explanations that people look at: pictures, a report, the tree in a notebook."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from spexplain.estimators.explaining import Explaining
from spexplain.show.html import html_repr


class Showing(Explaining):
    """Methods of a fitted estimator that draw its tree; as for `Explaining`, `X` is the training table."""

    def plot(
        self, ax: Any = None, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> Any:
        """Draw the tree with its leaves' compositions (extra ``plot``); returns the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        feature_names : list of str, optional
            Names of the columns.
        **options
            As for `spexplain.show.plots.plot_tree`.
        """
        from spexplain.show.plots import plot_tree

        return plot_tree(self.outline(feature_names), ax, **options)

    def plot_cuts(self, X: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw rows and cuts in the plane of the two most used features; returns the Axes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for `spexplain.show.plots.plot_cuts`.
        """
        from spexplain.show.plots import plot_cuts

        check_is_fitted(self)
        labels = getattr(self, "reference_labels_", None)
        options.setdefault("names", self._names(None))
        return plot_cuts(self._rows(X), self.tree_, labels, ax, **options)

    def plot_path(self, ax: Any = None) -> Any:
        """Draw fidelity and price against the number of leaves; returns the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        from spexplain.show.plots import plot_path

        return plot_path(self.outline(), ax)

    def plot_profiles(self, X: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw how the features of each leaf differ from the other rows; returns the Axes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for `spexplain.show.plots.plot_profiles`.
        """
        from spexplain.show.plots import plot_profiles

        check_is_fitted(self)
        return plot_profiles(self._summary(self._rows(X)), ax, **options)

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        *,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        runner_up: bool | None = None,
        certificate: bool | None = None,
    ) -> Path:
        """Write the explanation as one HTML file that needs no network (extra ``report``).

        Parameters
        ----------
        path : str or path
            The file; it is replaced if it exists, and never left half-written.
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        title : str, optional
            Heading of the report.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        runner_up, certificate : bool, optional
            As for `summary`.

        Returns
        -------
        path : Path
            Where it was written.
        """
        from spexplain.show.report import render, write

        facts = self.summary(
            X, feature_names=feature_names, runner_up=runner_up, certificate=certificate
        )
        return write(path, render(facts, title=title))

    def _html_repr(self) -> str:
        """Return the tree for notebooks; before `fit`, what scikit-learn shows."""
        if hasattr(self, "tree_"):
            return html_repr(self.outline())
        shown: str = super()._html_repr()
        return shown

    def _repr_html_inner(self) -> str:
        # scikit-learn before 1.7 has no `_html_repr` of its own.
        if not hasattr(self, "tree_"):
            shown: str = super()._repr_html_inner()
            return shown
        return self._html_repr()
