"""Print the oldest supported version of every dependency as constraints for pip, read from pyproject.toml."""

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,\s-]+\])?>=(?P<floor>[\w.]+)(,<[\w.]+)?$")

# What old versions need of packages that we do not name: newer ones deprecate what they call.
_OF_THEIR_TIME = {
    "click": "<8.5",  # typer 0.19
    "pyparsing": "<3.3",  # matplotlib 3.8
}


def floors(project: dict) -> dict[str, str]:
    """Return the oldest supported version of each package that the project or one of its extras names."""
    own = project["name"]
    extras = project["optional-dependencies"].values()
    found: dict[str, str] = {}
    for requirement in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        if re.match(rf"{own}\[", requirement):  # an extra that names other extras
            continue
        match = _REQUIREMENT.match(requirement)
        if match is None:
            raise ValueError(
                f"pyproject.toml names {requirement!r} without an oldest version; write it as name>=version."
            )
        name, floor = match["name"], match["floor"]
        if found.setdefault(name, floor) != floor:
            raise ValueError(
                f"pyproject.toml gives {name} two oldest versions, {found[name]} and {floor}; write one."
            )
    return found


def main() -> None:
    """Print one constraint a line."""
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    for name, floor in sorted(floors(project).items()):
        sys.stdout.write(f"{name}=={floor}\n")
    for name, bound in _OF_THEIR_TIME.items():
        sys.stdout.write(f"{name}{bound}\n")


if __name__ == "__main__":
    main()
