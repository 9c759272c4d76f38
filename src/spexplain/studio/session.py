"""A session of the studio: one table, one explanation and its versions, asked in plain JSON."""

import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spexplain.arguments import check_choice, check_integer
from spexplain.facts.counterfactual import explain_row
from spexplain.facts.segments import Clusters
from spexplain.messages import closest, one_line
from spexplain.show.palette import NOISE_COLOR, colors
from spexplain.studio import answers, exports
from spexplain.studio.answers import json_value
from spexplain.studio.saving import SavedSession, Stored
from spexplain.table.host import HostTable
from spexplain.tree import Test

if TYPE_CHECKING:
    from spexplain.explanation.explanation import Explanation
    from spexplain.explanation.fitted import FittedModel

N_ROWS = 50  # of a page of rows
_LONGEST = 10_000  # characters of a text that a question may hold
# The edits that a page may ask for, and their arguments.
_EDITS: dict[str, tuple[str, ...]] = {
    "with_test": ("node",),
    "split": ("leaf",),
    "prune": ("node",),
    "flip": ("node",),
    "swap": ("node", "other"),
    "regrow": ("node", "method", "n_leaves", "features"),
    "merge_clusters": ("one", "other", "name"),
    "rename": ("cluster", "name"),
    "forbid": ("column", "below"),
    "lock": ("node", "leaf"),
    "unlock": ("node", "leaf"),
}
_CONDITION = ("test", "condition", "column", "threshold", "lower", "values", "missing", "snap")
_CLUSTERS = ("one", "other", "cluster")
SETTINGS = ("labels", "cluster", "method", "n_leaves", "goal")  # what a tree is fitted by
_LARGE = 20_000  # rows from which on columns are sorted before somebody asks
_LONGEST_NAME = 200  # characters of the name of a cluster


class StaleError(Exception):
    """An edit of a version that is not the last one: somebody else was faster.

    Parameters
    ----------
    state : dict
        What there is now.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__("The tree was edited elsewhere in the meantime; this is how it is now.")
        self.state = state


class Source(Protocol):
    """A table that trees can be fitted to; the command line knows how to read files."""

    name: str
    n_rows: int

    def columns(self) -> list[dict[str, Any]]:
        """Return name and kind of every column."""

    def completed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a fit, with those that were left open."""

    def fitted(self, settings: Mapping[str, Any]) -> "FittedModel":
        """Return a model, fitted to the clusters of a column, or to clusters that are found first."""

    def counted(self, text: str, settings: Mapping[str, Any]) -> "FittedModel":
        """Return the model of a JSON text, counted on the rows of the table."""

    def about(self) -> dict[str, Any]:
        """Return where the table is, and a fingerprint of it."""


class Session:
    """One table, one explanation and its versions.

    Parameters
    ----------
    model : fitted estimator or loaded model, optional
        What is edited; it must know its rows. Without, the page offers to open a table.
    name : str
        What the table is called.
    labels : str, optional
        What the column of clusters is called.
    source : Source, optional
        Where other clusters of the same table come from.
    saved : SavedSession, optional
        Where every edit is written.

    Examples
    --------
    >>> from spexplain import CART, datasets
    >>> from spexplain.studio import Session
    >>> iris = datasets.load("iris")
    >>> session = Session(CART().fit(iris.data, iris.target), name="iris")
    >>> session.answer({"ask": "preview", "node": 2, "test": "x3 <= 1.5"})["figures"]["rows_right"]
    142
    >>> state = session.answer({"ask": "edit", "version": 1, "name": "prune", "arguments": {"node": 2}})
    >>> state["version"], state["figures"]["n_leaves"], state["journal"]
    (2, 2, [{'text': 'node 2 pruned'}])
    """

    def __init__(
        self,
        model: "FittedModel | None" = None,
        *,
        name: str = "table",
        labels: str | None = None,
        source: Source | None = None,
        saved: SavedSession | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._lock = RLock()
        self.name, self.labels, self.source, self.saved = name, labels, source, saved
        self.settings: dict[str, Any] = dict(settings or {})
        self.version = 1
        self._model = model
        self._before: dict[str, Any] | None = None
        self._colors: dict[Any, str] = {}
        self._known: tuple[int, dict[str, Any]] | None = None
        self.listeners: list[Callable[[Session], None]] = []
        if model is not None:
            self._color(model.explanation_)
            self._begin()

    # --- What there is -----------------------------------------------------------------------------

    @property
    def model(self) -> "FittedModel":
        """The model as it is now."""
        if self._model is None:
            raise ValueError("There is no tree yet: open a table and choose its clusters.")
        return self._model

    @property
    def explanation(self) -> "Explanation":
        """The explanation as it is now."""
        return self.model.explanation_

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a question.

        Parameters
        ----------
        question : mapping
            Its entry "ask" says what is asked.

        Returns
        -------
        answer : dict
            Plain JSON. Raises ValueError, in one sentence, for what cannot be answered, and
            `StaleError` for edits of an old version.
        """
        if not isinstance(question, Mapping):
            raise ValueError("A question must be a JSON object.")
        asked = question.get("ask")
        known: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "state": lambda _: self.state(),
            "open": self._open,
            "node": self._node,
            "column": self._column,
            "preview": self._preview,
            "edit": self._edit,
            "undo": self._undo,
            "redo": self._redo,
            "go": self._go,
            "versions": self._versions,
            "compare": self._compare,
            "rows": self._rows,
            "row": self._row,
            "formats": lambda _: {"formats": exports.available_formats()},
            "export": self._export,
        }
        if not isinstance(asked, str) or asked not in known:
            raise ValueError(
                f"ask={one_line(str(asked))[:100]!r} is not a question that the studio answers."
            )
        try:
            return known[asked](question)
        except (TypeError, KeyError, IndexError, OverflowError) as error:
            raise ValueError(
                f"The question {asked!r} cannot be answered: {one_line(str(error))[:300]}."
            ) from error

    def state(self) -> dict[str, Any]:
        """Return everything that the page shows of the tree."""
        with self._lock:
            if self._known is None or self._known[0] != self.version:
                self._known = self.version, self._state()
            return self._known[1]

    def _state(self) -> dict[str, Any]:
        source = self.source
        about: dict[str, Any] = {
            "version": self.version,
            "ready": self._model is not None,
            "labels": self.labels,
            "settings": self.settings,
            "can_open": source is not None,
            "saved": self.saved is not None,
        }
        if self._model is None:
            table = None
            if source is not None:
                table = {"name": source.name, "n_rows": source.n_rows, "columns": source.columns()}
            return about | {"table": table, "nodes": [], "segments": [], "journal": [], "future": 0}
        model, explanation = self._model, self._model.explanation_
        training = explanation.training
        barred = explanation.forbidden.get(0, frozenset[int]())
        usable = None if training is None or training.columns is None else set(training.columns)
        verdict = model._verdict(quick=True)
        return about | {
            "table": {
                "name": self.name,
                "n_rows": int(explanation.node_sizes[0]),
                "columns": [
                    {
                        "name": field.name,
                        "kind": field.kind,
                        "forbidden": at in barred,
                        "usable": usable is None or at in usable,
                    }
                    for at, field in enumerate(self._fields)
                ],
            },
            "goal": self.settings.get("goal") or explanation.parameters.get("goal") or "fidelity",
            "method": explanation.method,
            "verdict": {"level": verdict.level, "sentences": list(verdict.sentences)},
            "figures": answers.figures(explanation),
            "before": self._before,
            "segments": answers.segments(explanation, self._palette(explanation)),
            "nodes": answers.nodes(explanation),
            "journal": [{"text": each.text} for each in explanation.edits],
            "future": len(explanation.future),
        }

    @property
    def _fields(self) -> tuple[Any, ...]:
        """The columns; those that no test reads as the table knows them."""
        explanation = self.explanation
        training = explanation.training
        if training is None or training.table is None:
            return explanation.fields
        return tuple(
            own if at in explanation.used else replace(given, name=own.name)
            for at, (own, given) in enumerate(
                zip(explanation.fields, training.table.columns, strict=True)
            )
        )

    def _palette(self, explanation: "Explanation") -> list[str]:
        if explanation.classes is None:
            return colors(explanation.tree.n_leaves)[:-1]
        return [self._colors.get(each, NOISE_COLOR) for each in explanation.classes.tolist()]

    def _color(self, explanation: "Explanation", heirs: Mapping[Any, Any] | None = None) -> None:
        """Give every cluster a colour that it keeps; `heirs` are new names of old clusters."""
        if explanation.classes is None:
            return
        labels = explanation.classes.tolist()
        palette = colors(len(labels) + len(self._colors))[:-1]
        for new, old in (heirs or {}).items():
            if old in self._colors:
                self._colors.setdefault(new, self._colors[old])
        for each in labels:
            if each not in self._colors:
                # Numbers become texts where one of them is renamed.
                same = [color for old, color in self._colors.items() if str(old) == str(each)]
                free = [color for color in palette if color not in self._colors.values()]
                self._colors[each] = (same or free or palette)[0]

    # --- Tables -------------------------------------------------------------------------------------

    def _open(self, question: Mapping[str, Any]) -> dict[str, Any]:
        source = self.source
        if source is None:
            raise ValueError("There is no table to fit a tree to: drop a file first.")
        settings = source.completed({name: question.get(name) for name in SETTINGS})
        model = source.fitted(settings)
        with self._lock:
            self._colors.clear()
            self._color(model.explanation_)
            self.name, self.settings = source.name, settings
            self.labels = settings["labels"]
            self._before = None
            self._commit(model)
            self._begin()
            return self.state()

    def load(self, source: Source) -> dict[str, Any]:
        """Take another table; its clusters are chosen next."""
        with self._lock:
            self.source, self._model, self.name, self.labels = source, None, source.name, None
            self._before, self.settings = None, {}
            self.version += 1
            self._begin()
            return self.state()

    def _commit(self, model: "FittedModel") -> None:
        self._model = model
        self.version += 1
        self._warm(model)
        for each in self.listeners:
            each(self)

    @staticmethod
    def _warm(model: "FittedModel") -> None:
        """Sort the columns of a large table before somebody asks for it."""
        training = model.explanation_.training
        table = None if training is None else training.table
        if not isinstance(table, HostTable) or len(table) < _LARGE or "warm" in vars(table.known):
            return
        vars(table.known)["warm"] = True

        def sort() -> None:
            for number, column in enumerate(table.columns):
                table.column(number)
                if column.kind != "category":
                    table.order(number)

        Thread(target=sort, daemon=True, name="spexplain-studio-orders").start()

    # --- Saving -------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Write how the session begins: the table and the model, with the edits that it brings along."""
        if self._model is not None:
            self._warm(self._model)
        if self.saved is None or self.source is None:
            return
        start: dict[str, Any] = {
            "name": self.name,
            "table": self.source.about(),
            "settings": self.settings,
            "model": None,
        }
        if self._model is not None:
            training = self.explanation.training
            start |= {
                "model": self._model.to_json(profile="none"),
                "columns": json_value(None if training is None else training.columns),
                "min_samples_leaf": 1 if training is None else int(training.min_samples_leaf),
            }
        self.saved.begin(start)

    def resume(self, source: Source, stored: Stored) -> int:
        """Go on where a session has ended; returns the number of its edits.

        An edit that cannot be repeated, because the table or the package has changed, is left out with
        all edits after it.
        """
        start = stored.start
        if not isinstance(start.get("settings"), dict):
            raise ValueError("The session does not say how it began.")
        with self._lock:
            self.source, self.name, self.settings = source, source.name, start["settings"]
            self.labels = self.settings.get("labels")
            done: list[Mapping[str, Any]] = []
            if isinstance(start.get("model"), str):
                model = source.counted(start["model"], self.settings)
                first = model.explanation_
                training = first.training
                assert training is not None
                columns = start.get("columns")
                training = replace(
                    training,
                    columns=None if columns is None else np.array(columns, dtype=np.int64),
                    min_samples_leaf=int(start.get("min_samples_leaf", 1)),
                )
                self._model = model.edited(replace(first, training=training))
                self._colors.clear()
                self._color(self.explanation)
                for event in stored.events:
                    try:
                        self._repeat(event)
                    except (ValueError, TypeError, KeyError, IndexError):
                        break
                    done.append(event)
            self.version += 1
            if self._model is not None:
                self._warm(self._model)
            if self.saved is not None:  # without a line that was not completed
                self.saved.begin(start, done)
            return len(self.explanation.edits) if self._model is not None else 0

    def _repeat(self, event: Mapping[str, Any]) -> None:
        explanation = self.explanation
        if "go" in event:
            after = _gone(explanation, int(event["go"]))
        else:
            test = event.get("exact")
            given = dict(event["arguments"])
            after = self._edited(str(event["edit"]), given, None if test is None else _read(test))
            self._color(after, _heirs(after))
        self._before = answers.figures(explanation)
        self._model = self.model.edited(after)

    def _write(self, event: Mapping[str, Any]) -> None:
        if self.saved is not None and self.source is not None:
            self.saved.add(event)

    # --- One node -----------------------------------------------------------------------------------

    def _at(self, question: Mapping[str, Any], explanation: "Explanation") -> int:
        node = int(check_integer("node", question.get("node"), 0))
        if node >= explanation.tree.n_nodes:
            raise ValueError(f"node={node} must be below {explanation.tree.n_nodes}.")
        return node

    def _node(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        node = self._at(question, explanation)
        found = [
            {
                "text": each.text,
                "column": each.column,
                "score": each.score,
                "rows_right": each.rows_right,
                "rows_changed": each.rows_changed,
            }
            for each in self._alternatives(explanation, node)
        ]
        return {
            "node": node,
            "path": answers.path_text(explanation, node),
            "record": answers.nodes(explanation)[node],
            "alternatives": json_value(found),
        }

    @staticmethod
    def _alternatives(explanation: "Explanation", node: int) -> list[Any]:
        try:
            return explanation.alternatives(node, n=20)
        except ValueError:  # no column is left, or no clusters are known
            return []

    def _column(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        node, number = self._at(question, explanation), self._number(question, explanation)
        field = self._fields[number]
        rows = explanation.rows_of(node)
        x = self._table(explanation).column(number)[rows]
        reference = explanation.row_reference
        codes = np.zeros(len(x), np.int64) if reference is None else reference.codes[rows]
        k = 0 if explanation.classes is None else len(explanation.classes)
        found = answers.histogram(field, x, np.where(codes < 0, k, codes), k)
        if field.kind != "category":
            missing = question.get("missing")
            sent = None if missing is None else bool(missing)
            swept = explanation.sweep(node, number, sent, purity=False)
            found["sweep"] = answers.curve(field, swept, bool(found.get("log")))
        is_asked = int(explanation.tree.feature[node]) == number
        return json_value(  # type: ignore[no-any-return]
            found
            | {
                "node": node,
                "column": field.name,
                "kind": field.kind,
                "has_missing": field.has_missing,
                "test": answers.nodes(explanation)[node]["test"] if is_asked else None,
            }
        )

    def _number(self, question: Mapping[str, Any], explanation: "Explanation") -> int:
        name, names = question.get("column"), list(explanation.names)
        if name not in names:
            told = one_line(str(name))[:100]
            raise ValueError(f"column={told!r} is not a column of the table{closest(told, names)}")
        return names.index(str(name))

    def _condition(
        self, question: Mapping[str, Any], explanation: "Explanation", node: int
    ) -> "str | Test":
        """Return the test that a question means: in words, or by its numbers."""
        text = question.get("test", question.get("condition"))
        if text is not None:
            if not isinstance(text, str) or len(text) > _LONGEST:
                raise ValueError("test must be a text such as age > 30.")
            return text
        number = self._number(question, explanation)
        field, now = self._fields[number], None
        if explanation.tree.feature[node] == number:
            now = explanation.tree.test(node)
        missing = question.get("missing")
        if missing is None:
            missing = now is not None and now.missing
        values = question.get("values")
        if values is not None:
            n_values = len(field.categories)
            known = isinstance(values, list) and all(
                type(each) is int and 0 <= each < n_values for each in values
            )
            if not known or field.kind != "category":
                raise ValueError(f"values must be numbers of categories of {field.name}.")
            return Test(number, missing=bool(missing), values=tuple(sorted(set(values))))
        threshold, lower = question.get("threshold"), question.get("lower")
        for name, value in (("threshold", threshold), ("lower", lower)):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and np.isfinite(value)):
                raise ValueError(f"{name} must be a finite number.")
        if threshold is None and lower is None:
            raise ValueError("Say the test in words, or its column and threshold.")
        width = float(question.get("snap") or 0)
        ends = [
            None if each is None else _snapped(field, float(each), width)
            for each in (lower, threshold)
        ]
        low = -np.inf if ends[0] is None else ends[0]
        high = np.inf if ends[1] is None else ends[1]
        if not low < high:
            raise ValueError("lower must be below threshold.")
        return Test(number, lower=low, upper=high, missing=bool(missing))

    def _preview(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        node = self._at(question, explanation)
        condition = self._condition(question, explanation, node)
        test, text, found, n_changed, turned = explanation.preview(node, condition)
        sizes = found.node_sizes[found.tree.leaves]
        problem = None
        if (sizes == 0).any():
            problem = "This test would leave a leaf without rows."
        return json_value(  # type: ignore[no-any-return]
            {
                "version": self.version,
                "node": node,
                "text": text,
                "column": found.names[test.feature],
                "test": answers.test_record(test),
                "figures": answers.figures(found),
                "rows_changed": n_changed,
                "segments": answers.segment_fits(found),
                "leaves": sizes,
                "turned": turned,
                "problem": problem,
            }
        )

    # --- Edits --------------------------------------------------------------------------------------

    def _check_version(self, question: Mapping[str, Any]) -> None:
        version = question.get("version")
        check_integer("version", version, 0)
        if version != self.version:
            raise StaleError(self.state())

    def _edit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = question.get("name"), question.get("arguments") or {}
        if name in ("undo", "redo"):
            return self._undo(question) if name == "undo" else self._redo(question)
        check_choice("name", name, (*_EDITS, "add_leaf"))
        if not isinstance(arguments, Mapping):
            raise ValueError("arguments must be a JSON object.")
        with self._lock:
            self._check_version(question)
            before, told = self.explanation, dict(arguments)
            event: dict[str, Any] = {"edit": name, "arguments": told}
            test = None
            if name == "add_leaf":
                leaf, test = self._best_leaf(before)
                event = {"edit": "split", "arguments": {"leaf": leaf}}
            elif name in ("with_test", "split"):
                condition = self._condition(told, before, self._place(str(name), told, before))
                test = condition if isinstance(condition, Test) else None
            if test is not None:  # in words a test would not be the same to the last bit
                event["exact"] = _written(test)
            after = self._edited(str(event["edit"]), event["arguments"], test)
            self._write(event)
            self._color(after, _heirs(after))
            self._before = answers.figures(before)
            self._commit(self.model.edited(after))
            return self.state()

    def _place(self, name: str, told: Mapping[str, Any], explanation: "Explanation") -> int:
        """Return the node that a test or a split is about."""
        if name == "with_test":
            return self._at(told, explanation)
        leaf = check_integer("leaf", told.get("leaf"), 0)
        if leaf >= explanation.tree.n_leaves:
            raise ValueError(f"leaf={leaf} must be below {explanation.tree.n_leaves}.")
        return int(explanation.tree.leaves[leaf])

    def _edited(self, name: str, arguments: Mapping[str, Any], test: Test | None) -> "Explanation":
        """Return the explanation after an edit; `test` is the exact one, where it was not given in words."""
        explanation = self.explanation
        check_choice("name", name, tuple(_EDITS))
        allowed = _EDITS[name] + (_CONDITION if name in ("with_test", "split") else ())
        for each in arguments:
            if each not in allowed:
                raise ValueError(f"{name} has no argument {one_line(str(each))[:100]!r}.")
        told = {key: arguments[key] for key in _EDITS[name] if key in arguments}
        for key in _CLUSTERS:
            if key in told:
                clusters = Clusters.of(explanation)
                code = clusters.code_of(told[key], key)
                told[key] = (
                    clusters.labels[code]
                    if explanation.classes is None
                    else explanation.classes[code]
                )
        name_given = told.get("name")
        if name_given is not None:
            if not isinstance(name_given, str) or not name_given.strip():
                raise ValueError("name must be a text that is not empty.")
            if len(name_given) > _LONGEST_NAME:
                raise ValueError(f"name must have at most {_LONGEST_NAME} characters.")
        if name in ("with_test", "split"):
            at = self._place(name, arguments, explanation)
            told["condition"] = test or self._condition(arguments, explanation, at)
        found: Explanation = getattr(explanation, name)(**told)
        return found

    def _best_leaf(self, explanation: "Explanation") -> tuple[int, Test]:
        """Return the leaf whose split puts most rows right, and the test that splits it."""
        best: Any = None
        for leaf, node in enumerate(explanation.tree.leaves.tolist()):
            if node in explanation.locked:
                continue
            found = self._alternatives(explanation, node)[:1]
            if found and (best is None or found[0].rows_right > best[1].rows_right):
                best = leaf, found[0]
        if best is None or best[1].rows_right <= (explanation.rows_right or 0):
            raise ValueError("No further leaf puts more rows right; split a leaf by hand.")
        return best[0], best[1].test

    def _undo(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self._stepped(question, -1)

    def _redo(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self._stepped(question, 1)

    def _go(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return self._stepped(question, None)

    def _stepped(self, question: Mapping[str, Any], step: int | None) -> dict[str, Any]:
        with self._lock:
            self._check_version(question)
            before = self.explanation
            if step is None:
                number = check_integer("number", question.get("number"), 0)
                after = _gone(before, number)
            else:
                after = before.undo() if step < 0 else before.redo()
            self._write({"go": len(after.edits)})
            self._before = answers.figures(before)
            self._commit(self.model.edited(after))
            return self.state()

    def adopt(self, model: "FittedModel") -> None:
        """Take a model that was edited elsewhere, such as in a cell of a notebook."""
        with self._lock:
            if model.explanation_ is self.explanation:
                return
            self._before = answers.figures(self.explanation)
            self._color(model.explanation_, _heirs(model.explanation_))
            self._commit(model)

    # --- Versions -----------------------------------------------------------------------------------

    @staticmethod
    def _all_states(explanation: "Explanation") -> list[tuple[str, "Explanation"]]:
        """Return every version with the edit that led to it: done, present and undone ones."""
        states = [*explanation.past, explanation, *(state for _, state in explanation.future)]
        edits = [*explanation.edits, *(edit for edit, _ in explanation.future)]
        texts = ["as it was fitted", *(each.text for each in edits)]
        return list(zip(texts, states, strict=True))

    def _versions(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        found = [
            {"number": number, "text": text, "figures": answers.figures(state)}
            for number, (text, state) in enumerate(self._all_states(explanation))
        ]
        return {"versions": found, "now": len(explanation.edits)}

    def _compare(self, question: Mapping[str, Any]) -> dict[str, Any]:
        states = self._all_states(self.explanation)
        chosen = []
        for name in ("one", "other"):
            number = check_integer(name, question.get(name), 0)
            if number >= len(states):
                raise ValueError(f"{name}={number} is not a version.")
            chosen.append(number)
        (one_text, one), (other_text, other) = states[chosen[0]], states[chosen[1]]
        labels = self._leaf_names(one), self._leaf_names(other)
        leaves = [self._leaves(each) for each in (one, other)]
        names = sorted({*labels[0], *labels[1]})
        place = {name: at for at, name in enumerate(names)}
        a, b = (
            np.array([place[name] for name in each])[leaf]
            for each, leaf in zip(labels, leaves, strict=True)
        )
        table = np.bincount(a * len(names) + b, minlength=len(names) ** 2)
        flows = [
            {
                "from": names[cell // len(names)],
                "to": names[cell % len(names)],
                "rows": int(table[cell]),
            }
            for cell in np.argsort(-table, kind="stable").tolist()
            if table[cell] and cell // len(names) != cell % len(names)
        ]
        return {
            side: {
                "number": number,
                "text": text,
                "figures": answers.figures(state),
                "nodes": answers.nodes(state),
                "segments": answers.segments(state, self._palette(state)),
            }
            for side, number, text, state in (
                ("one", chosen[0], one_text, one),
                ("other", chosen[1], other_text, other),
            )
        } | {"flows": flows, "rows_changed": int(np.count_nonzero(a != b))}

    def _leaves(self, explanation: "Explanation") -> Any:
        """Return the leaf of every row."""
        if explanation.labels is not None:
            return np.asarray(explanation.labels)
        training = self.explanation.training
        if training is None or training.table is None:
            raise ValueError("Rows can be compared only where they are known.")
        return training.table.fetch(training.table.leaves(explanation.tree))

    @staticmethod
    def _leaf_names(explanation: "Explanation") -> list[str]:
        clusters = Clusters.of(explanation)
        return [clusters.name(code) for code in clusters.leaf_codes.tolist()]

    # --- Exports ------------------------------------------------------------------------------------

    def _export(self, question: Mapping[str, Any]) -> dict[str, Any]:
        name, media_type, content = self.exported(question.get("format"))
        found = {"name": name, "type": media_type}
        if isinstance(content, bytes):
            return found | {"base64": b64encode(content).decode()}
        return found | {"text": content}

    def exported(self, format: Any) -> tuple[str, str, str | bytes]:
        """Return the name of a file, its type and its content."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return exports.export(self.model, format, self.name)

    # --- Rows ---------------------------------------------------------------------------------------

    def _rows(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        clusters, table = Clusters.of(explanation), self._table(explanation)
        leaves = np.asarray(explanation.labels)
        given = clusters.codes
        said = clusters.leaf_codes[leaves]
        kept = np.ones(len(leaves), dtype=np.bool_)
        if question.get("leaf") is not None:
            kept &= leaves == check_integer("leaf", question["leaf"], 0)
        if question.get("cluster") is not None and given is not None:
            kept &= given == clusters.code_of(question["cluster"])
        if question.get("segment") is not None:
            kept &= said == clusters.code_of(question["segment"], "segment")
        if question.get("wrong") and given is not None:
            kept &= (given >= 0) & (given != said)
        text = question.get("text")
        if text:
            kept &= self._matching(explanation, str(text)[:_LONGEST])
        chosen = np.flatnonzero(kept)
        page = check_integer("page", question.get("page", 0), 0)
        shown = chosen[page * N_ROWS : (page + 1) * N_ROWS]
        order = [
            *explanation.used,
            *(c for c in range(len(self._fields)) if c not in explanation.used),
        ]
        fields = [self._fields[each] for each in order]
        values = _dense(table.take(shown).to_host("Rows", "keep the table in memory"))[:, order]
        cells = answers.row_cells(fields, values)
        ids = self._ids(explanation, shown)
        return json_value(  # type: ignore[no-any-return]
            {
                "columns": [field.name for field in fields],
                "rows": [
                    {
                        "id": name,
                        "row": int(row),
                        "cluster": None if given is None else clusters.name(int(given[row])),
                        "cluster_code": None if given is None else int(given[row]),
                        "segment": clusters.name(int(said[row])),
                        "segment_code": int(said[row]),
                        "leaf": int(leaves[row]),
                        "cells": own,
                    }
                    for row, name, own in zip(shown, ids, cells, strict=True)
                ],
                "total": len(chosen),
                "page": page,
                "per_page": N_ROWS,
            }
        )

    @staticmethod
    def _table(explanation: "Explanation") -> Any:
        training = explanation.training
        if training is None or training.table is None:
            raise ValueError("This model does not hold rows; call with_rows(X, y) first.")
        return training.table

    @staticmethod
    def _ids(explanation: "Explanation", rows: Any) -> list[str]:
        training = explanation.training
        if training is None or training.row_ids is None:
            return [str(row) for row in rows.tolist()]
        return [str(each) for each in training.row_ids[rows]]

    def _matching(self, explanation: "Explanation", text: str) -> Any:
        """Return the rows whose name is a text, or that have it in a cell."""
        table, wanted = self._table(explanation), text.strip().casefold()
        n_rows = len(np.asarray(explanation.labels))
        found = np.zeros(n_rows, dtype=np.bool_)
        training = explanation.training
        ids = None if training is None else training.row_ids
        if ids is not None:
            found |= np.char.find(np.char.lower(ids.astype(str)), wanted) >= 0
        elif wanted.isdigit() and int(wanted) < n_rows:
            found[int(wanted)] = True
        for at, field in enumerate(self._fields):
            if field.kind == "category":
                codes = [
                    code
                    for code, value in enumerate(field.categories)
                    if wanted in str(value).casefold()
                ]
                if codes:
                    found |= np.isin(table.column(at), codes)
                continue
            try:
                value = field.read(text)
            except (ValueError, KeyError, OverflowError):
                continue
            x = table.column(at)
            found |= np.isnan(x) if np.isnan(value) else x == value
        return found

    def _row(self, question: Mapping[str, Any]) -> dict[str, Any]:
        explanation = self.explanation
        table, name = self._table(explanation), str(question.get("id", "")).strip()
        row = self._row_number(explanation, name)
        values = _dense(table.take(np.array([row])).to_host("A row", "keep the table in memory"))[0]
        clusters = Clusters.of(explanation)
        told = explain_row(
            explanation.tree,
            values,
            names=explanation.fields,
            scales=explanation.scales,
            leaf_labels=explanation.leaf_reference,  # type: ignore[arg-type]
        )
        leaf = told["leaf"]
        given = None if clusters.codes is None else int(clusters.codes[row])
        said = int(clusters.leaf_codes[leaf])
        home = int(explanation.tree.leaves[leaf])
        fields = self._fields
        return json_value(  # type: ignore[no-any-return]
            {
                "id": name,
                "row": row,
                "leaf": leaf,
                "nodes": [*(step["node"] for step in told["path"]), home],
                "path": [
                    {
                        "node": step["node"],
                        "test": step["test"],
                        "passed": step["passed"],
                        "value": step["text"],
                        "margin": step["margin_text"],
                    }
                    for step in told["path"]
                ],
                "rule": told["rule"],
                "cluster": None if given is None else clusters.name(given),
                "segment": clusters.name(said),
                "right": None if given is None or given < 0 else given == said,
                "values": [
                    {"column": field.name, "text": field.say(float(x))}
                    for field, x in zip(fields, values, strict=True)
                ],
            }
        )

    @staticmethod
    def _row_number(explanation: "Explanation", name: str) -> int:
        training, n_rows = explanation.training, len(np.asarray(explanation.labels))
        ids = None if training is None else training.row_ids
        if ids is not None:
            found = np.flatnonzero(ids.astype(str) == name)
            if len(found):
                return int(found[0])
        elif name.isascii() and name.isdigit() and int(name[:20]) < n_rows:
            return int(name)
        raise ValueError(f"There is no row {name[:100]!r}.")


def _snapped(field: Any, x: float, width: float) -> float:
    """Return the roundest value of a stretch of an axis, such as that of one pixel."""
    if not width > 0:
        return x
    found: float = field.between(x - width / 2, x + width / 2)
    return found


def _gone(explanation: "Explanation", number: int) -> "Explanation":
    """Return a version of the journal."""
    if number > len(explanation.edits) + len(explanation.future):
        raise ValueError(f"number={number} is not a version.")
    while len(explanation.edits) > number:
        explanation = explanation.undo()
    while len(explanation.edits) < number:
        explanation = explanation.redo()
    return explanation


def _heirs(explanation: "Explanation") -> dict[Any, Any]:
    """Return the old name of a cluster by its new one, where the last edit gave it one."""
    if not explanation.edits or explanation.edits[-1].name not in ("rename", "merge_clusters"):
        return {}
    told = explanation.edits[-1].arguments
    return {told["name"]: told.get("cluster", told.get("one"))}


def _written(test: Test) -> dict[str, Any]:
    """Return a test as JSON, to the last bit."""
    return json_value(vars(test)) | {"lower": repr(test.lower), "upper": repr(test.upper)}  # type: ignore[no-any-return]


def _read(test: Mapping[str, Any]) -> Test:
    """Return the test that was written."""
    values = test["values"]
    return Test(
        int(test["feature"]),
        float(test["lower"]),
        float(test["upper"]),
        bool(test["missing"]),
        None if values is None else tuple(int(each) for each in values),
    )


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
