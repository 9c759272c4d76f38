"""The record of an explanation, and all methods that answer from it.

Import from here: `Explanation`, the record, and `FittedModel`, the methods that estimators share with models
read from JSON.
"""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.explanation.check import Check
    from spexplain.explanation.explanation import Edit, Explanation, Training
    from spexplain.explanation.fitted import FittedModel
    from spexplain.explanation.loaded import LoadedModel, from_json, read_explanation
    from spexplain.explanation.rule_set import (
        ClusterRule,
        LoadedRules,
        RuleSet,
        RulesModel,
        read_rules,
    )

__all__ = [
    "Check",
    "ClusterRule",
    "Edit",
    "Explanation",
    "FittedModel",
    "LoadedModel",
    "LoadedRules",
    "RuleSet",
    "RulesModel",
    "Training",
    "from_json",
    "read_explanation",
    "read_rules",
]

__getattr__ = names_of(
    __name__,
    {
        "Check": "check",
        "ClusterRule": "rule_set",
        "Edit": "explanation",
        "Explanation": "explanation",
        "FittedModel": "fitted",
        "LoadedModel": "loaded",
        "LoadedRules": "rule_set",
        "RuleSet": "rule_set",
        "RulesModel": "rule_set",
        "Training": "explanation",
        "from_json": "loaded",
        "read_explanation": "loaded",
        "read_rules": "rule_set",
    },
)
