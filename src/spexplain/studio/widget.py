"""The studio in a notebook: the same component as in the browser, over the messages of a widget."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from spexplain.messages import one_line
from spexplain.studio.session import Session, StaleError

if TYPE_CHECKING:
    from spexplain.explanation.explanation import Explanation
    from spexplain.explanation.fitted import FittedModel

# The explanation that each model's studio began with, and its session: neither holds the model itself.
_SESSIONS: "WeakKeyDictionary[FittedModel, tuple[Explanation, Session]]" = WeakKeyDictionary()


def session_of(model: "FittedModel") -> Session:
    """Return the session that edits a model in this process; a model that was fitted again gets a new one."""
    known = _SESSIONS.get(model)
    if known is None or known[0] is not model.explanation_:
        explanation = model.explanation_
        session = Session(model.edited(explanation), name=type(model).__name__)
        _SESSIONS[model] = known = explanation, session
    return known[1]


def edited_model(model: "FittedModel") -> "FittedModel":
    """Return the model as it was edited in its studio; itself if it was not."""
    known = _SESSIONS.get(model)
    if known is None or known[0] is not model.explanation_:
        return model
    now = known[1].model
    return model if now.explanation_ is model.explanation_ else now


def answered(session: Session, message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a message of the page, with the number of its question.

    Examples
    --------
    >>> from spexplain import CART
    >>> from spexplain.studio import Session
    >>> from spexplain.studio.widget import answered
    >>> session = Session(CART().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]))
    >>> answered(session, {"id": 7, "question": {"ask": "preview", "node": 0, "test": "x1 > 3"}})["error"]
    "condition='x1 > 3' cannot be read: it names no column of the table; write it such as age > 30, ..."
    """
    number = message.get("id")
    try:
        return {"id": number, "answer": session.answer(message.get("question") or {})}
    except StaleError as error:
        return {"id": number, "error": str(error), "status": 409, "state": error.state}
    except (ValueError, ImportError, OSError) as error:
        return {"id": number, "error": one_line(str(error)), "status": 400}
    except Exception as error:
        told = one_line(f"{type(error).__name__}: {error}")[:500]
        sentence = f"Something went wrong inside spexplain ({told})."
        return {"id": number, "error": sentence, "status": 500}


@cache
def _widget_class() -> type:
    """Return the class of the widget; anywidget is imported only here."""
    try:
        import anywidget
    except ImportError:
        raise ImportError(
            'The studio in a notebook needs anywidget: pip install "spexplain[studio]".'
        ) from None

    class StudioWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """The studio of a session."""

        _esm = (files("spexplain.studio") / "page" / "widget.js").read_text(encoding="utf-8")
        _css = (files("spexplain.studio") / "page" / "studio.css").read_text(encoding="utf-8")

        def __init__(self, session: Session) -> None:
            super().__init__()
            self.session = session
            self.on_msg(self._asked)
            mine = ref(self)

            def changed(session: Session) -> None:
                widget = mine()
                if widget is not None:
                    widget.send({"changed": session.version})

            session.listeners.append(changed)

        def _asked(self, _: Any, message: Any, buffers: Any) -> None:
            if isinstance(message, Mapping):
                self.send(answered(self.session, message))

    return StudioWidget


def widget_of(session: Session) -> Any:
    """Return a widget that shows a session, for the last line of a cell."""
    return _widget_class()(session)
