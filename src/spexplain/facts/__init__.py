"""Everything there is to say about a tree or a row, as plain dicts that texts and pictures render.

Import `summarize` and the names below from here, the facts about a row from
`spexplain.facts.counterfactual`, certificates from `spexplain.facts.certificates`, and the types of all
entries from `spexplain.facts.schema`.
"""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.facts.leaf_statistics import feature_scales
    from spexplain.facts.path import PathStep, path_of
    from spexplain.facts.rows import Detail, most_used_features
    from spexplain.facts.runner_up import RunnerUp, runner_ups
    from spexplain.facts.schema import Summary
    from spexplain.facts.summary import feature_importances, summarize
    from spexplain.facts.text import summary_text

__all__ = [
    "Detail",
    "PathStep",
    "RunnerUp",
    "Summary",
    "feature_importances",
    "feature_scales",
    "most_used_features",
    "path_of",
    "runner_ups",
    "summarize",
    "summary_text",
]

__getattr__ = names_of(
    __name__,
    {
        "Detail": "rows",
        "PathStep": "path",
        "RunnerUp": "runner_up",
        "Summary": "schema",
        "feature_importances": "summary",
        "feature_scales": "leaf_statistics",
        "most_used_features": "rows",
        "path_of": "path",
        "runner_ups": "runner_up",
        "summarize": "summary",
        "summary_text": "text",
    },
)
