"""Facts first: everything there is to say about a tree, in one plain dict that texts and pictures render."""

from spexplain.summary.html import html_repr
from spexplain.summary.importance import feature_importances
from spexplain.summary.rows import most_used_features
from spexplain.summary.runner_up import runner_ups
from spexplain.summary.schema import Summary
from spexplain.summary.statistics import feature_scales
from spexplain.summary.summarize import Detail, summarize
from spexplain.summary.text import summary_text

__all__ = [
    "Detail",
    "Summary",
    "feature_importances",
    "feature_scales",
    "html_repr",
    "most_used_features",
    "runner_ups",
    "summarize",
    "summary_text",
]
