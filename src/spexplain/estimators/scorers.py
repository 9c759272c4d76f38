"""Which of scikit-learn's scores are asking for predictions."""

import sys
from typing import Any

# Measures of classifiers; those of clusterings, such as adjusted_rand_score, stand elsewhere.
_LABEL_METRICS = "sklearn.metrics._classification"
_MOST_FRAMES = 30  # between a scorer and the estimator: pipelines and other shells


def comparing_metric() -> str | None:
    """Return the name of the measure of classifiers in whose scorer this is called, if there is one.

    scikit-learn tells an estimator nothing about the scorer that asks it, so the callers are looked at.

    Examples
    --------
    >>> from spexplain.estimators.scorers import comparing_metric
    >>> comparing_metric() is None
    True
    """
    scorers = sys.modules.get("sklearn.metrics._scorer")
    base: Any = getattr(scorers, "_BaseScorer", None)
    if base is None:
        return None
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "_score" else None
        if isinstance(caller, base):
            metric = caller._score_func
            is_of_labels = getattr(metric, "__module__", None) == _LABEL_METRICS
            return metric.__name__ if is_of_labels else None
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
