"""Names, labels and values that try to break out of every format, and models that carry them."""

from typing import Any

import numpy as np

from spexplain import CART
from spexplain.explanation import Explanation
from spexplain.tree import Tree

TEXTS = [
    "<script>window.__pwned = 1; alert(1)</script>",
    '"><img src=x onerror="window.__pwned = 2; alert(2)">',
    "</script><script>window.__pwned = 3</script>",
    "</style><style>*{background:url(https://example.org/x)}</style>",
    "<svg/onload=window.__pwned=4>",
    "javascript:window.__pwned=5",
    "' onmouseover='window.__pwned=6' x='",
    "{{ ''.__class__.__mro__ }}{% include '/etc/passwd' %}",
    "<!--<script>",
    "]]><![CDATA[",
    "a\u2028b\u2029c",
    "nul\x00byte",
    "\u202egnp.exe",
    "x" * 5000,
    "🦊👩‍👩‍👧‍👦",
    "half \ud800 pair",
    "back\\slash \\' \\\" \\u003c",
    "line\nbreak\r\nand tab\t",
    'x"; DROP TABLE t; --',
    "x'; DROP TABLE t; --",
    "x`; DROP TABLE t; --",
    "[x]; DROP TABLE t; /*",
    "*/ DROP TABLE t; /*",
    "$$; DROP TABLE t; $$",
    "%s %(x)s {0} ? :x @x $1",
    '"""\nimport os; os.mkdir("pwned")\n"""',
    "'''); __import__('os').mkdir('pwned'); ('''",
    "\x1b]0;pwned\x07\x1b[2J\x1b[31mred",
    "\x9b31m\x9d0;pwned\x9c",
    "=HYPERLINK(\"https://example.org\")",
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "[bold red]markup[/bold red] [/nothing] [link=https://example.org]x[/link]",
]  # fmt: skip


def fitted(names: list[str] = TEXTS) -> tuple[Any, Any]:
    """Return an estimator whose tree tests many columns, with hostile names and labels, and its rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, len(names)))
    codes = np.zeros(len(X), dtype=np.int64)
    for leaf in range(1, 12):  # a staircase: every step tests another column
        codes[(codes == leaf - 1) & (X[:, leaf % len(names)] > -0.8)] = leaf
    labels = np.array([names[code % len(names)] for code in codes], dtype=object)
    return CART(n_leaves=14).fit(X, labels), X


def model_of(name: str, label: str = "plain") -> Explanation:
    """Return the smallest model that tests a column of this name."""
    tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=0.5, sizes=(2, 2))
    labels = np.array([label, "other"], dtype=object)
    return Explanation(tree, (name,), leaf_reference=labels)
