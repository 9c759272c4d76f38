"""The terminal: results on standard output, notes and progress on standard error, trees as text."""

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spexplain.cli.errors import UserError
from spexplain.messages import counted, one_line

if TYPE_CHECKING:
    from spexplain.facts import Summary
    from spexplain.facts.schema import ConditionFacts, LeafFacts, NodeFacts, SegmentFacts
    from spexplain.tree import Column, Region

    Columns: TypeAlias = Mapping[int, Column]

_LONGEST_LABEL = 16
_SHORTEST_RULE = 16
_BAR = 8  # cells of the bar that shows purity
_NARROW = 72  # terminals below this width get no bars


class Terminal:
    """Prints results, notes and progress of a command.

    Parameters
    ----------
    quiet : bool
        Whether notes and progress are left away.
    is_taken : bool
        Whether standard output carries a file or JSON; text for people then goes to standard error.
    """

    def __init__(self, *, quiet: bool = False, is_taken: bool = False) -> None:
        self.quiet = quiet
        self.notes: list[str] = []
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self.out = Console(stderr=is_taken, highlight=False)
        self.is_taken = is_taken

    def note(self, sentence: str) -> None:
        """Say something that the user should know, and remember it."""
        text = one_line(sentence)
        self.notes.append(text)
        if not self.quiet:
            self.err.print(Text("Note: ", style="yellow"), Text(text), sep="")

    def say(self, text: str) -> None:
        """Say what was done."""
        if not self.quiet:
            self.err.print(Text(one_line(text), style="dim"))

    def show(self, *parts: Any, wrap: bool = False) -> None:
        """Print a result for people; lines that are too long end in an ellipsis unless they wrap."""
        if self.is_taken and self.quiet:
            return
        for part in parts:
            if isinstance(part, str | Text) or self.out.is_terminal:
                # Brackets in a sentence may come from the table: they are no markup.
                shown = Text(one_line(part)) if isinstance(part, str) else part
                no_wrap = isinstance(part, Text) and not wrap
                self.out.print(shown, no_wrap=no_wrap, overflow="ellipsis")
                continue
            with self.out.capture() as captured:
                self.out.print(part)
            # Tables are padded to a rectangle, which files and pipes have no use for.
            lines = (line.rstrip() for line in captured.get().splitlines())
            self.out.file.write("\n".join(lines) + "\n")

    @contextmanager
    def stage(self, text: str) -> Iterator[None]:
        """Show that something is going on, if somebody watches."""
        if self.quiet or not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(f"{one_line(text)} ...")):
            yield

    @contextmanager
    def bar(self, text: str, total: int | None) -> Iterator[Callable[..., None]]:
        """Show a progress bar, if somebody watches; yields the function that advances it, and may rename it."""
        if self.quiet or not self.err.is_terminal:
            yield lambda step, what=text: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(show_speed=False),
        )
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda step, what=text: progress.update(
                task, advance=step, description=one_line(what)
            )

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Turn warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield
        for each in dict.fromkeys(str(warning.message) for warning in caught):
            self.note(each)


def write_json(document: dict[str, Any]) -> None:
    """Print a document as JSON, and nothing else."""
    import json

    if sys.stdout is None:
        raise UserError("Standard output is closed, so that JSON cannot be printed.")
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def escaped(text: str) -> str:
    r"""Return JSON whose texts hold nothing that a terminal would obey: such characters become escapes.

    Examples
    --------
    >>> from spexplain.cli.terminal import escaped
    >>> print(escaped('"a\x9b31m"'))
    "a\u009b31m"
    """
    return re.sub(r"[^ -~\n]", _escape, text)


def _escape(found: re.Match[str]) -> str:
    """Return a character, or how JSON writes it in ASCII if it is not shown."""
    sign = found.group()
    return sign if sign.isprintable() else f"\\u{ord(sign):04x}"


def clipped(text: str, width: int) -> str:
    """Return a text of at most so many cells, the middle left out of a longer one.

    Examples
    --------
    >>> from spexplain.cli.terminal import clipped
    >>> clipped("average temperature of the day", 16)
    'average…the day'
    """
    text = one_line(text)
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, width // 2).rstrip()
    tail = text[-width:]  # more characters than that never fit: a cell may hold a whole document
    while cell_len(tail) > width - width // 2 - 1:
        tail = tail[1:]
    return f"{head}…{tail.lstrip()}"


def data_title(data: str) -> str:
    """Return what titles call the table: the last part of its path."""
    return "standard input" if data == "-" else Path(data).name


def condition(region: "Region", column: "Column", width: int) -> str:
    """Return what a region says about a column; names and lists of values are shortened, numbers are not.

    Examples
    --------
    >>> from spexplain.cli.terminal import condition
    >>> from spexplain.tree import Column, Region
    >>> condition(Region(((2.45, 4.75),)), Column("length of the petal"), 30)
    '2.45 < length o…he petal ≤ 4.75'
    """
    from spexplain.show.conditions import short_condition

    return short_condition(region, column, width, clip=clipped, length=cell_len)


def headline(summary: "Summary", name: str) -> Text:
    """Return the first line: method, file, sizes."""
    sizes = ", ".join(
        [
            f"{counted(summary['n_rows'], 'row')} × {counted(summary['n_features'], 'column')}",
            counted(summary["n_leaves"], "leaf", "leaves"),
            f"depth {summary['depth']}",
        ]
    )
    line = Text(f"{summary['method']}", style="bold")
    return line.append(f" · {clipped(name, 30)} · {sizes}", style="not bold")


def verdict_lines(summary: "Summary", width: int) -> Iterator[Text]:
    """Give the verdict on the explanation."""
    verdict = summary["verdict"]
    if verdict is None:
        return
    styles = {"good": "green", "usable": "", "weak": "yellow", "none": "bold red"}
    validation = summary["validation"]
    more = [] if validation is None else validation["sentences"]
    for number, sentence in enumerate([*verdict["sentences"], *more]):
        for line in wrapped(one_line(sentence), width):
            yield Text(line, style="dim" if number else styles[verdict["level"]])


def head_lines(summary: "Summary", width: int) -> Iterator[Text]:
    """Give the first lines: clusters without a leaf, and the goal of the search."""
    from spexplain.facts.text import lost_clusters_text

    lost, goal = lost_clusters_text(summary, beside_verdict=True), summary["goal"]
    if lost is not None:
        for line in wrapped(lost, width):
            yield Text(line, style="yellow")
    if goal is not None:
        for line in wrapped(f"Goal: {goal['text']}", width):
            yield Text(line)


def tree_lines(summary: "Summary", width: int) -> Iterator[Text]:
    """Give the tree, one line a node, without recursion: paths may be long."""
    from spexplain.facts.schema import columns_of

    nodes, columns, stack = summary["nodes"], columns_of(summary), [(0, "", "")]
    while stack:
        at, before, below = stack.pop()
        node = nodes[at]
        yield _node_line(summary, columns, node, before, width)
        left, right = node["left"], node["right"]
        if left is not None and right is not None:
            stack.append((right, f"{below}└─ no  ", f"{below}   "))
            stack.append((left, f"{below}├─ yes ", f"{below}│  "))


def _node_line(
    summary: "Summary", columns: "Columns", node: "NodeFacts", before: str, width: int
) -> Text:
    from spexplain.facts.schema import test_of

    line = Text(before, style="dim")
    if node["feature"] is not None:
        test = condition(test_of(node).region(), columns[node["feature"]], width - len(before))
        return line.append(test, style="not dim")
    assert node["leaf"] is not None
    leaf = summary["leaves"][node["leaf"]]
    line.append("● ", style=f"not dim {_color(summary, leaf)}")
    line.append(f"leaf {leaf['leaf']}", style="not dim")
    if leaf["label"] is not None:
        is_number = isinstance(leaf["label"], int | float) and not _is_noise(leaf)
        kind = "cluster " if is_number else ""
        line.append(f": {kind}{_label(leaf)}", style="not dim bold")
    return line.append(f"  {counted(leaf['size'], 'row')}")


def _label(leaf: "LeafFacts") -> str:
    if leaf["label"] is None:  # no rows
        return "–"
    return "noise" if _is_noise(leaf) else clipped(str(leaf["label"]), _LONGEST_LABEL)


def _is_noise(leaf: "LeafFacts") -> bool:
    """Whether a leaf holds rows of no cluster only."""
    from spexplain.table.reference import NOISE

    return leaf["code"] == NOISE


def _color(summary: "Summary", leaf: "LeafFacts") -> str:
    from spexplain.show.palette import colors

    reference = summary["reference"]
    if reference is None or leaf["code"] is None:
        return colors(summary["n_leaves"])[leaf["leaf"]]
    return colors(len(reference["labels"]))[leaf["code"]]


def rules_table(summary: "Summary", width: int) -> Table:
    """Return one row per leaf: what it stands for, its size and purity, its rule."""
    from spexplain.facts.schema import columns_of
    from spexplain.facts.text import percent

    columns = columns_of(summary)
    has_labels = summary["reference"] is not None
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("leaf", justify="right")
    if has_labels:
        table.add_column("cluster", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    if has_labels:
        table.add_column("purity", no_wrap=True)
    table.add_column("rule", no_wrap=True, overflow="ellipsis")
    room = max(width - _width_before_rules(summary, width), _SHORTEST_RULE)
    for leaf in summary["leaves"]:
        cells: list[Any] = [str(leaf["leaf"])]
        if has_labels:
            cells.append(Text(_label(leaf), style="bold"))
        cells += [f"{leaf['size']:,}", percent(leaf["share"])]
        if has_labels:
            cells.append(_purity(summary, leaf, width))
        table.add_row(*cells, Text("\n".join(rule_lines(leaf, columns, room))))
    return table


def _width_before_rules(summary: "Summary", width: int) -> int:
    """Return the cells that the other columns take."""
    leaves = summary["leaves"]
    taken = max(4, len(str(len(leaves)))) + 2
    taken += max(4, *(len(f"{leaf['size']:,}") for leaf in leaves)) + 2 + 5 + 2
    if summary["reference"] is not None:
        bar = 0 if width < _NARROW else _BAR
        taken += max(7, *(cell_len(_label(leaf)) for leaf in leaves)) + 2 + max(bar + 5, 6) + 2
    return taken


def _purity(summary: "Summary", leaf: "LeafFacts", width: int) -> Text:
    from spexplain.facts.text import percent

    if leaf["purity"] is None:
        return Text("–")
    if width < _NARROW:
        return Text(percent(leaf["purity"]), justify="right")
    filled = min(int(leaf["purity"] * _BAR), _BAR)
    bar = Text("█" * filled, style=_color(summary, leaf))
    bar.append("░" * (_BAR - filled), style="dim")
    return bar.append(f"{percent(leaf['purity']):>5}", style="default")


def rule_lines(leaf: "LeafFacts", columns: "Columns", width: int) -> list[str]:
    """Return a rule in lines of at most `width` cells, broken between its conditions where that is enough."""
    conditions: list[str] = []
    room = width - len("and ")
    for each in leaf["conditions"]:
        conditions += _conditions(each, columns[each["feature"]], room)
    if len(conditions) > 1:  # "or" binds less than "and"
        conditions = [f"({text})" if " or " in text else text for text in conditions]
    lines: list[str] = []
    for text in conditions or ["all rows"]:
        if lines and cell_len(f"{lines[-1]} and {text}") <= width:
            lines[-1] += f" and {text}"
        else:
            line = text if not lines else f"and {text}"
            lines += wrapped(line, width) if " or " in text or "{" in text else [line]
    return lines


def segment_lines(summary: "Summary", segments: "list[SegmentFacts]", width: int) -> Iterator[Text]:
    """Give the records of the clusters, one paragraph each."""
    from spexplain.show.palette import colors

    reference = summary["reference"]
    palette = colors(summary["n_leaves"] if reference is None else len(reference["labels"]))
    for number, facts in enumerate(segments):
        if number:
            yield Text("")
        first, *others = facts["sentences"]
        head = Text("● ", style=palette[facts["code"] or 0])
        name = one_line(facts["name"])
        head.append(name, style="default bold")
        told = first.removeprefix(facts["name"])
        lines = wrapped(f"{name}{told}", width - 2)
        head.append(lines[0].removeprefix(name), style="default")
        yield head
        for line in lines[1:]:
            yield Text(f"  {line}")
        for sentence in others:
            for line in wrapped(sentence, width - 2):
                yield Text(f"  {line}", style="dim" if sentence.startswith("Nearest") else "")
    for note in dict.fromkeys(each["note"] for each in segments if each["note"]):
        yield Text("")
        yield from map(Text, wrapped(note, width))


def _conditions(facts: "ConditionFacts", column: "Column", room: int) -> list[str]:
    """Return what a rule says about a column, in two parts if an interval is too long for a line."""
    from spexplain.facts.schema import region_of
    from spexplain.tree import Region

    region = region_of(facts)
    text = condition(region, column, room)
    if column.kind == "category" or " or " in text:  # such texts can be wrapped
        return [condition(region, column, 2 * room)]
    bounds = [end for interval in region.intervals for end in interval]
    if cell_len(text) <= room or len(bounds) != 2 or inf in (-bounds[0], bounds[1]):
        return [text]
    ((low, high),) = region.intervals
    halves = Region(((low, inf),), region.missing), Region(((-inf, high),), region.missing)
    return [condition(half, column, room) for half in halves]


def wrapped(text: str, width: int, hang: int = 2) -> list[str]:
    """Return a text in lines of at most so many cells, broken between words where there are any.

    Lines after the first begin with `hang` spaces.
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_len(longer) > width:
            lines.append(" " * hang + word)
        else:
            lines[-1] = longer
    return lines


def agreement_line(summary: "Summary", with_what: str) -> Text | None:
    """Return how well leaves and clusters match."""
    from spexplain.facts.text import score_texts

    found = summary["agreement"]
    if found is None:
        return None
    line = Text(f"Agreement with {clipped(with_what, 24)}: ").append(
        f"{found['ari']:.3f}", style="bold"
    )
    return line.append("".join(f" · {text}" for text in score_texts(summary)))
