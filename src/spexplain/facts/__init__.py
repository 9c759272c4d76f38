"""Facts first: everything there is to say about a tree, in one plain dict that texts and pictures render."""

from spexplain.facts.importance import feature_importances
from spexplain.facts.rows import most_used_features
from spexplain.facts.runner_up import runner_ups
from spexplain.facts.schema import Summary
from spexplain.facts.statistics import feature_scales
from spexplain.facts.summarize import Detail, summarize
from spexplain.facts.text import summary_text

__all__ = [
    "Detail",
    "Summary",
    "feature_importances",
    "feature_scales",
    "most_used_features",
    "runner_ups",
    "summarize",
    "summary_text",
]
