"""Finds out which of scikit-learn's scorers asks an estimator for predictions."""

import sys
from types import FrameType
from typing import Any

# Measures of classifiers; those of clusterings, such as adjusted_rand_score, are in another module.
_LABEL_METRICS = "sklearn.metrics._classification"
_MOST_FRAMES = 30  # between a scorer and the estimator: pipelines and other shells


def comparing_metric() -> str | None:
    """Return the name of the classifier measure whose scorer is calling, if there is one.

    scikit-learn does not tell an estimator which scorer calls it, so the call stack is inspected.

    Examples
    --------
    >>> from spexplain.estimators.scorers import comparing_metric
    >>> comparing_metric() is None
    True
    """
    frame = _frame_of("_score", "sklearn.metrics._scorer")
    return None if frame is None else _label_metric(frame.f_locals.get("self"))


def metric_of_search(estimator: Any) -> str | None:
    """Return the name of the classifier measure for which a search or cross-validation fits an estimator.

    A score that is refused becomes NaN there; only if all fits are refused, it stops and says why.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted: alone, or as the last step of a pipeline.

    Examples
    --------
    >>> from spexplain.estimators.scorers import metric_of_search
    >>> metric_of_search(None) is None
    True
    """
    frame = _frame_of("_fit_and_score", "sklearn.model_selection._validation")
    if frame is None:
        return None
    fitted: Any = frame.f_locals.get("estimator")
    while hasattr(fitted, "steps"):
        fitted = fitted.steps[-1][1]
    if fitted is not estimator:
        return None
    scorer = frame.f_locals.get("scorer")
    several = getattr(scorer, "_scorers", scorer)
    names = map(_label_metric, several.values() if isinstance(several, dict) else [several])
    return next((name for name in names if name is not None), None)


def _label_metric(scorer: Any) -> str | None:
    metric = getattr(scorer, "_score_func", None)
    is_of_labels = getattr(metric, "__module__", None) == _LABEL_METRICS
    return str(getattr(metric, "__name__", None)) if is_of_labels else None


def _frame_of(function: str, module: str) -> FrameType | None:
    """Return the innermost call of the function on the call stack, if there is one."""
    if module not in sys.modules:
        return None
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return None
        if frame.f_code.co_name == function and frame.f_globals.get("__name__") == module:
            return frame
        frame = frame.f_back
    return None
