"""Options in groups: a command takes a few records, its command line the fields of all of them."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose dataclass parameters are spread out into their fields.

    Parameters
    ----------
    function : callable
        A command. The fields of its dataclass parameters need names that occur once.

    Returns
    -------
    command : callable
        The same for typer, which reads options from a signature.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from spexplain.cli.groups import grouped
    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 3
    >>> @grouped
    ... def show(name: str, size: Size) -> None:
    ...     print(name, size.width)
    >>> show(name="box", width=4)
    box 4
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            parameters += _spread(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            own = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**own)  # type: ignore[operator]
        function(**given)

    keyword = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = Signature(keyword)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in keyword}
    # typer would follow it back to the signature of the function itself.
    del command.__wrapped__
    return command


def _spread(group: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
