"""Small mistakes to plant in a source file, one at a time: what `mutants.py` asks the tests to notice.

Comparisons, arithmetic, constants and logic are changed, values are not returned, statements are left out.
The rest of the text, its lines and comments stay as they are.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip


class Mutation(NamedTuple):
    """A piece of a source text and what stands there instead."""

    kind: str
    line: int
    before: str
    after: str
    start: int  # in bytes, as the parser counts
    end: int

    def applied(self, source: str) -> str:
        """Return the text with this mistake."""
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


def mutations(source: str) -> list[Mutation]:
    r"""Return every mistake of these kinds that the text has room for, from top to bottom.

    Types, decorators, imports and texts have none.

    Examples
    --------
    >>> [(each.before, each.after) for each in mutations("def f(x):\n    return x < 1")]
    [('return x < 1', 'return None'), ('x < 1', 'x <= 1'), ('1', '2'), ('1', '0')]
    """
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found: dict[tuple[int, int, str], Mutation] = {}
    for node in _places(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        changes = _in_expression(node) if isinstance(node, ast.expr) else _in_statement(node)
        for kind, after in changes:
            if after != before:
                change = Mutation(kind, node.lineno, before, after, start, end)
                found.setdefault((start, -end, after), change)
    return [found[place] for place in sorted(found, key=lambda place: place[:2])]


def _places(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Give the expressions and statements in which something may be changed."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.Import | ast.ImportFrom | ast.JoinedStr):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            if isinstance(child, ast.AST):
                yield from _places(child)


def _in_expression(node: ast.expr) -> Iterator[tuple[str, str]]:
    """Give kinds of mistakes and the texts instead of an expression."""
    match node:
        case ast.Compare(left, operators, comparators):
            for at, each in enumerate(operators):
                swapped = [*operators[:at], _COMPARISONS[type(each)](), *operators[at + 1 :]]
                yield "comparison", _text(ast.Compare(left, swapped, comparators), node)
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            yield "arithmetic", _text(ast.BinOp(left, _ARITHMETIC[type(operator)](), right), node)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield "sign or not", _text(operand, node)
        case ast.Constant(bool() as value):
            yield "constant", str(not value)
        case ast.Constant(int() as value):
            yield "constant", str(value + 1)
            yield "constant", str(value - 1)
        case ast.Constant(float() as value):
            yield "constant", str(value + 1)
        case ast.BoolOp(operator, values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            yield "logic", _text(ast.BoolOp(other, values), node)
        case ast.IfExp(test, body, orelse):
            yield "logic", _text(ast.IfExp(test, orelse, body), node)


def _in_statement(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Give kinds of mistakes and the texts instead of a statement."""
    match node:
        case ast.AugAssign(target, operator, value):
            if type(operator) in _ARITHMETIC:
                swapped = _ARITHMETIC[type(operator)]()
                yield "arithmetic", _text(ast.AugAssign(target, swapped, value), node)
            yield "deleted", "pass"
        case ast.Return(value) if value is not None and not _is_none(value):
            yield "return", "return None"
        case ast.Assign() | ast.Continue() | ast.Break():
            yield "deleted", "pass"
        case ast.Expr(value) if not isinstance(value, ast.Constant):
            yield "deleted", "pass"


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _text(changed: ast.AST, original: ast.AST) -> str:
    """Return the code of a changed node, in brackets where an operator beside it could bind tighter."""
    text = ast.unparse(changed)
    is_loose = isinstance(changed, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.UnaryOp)
    same = isinstance(changed, ast.Compare) and isinstance(original, ast.Compare)
    return f"({text})" if is_loose and not same else text
