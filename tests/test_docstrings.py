"""Docstrings of estimators: shared parameters and attributes are described in the same words."""

import re
from inspect import cleandoc, signature

import pytest

import spexplain
from spexplain.estimators import __all__ as names
from spexplain.estimators.base import Explainer, Shared


def entries(doc: str, section: str) -> dict[str, str]:
    """The entries of a numpydoc section by name."""
    body = re.search(rf"{section}\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", cleandoc(doc), re.DOTALL)
    assert body is not None
    parts = re.split(r"^(?=\w)", body.group(1), flags=re.MULTILINE)
    return {part.partition(" :")[0]: part.strip() for part in parts if part.strip()}


@pytest.mark.parametrize("name", names)
def test_shared_words(name: str) -> None:
    estimator = getattr(spexplain, name)
    ours, shared = (entries(each.__doc__, "Parameters") for each in (estimator, Explainer))
    assert list(ours) == list(signature(estimator).parameters)
    # BestTree searches every size that "auto" considers; the others grow one tree.
    own = {"n_leaves"} if name == "BestTree" else set()
    for parameter in Shared.__annotations__.keys() - own:
        assert ours[parameter] == shared[parameter]
    ours, shared = (entries(each.__doc__, "Attributes") for each in (estimator, Explainer))
    assert {each: ours[each] for each in shared} == shared


def test_the_reference_is_described_in_the_same_words() -> None:
    found = {
        cleandoc(text).partition(' "kernel_kmeans" takes')[0].strip()
        for name in names
        for text in [entries(getattr(spexplain, name).__doc__, "Parameters").get("reference")]
        if text is not None
    }
    assert len({text.splitlines()[0] for text in found}) == 1
