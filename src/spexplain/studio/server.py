"""The studio in a browser: a small server on this machine only, behind a token.

A request without the token, under another host name or from another page gets 403 and nothing else.
"""

import json
import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from spexplain.messages import one_line
from spexplain.studio.session import Session, Source, StaleError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
MAX_QUESTION = 1_000_000  # bytes
MAX_FILE = 512 * 1024 * 1024  # bytes of a table that is dropped onto the page
_MAX_NAME = 200  # characters of its name
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}

_Scope: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Scope]]
_Send: TypeAlias = Callable[[_Scope], Awaitable[None]]
Opener: TypeAlias = Callable[[Path, str], Source]  # a file and its name, as its user calls it


def needed(name: str = "The studio") -> None:
    """Refuse in one sentence where the packages of the studio are not installed."""
    from importlib.util import find_spec

    missing = [each for each in ("starlette", "uvicorn") if find_spec(each) is None]
    if missing:
        raise ImportError(f'{name} needs {", ".join(missing)}: pip install "spexplain[studio]".')


class _Guard:
    """Lets only those requests in that have the token, name this machine and come from its own page."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self.port = app, port
        self.token = token.encode()
        self.cookie = f"spexplain-studio-{port}"
        self.hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":  # there are no web sockets here
            return
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"x-spexplain-token", b"origin"):
                await _refused(send)
                return
            headers[name] = value
        if not self._is_ours(scope, headers):
            await _refused(send)
            return
        await self.app(scope, receive, send)

    def _is_ours(self, scope: _Scope, headers: dict[bytes, bytes]) -> bool:
        host, origin = headers.get(b"host", b""), headers.get(b"origin")
        if host not in self.hosts:  # a name that was made to point here
            return False
        if origin is not None and origin != b"http://" + host:
            return False
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            # A link on another page may lead here, but not with the cookie alone.
            return scope["method"] == "GET" and self._has(self._asked(scope))
        if self._has(headers.get(b"x-spexplain-token", b"")):
            return True
        if scope["method"] not in ("GET", "HEAD"):
            return False  # other pages could send the cookie along
        return self._has(self._asked(scope)) or self._has(self._kept(headers))

    def _has(self, given: bytes) -> bool:
        return secrets.compare_digest(given, self.token)

    @staticmethod
    def _asked(scope: _Scope) -> bytes:
        from urllib.parse import parse_qs

        query = scope["query_string"].decode("latin-1")
        with suppress(ValueError):
            given = parse_qs(query, max_num_fields=20).get("token", [""])
            return given[0].encode() if len(given) == 1 else b""
        return b""

    def _kept(self, headers: dict[bytes, bytes]) -> bytes:
        for part in headers.get(b"cookie", b"").split(b";"):
            name, _, value = part.strip().partition(b"=")
            if name == self.cookie.encode():
                return value
        return b""


async def _refused(send: _Send) -> None:
    await send(
        {"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body", "body": b""})


def app_of(session: Session, token: str, *, port: int, opener: Opener | None = None) -> "Starlette":
    """Return the application that answers for a session.

    Parameters
    ----------
    session : Session
        The session that answers.
    token : str
        Every request must carry it.
    port : int
        The port of the server, on which the accepted host names depend.
    opener : callable, optional
        Makes a `Source` of a file that was dropped onto the page, and of its name.
    """
    needed()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    pages = _Pages(session, token, port, opener)
    routes = [
        Route("/", pages.index, methods=["GET"]),
        Route("/static/{name}", pages.static, methods=["GET"]),
        Route("/ask", pages.ask, methods=["POST"]),
        Route("/open", pages.open, methods=["POST"]),
        Route("/export/{format}", pages.export, methods=["GET"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(_Guard, token=token, port=port)])


class _Pages:
    """What there is at each address."""

    def __init__(
        self, session: Session, token: str, port: int, opener: Opener | None = None
    ) -> None:
        self.session, self.token, self.port, self.opener = session, token, port, opener

    async def index(self, request: "Request") -> "Response":
        found = self._file("index.html")
        assert found is not None
        found.set_cookie(
            f"spexplain-studio-{self.port}", self.token, httponly=True, samesite="strict", path="/"
        )
        return found

    async def static(self, request: "Request") -> "Response":
        return self._file(request.path_params["name"]) or _json({"error": "Not found."}, 404)

    @staticmethod
    def _file(name: str) -> "Response | None":
        from starlette.responses import Response

        kind = _TYPES.get(Path(name).suffix)
        place = files("spexplain.studio") / "page" / name
        if kind is None or name != Path(name).name or not place.is_file():
            return None
        return Response(place.read_bytes(), media_type=kind, headers=_HEADERS)

    async def ask(self, request: "Request") -> "Response":
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_QUESTION:
                return _json({"error": "The question is longer than 1 MB."}, 413)
        try:
            question = json.loads(bytes(body))
        except (ValueError, RecursionError):
            return _json({"error": "The question is not JSON."}, 400)
        return await _answered(lambda: self.session.answer(question))

    async def open(self, request: "Request") -> "Response":
        opener = self.opener
        if opener is None:
            return _json({"error": "This studio already has a table; start another studio."}, 400)
        name = Path(unquote(request.headers.get("x-spexplain-name", ""))).name[-_MAX_NAME:]
        if not name or not name.isprintable():
            return _json({"error": "The file needs a name, such as table.csv."}, 400)
        said = request.headers.get("content-length", "0")
        if said.isdigit() and int(said[:20]) > MAX_FILE:
            return _json({"error": _TOO_LARGE}, 413)
        # The ending says what it is; nothing else of the name becomes the name of a file.
        ending = "".join(Path(name).suffixes[-2:])
        ending = ending if ending.replace(".", "").isalnum() else ""
        with tempfile.NamedTemporaryFile(suffix=ending[-20:], delete=False) as file:
            path = Path(file.name)
            n_bytes = 0
            async for part in request.stream():
                n_bytes += len(part)
                if n_bytes > MAX_FILE:
                    break
                file.write(part)
        if n_bytes > MAX_FILE:
            path.unlink()
            return _json({"error": _TOO_LARGE}, 413)
        return await _answered(lambda: self.session.load(opener(path, name)))

    async def export(self, request: "Request") -> "Response":
        from starlette.responses import Response

        found: list[tuple[str, str, str | bytes]] = []

        def write() -> dict[str, Any]:
            found.append(self.session.exported(request.path_params["format"]))
            return {}

        answer = await _answered(write)
        if not found:
            return answer
        name, media_type, content = found[0]  # the name holds letters, digits and _ only
        headers = _HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, headers=headers, media_type=media_type)


_TOO_LARGE = "The file is larger than 512 MB; name it when the studio is started."


async def _answered(ask: Callable[[], dict[str, Any]]) -> "Response":
    """Return what a session answers; errors are one sentence."""
    from starlette.concurrency import run_in_threadpool

    try:
        return _json(await run_in_threadpool(ask), 200)
    except StaleError as error:
        return _json({"error": str(error), "state": error.state}, 409)
    except (ValueError, ImportError, OSError) as error:
        return _json({"error": one_line(str(error))}, 400)
    except Exception as error:
        told = one_line(f"{type(error).__name__}: {error}")[:500]
        return _json({"error": f"Something went wrong inside spexplain ({told})."}, 500)


def _json(content: dict[str, Any], status: int) -> "Response":
    from starlette.responses import Response

    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    body = text.encode(errors="replace")
    return Response(body, status, headers=_HEADERS, media_type="application/json")


class Served:
    """A server that was bound to a port, and the address of its page.

    Parameters
    ----------
    session : Session
        The session that answers.
    port : int
        Port of this machine; 0 takes a free one.
    opener : callable, optional
        As for `app_of`.
    """

    def __init__(self, session: Session, *, port: int = 0, opener: Opener | None = None) -> None:
        needed()
        import uvicorn

        os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn by threads, without windows
        self.token = secrets.token_urlsafe(32)
        # Named in full: otherwise asyncio does not send small answers at once, but after 40 ms.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let others take the port
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((HOST, port))
            self.socket.listen()  # requests that come before the server runs wait and are not refused
        except OSError as error:
            self.socket.close()
            raise OSError(
                f"Port {port} cannot be used ({error.strerror}); another one may be free."
            ) from None
        self.port = int(self.socket.getsockname()[1])
        self.address = f"http://{HOST}:{self.port}/?token={self.token}"
        config = uvicorn.Config(
            app_of(session, self.token, port=self.port, opener=opener),
            http="h11",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=2,
        )
        self.server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until the process is asked to end."""
        with self.socket:  # also closed if the server does not start
            self.server.run(sockets=[self.socket])
