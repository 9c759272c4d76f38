"""The server of the studio, asked over HTTP: who gets in, and what is too much."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from palmerpenguins import load_penguins

from spexplain import CART
from spexplain.studio import Session

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

PENGUINS = load_penguins().drop(columns=["year"])


@pytest.fixture
def served() -> Iterator[Any]:
    from spexplain.studio.server import Served

    model = CART(n_leaves=4).fit(PENGUINS.drop(columns=["species"]), PENGUINS["species"])
    found = Served(Session(model, name="penguins.csv"))
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    wait_for(found.port)
    yield found
    found.server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("no server")


@pytest.fixture
def client(served: Any) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as found:
        yield found


def token_of(served: Any) -> dict[str, str]:
    return {"X-Spexplain-Token": served.token}


def is_nothing(response: httpx.Response) -> bool:
    """Whether a stranger learns nothing: no text, no cookie, no name of the server."""
    return (
        response.status_code == 403
        and response.content == b""
        and not {"set-cookie", "server", "content-type"} & set(response.headers)
    )


# --- Who gets in ----------------------------------------------------------------------------------


def test_only_this_machine_is_listened_to(served):
    assert served.socket.getsockname()[0] == "127.0.0.1"
    assert len(served.token) >= 40


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/export/json", "/nothing", "/ask"])
def test_without_the_token_there_is_nothing(served, client, path):
    assert is_nothing(client.get(path))
    assert is_nothing(client.get(path, params={"token": "guess"}))
    assert is_nothing(client.get(path, params={"token": served.token[:-1]}))
    assert is_nothing(client.get(path, headers={"X-Spexplain-Token": "é".encode()}))
    twice = client.get(path, params=[("token", served.token), ("token", "x")])
    assert is_nothing(twice)


def test_questions_need_the_header(served, client):
    question = {"ask": "state"}
    assert is_nothing(client.post("/ask", json=question))
    # What other pages can make a browser send along is not enough.
    assert is_nothing(client.post("/ask", json=question, params={"token": served.token}))
    client.get("/", params={"token": served.token})
    assert client.cookies
    assert is_nothing(client.post("/ask", json=question))
    assert is_nothing(client.post("/open", content=b"a,b\n1,2\n"))
    assert client.post("/ask", json=question, headers=token_of(served)).json()["ready"]
    assert client.get("/static/main.js").status_code == 200  # by the cookie


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_other_names_of_this_machine_are_refused(served, client, host):
    headers = token_of(served) | {"Host": host}
    assert is_nothing(client.get("/", params={"token": served.token}, headers=headers))
    assert is_nothing(client.post("/ask", json={"ask": "state"}, headers=headers))


def test_localhost_is_this_machine(served, client):
    headers = token_of(served) | {"Host": f"localhost:{served.port}"}
    assert client.post("/ask", json={"ask": "state"}, headers=headers).status_code == 200


def test_other_pages_are_refused(served, client):
    for more in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{served.port + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = client.post("/ask", json={"ask": "state"}, headers=token_of(served) | more)
        assert is_nothing(answer)
    own = {"Origin": f"http://127.0.0.1:{served.port}", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/ask", json={"ask": "state"}, headers=token_of(served) | own).is_success
    # A link in a mail or a terminal leads here, with the token in it; the cookie alone does not do.
    link = {"Sec-Fetch-Site": "cross-site"}
    assert client.get("/", params={"token": served.token}, headers=link).is_success
    assert is_nothing(client.get("/", headers=link))


def test_two_hosts_are_none(served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port)
    connection.putrequest("GET", f"/?token={served.token}", skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{served.port}")
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    response = connection.getresponse()
    assert response.status in (400, 403)
    assert served.token.encode() not in response.read()
    connection.close()


def test_every_answer_has_a_strict_policy(served, client):
    answers = [
        client.get("/", params={"token": served.token}),
        client.get("/static/main.js"),
        client.get("/export/json"),
        client.post("/ask", json={"ask": "state"}, headers=token_of(served)),
        client.post("/ask", json={"ask": "x"}, headers=token_of(served)),
    ]
    for each in answers:
        policy = each.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert each.headers["X-Content-Type-Options"] == "nosniff"
        assert each.headers["Cache-Control"] == "no-store"
        assert each.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in each.headers
    cookie = answers[0].headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "name", ["..%2fsession.py", "%2e%2e/session.py", "session.py", "nothing.js", "a%00.js", "."]
)
def test_only_files_of_the_page_are_served(served, client, name):
    answer = client.get(f"/static/{name}", headers=token_of(served))
    assert answer.status_code == 404
    assert "import" not in answer.text


# --- What is asked --------------------------------------------------------------------------------


def test_the_story_over_http(served, client):
    def ask(**question: Any) -> httpx.Response:
        return client.post("/ask", json=question, headers=token_of(served))

    there = ask(ask="preview", node=0, column="body_mass_g", threshold=4000).json()
    state = ask(
        ask="edit",
        version=1,
        name="with_test",
        arguments={"node": 0, "column": "body_mass_g", "threshold": 4000},
    ).json()
    assert state["figures"]["rows_right"] == there["figures"]["rows_right"]
    stale = ask(ask="undo", version=1)
    assert stale.status_code == 409
    assert stale.json()["state"]["version"] == 2
    refusal = ask(ask="preview", node=0, test="height > 3")
    assert refusal.status_code == 400
    assert "no column" in refusal.json()["error"]
    export = client.get("/export/sql-duckdb", params={"token": served.token})
    assert export.headers["content-disposition"] == 'attachment; filename="penguins.duckdb.sql"'
    assert export.text.startswith("SELECT")
    assert client.get("/export/exe", headers=token_of(served)).status_code == 400


def test_what_is_no_question(served, client):
    for body in (b"", b"{", b"[" * 100_000, b'{"ask": "state"', b"\xff\xfe", b"3", b'"x"', b"NaN"):
        answer = client.post("/ask", content=body, headers=token_of(served))
        assert answer.status_code == 400
        assert answer.json()["error"].endswith(".")
    assert client.get("/ask", headers=token_of(served)).status_code == 405
    assert client.post("/ask", json={"ask": "state"}, headers=token_of(served)).is_success


def test_questions_have_a_size(served, client):
    long = json.dumps({"ask": "state", "x": "y" * 1_100_000}).encode()
    assert client.post("/ask", content=long, headers=token_of(served)).status_code == 413

    def endless() -> Iterator[bytes]:  # without a length that could be looked at first
        for _ in range(30):
            yield b" " * 100_000

    assert client.post("/ask", content=endless(), headers=token_of(served)).status_code == 413
    assert client.post("/ask", json={"ask": "state"}, headers=token_of(served)).is_success


def test_many_tabs_at_the_same_time(served):
    """Ten tabs edit at once: each edit is of the version that its tab saw, and no other."""
    done: list[int] = []

    def tab() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as own:
            version = 1
            for _ in range(6):
                question = {
                    "ask": "edit",
                    "version": version,
                    "name": "rename",
                    "arguments": {"cluster": "Adelie", "name": "Adelie"},
                }
                answer = own.post("/ask", json=question, headers=token_of(served)).json()
                if "error" in answer:
                    version = answer["state"]["version"]
                else:
                    assert answer["version"] == version + 1
                    done.append(answer["version"])
                    version = answer["version"]

    tabs = [threading.Thread(target=tab) for _ in range(10)]
    for each in tabs:
        each.start()
    for each in tabs:
        each.join()
    assert sorted(done) == list(range(2, len(done) + 2))
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as own:
        state = own.post("/ask", json={"ask": "state"}, headers=token_of(served)).json()
    assert len(state["journal"]) == len(done) == state["version"] - 1


def test_who_comes_before_the_server_runs_is_not_turned_away():
    """A browser may be faster than the server whose address it was told."""
    from spexplain.studio.server import HOST, Served

    early = Served(Session())
    with early.socket, socket.create_connection((HOST, early.port), timeout=5) as visitor:
        assert visitor.getpeername()[1] == early.port


def test_a_port_that_is_taken(served):
    from spexplain.studio.server import Served

    with pytest.raises(OSError, match="cannot be used") as refusal:
        Served(Session(), port=served.port)
    assert str(refusal.value).endswith(".")


# --- As a command ---------------------------------------------------------------------------------


class Command:
    """``spexplain studio`` in a process of its own."""

    def __init__(self, *arguments: str, state: Any) -> None:
        environment = os.environ | {"SPEXPLAIN_STATE": str(state), "COLUMNS": "200"}
        command = [sys.executable, "-m", "spexplain", "studio", *arguments, "--no-open"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://127.0.0.1:" in line, self.process.communicate()[1]
        self.address = line.split()[-1]
        base, _, self.token = self.address.partition("?token=")
        self.client = httpx.Client(base_url=base, trust_env=False, timeout=60)
        wait_for(int(base.rstrip("/").rpartition(":")[2]))

    def post(self, path: str, **more: Any) -> Any:
        headers = {"X-Spexplain-Token": self.token} | more.pop("headers", {})
        return self.client.post(path, headers=headers, **more).json()

    def ask(self, asked: str, /, **more: Any) -> Any:
        return self.post("/ask", json={"ask": asked, **more})

    def edit(self, name: str, /, **arguments: Any) -> Any:
        version = self.ask("state")["version"]
        return self.ask("edit", version=version, name=name, arguments=arguments)

    def end(self, number: int = signal.SIGKILL) -> tuple[str, int]:
        self.client.close()
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=30)
        return errors, self.process.returncode


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "penguins.csv"
    PENGUINS.assign(name=[f"bird {n}" for n in range(len(PENGUINS))]).to_csv(path, index=False)
    return path


def same_tree(one: Any, other: Any) -> bool:
    names = ("table", "labels", "goal", "method", "verdict", "figures", "segments", "nodes")
    return all(one[name] == other[name] for name in (*names, "journal", "future", "settings"))


def test_a_session_survives_its_process(table, tmp_path):
    told = [str(table), "--labels", "species", "--id", "name", "--method", "cart", "--leaves", "4"]
    first = Command(*told, state=tmp_path / "state")
    first.edit("with_test", node=0, column="body_mass_g", threshold=4127.3)
    first.edit("rename", cluster="Gentoo", name="large «1»")
    first.edit("merge_clusters", one="Adelie", other="Chinstrap", name="small")
    first.edit("add_leaf")
    version = first.ask("state")["version"]
    before = first.ask("undo", version=version)
    assert before["saved"]
    first.end()  # kill -9
    again = Command(*told, state=tmp_path / "state")
    after = again.ask("state")
    assert same_tree(after, before)
    assert again.ask("row", id="bird 17")["row"] == 17
    redone = again.ask("redo", version=after["version"])
    assert redone["figures"]["n_leaves"] == before["figures"]["n_leaves"] + 1
    errors, status = again.end(signal.SIGTERM)
    assert "3 edits" in errors
    assert status in (0, 143, -15)
    third = Command(*told, state=tmp_path / "state")
    assert same_tree(third.ask("state"), redone)
    for _ in range(4):
        state = third.ask("undo", version=third.ask("state")["version"])
    assert state["figures"]["n_leaves"] == 4
    third.end()
    anew = Command(*told, "--new", state=tmp_path / "state")
    assert anew.ask("state")["journal"] == []
    assert anew.ask("state")["nodes"] == state["nodes"]
    anew.end()
    files = list((tmp_path / "state" / "studio").iterdir())
    assert all(each.stat().st_mode & 0o077 == 0 for each in files)
    assert (tmp_path / "state" / "studio").stat().st_mode & 0o077 == 0


def test_a_table_that_changed_starts_over(table, tmp_path):
    told = [str(table), "--labels", "species", "--method", "cart"]
    first = Command(*told, state=tmp_path / "state")
    first.edit("prune", node=0)
    first.end()
    table.write_text(table.read_text().replace("39.1", "39.2"))
    again = Command(*told, state=tmp_path / "state")
    assert again.ask("state")["journal"] == []
    errors, _ = again.end()
    assert "has changed" in errors


def test_drop_a_file_and_cluster_it_first(table, tmp_path):
    first = Command(state=tmp_path / "state")
    assert first.ask("state")["table"] is None
    state = first.post(
        "/open", content=table.read_bytes(), headers={"X-Spexplain-Name": "my%20birds.csv"}
    )
    assert (state["ready"], state["table"]["name"]) == (False, "my birds.csv")
    columns = {each["name"]: each for each in state["table"]["columns"]}
    assert columns["species"]["n_values"] == 3
    refusal = first.ask("open", labels="specis")
    assert "specis" in refusal["error"]
    assert "clusters" in first.ask("open")["error"]
    found = first.ask("open", cluster={"method": "kmeans", "k": 3}, method="cart", n_leaves=4)
    assert found["figures"]["n_leaves"] == 4
    assert found["settings"]["goal"] == "fidelity"
    before = first.edit("flip", node=0)
    first.end()
    again = Command(state=tmp_path / "state")
    assert same_tree(again.ask("state"), before)
    labelled = again.ask("open", labels="species", method="best")
    assert [each["name"] for each in labelled["segments"]] == ["Adelie", "Chinstrap", "Gentoo"]
    assert labelled["journal"] == []
    again.end()
    for body, words in ((b"", "empty"), (b"\x00\x01\x02" * 50, "")):
        broken = Command("--new", state=tmp_path / "state")
        answer = broken.post("/open", content=body, headers={"X-Spexplain-Name": "x.csv"})
        assert words in answer["error"]
        assert broken.ask("state")["table"] is None
        broken.end()


def test_a_second_studio_of_the_same_table_is_not_saved(table, tmp_path):
    told = [str(table), "--labels", "species", "--method", "cart"]
    first = Command(*told, state=tmp_path / "state")
    second = Command(*told, state=tmp_path / "state")
    assert first.ask("state")["saved"]
    assert not second.ask("state")["saved"]
    second.edit("prune", node=0)
    errors, _ = second.end()
    assert "not saved" in errors
    assert first.ask("state")["journal"] == []
    first.end()


def test_a_model_to_start_from(table, tmp_path):
    model = tmp_path / "model.json"
    fitted = CART(n_leaves=4).fit(PENGUINS.drop(columns=["species"]), PENGUINS["species"])
    model.write_text(fitted.edited(fitted.explanation_.prune(1)).to_json())
    told = [str(table), "--labels", "species", "--model", str(model)]
    found = Command(*told, "--session", str(tmp_path / "my.session"), state=tmp_path / "state")
    state = found.ask("state")
    assert state["journal"] == [{"text": "node 1 pruned"}]
    assert state["figures"]["rows_right"] == fitted.explanation_.prune(1).rows_right
    found.edit("flip", node=0)
    found.end()
    again = Command(*told, "--session", str(tmp_path / "my.session"), state=tmp_path / "state")
    journal = [each["text"] for each in again.ask("state")["journal"]]
    assert journal == ["node 1 pruned", "yes and no of node 0 exchanged"]
    again.ask("undo", version=again.ask("state")["version"])
    state = again.ask("undo", version=again.ask("state")["version"])
    assert state["figures"]["rows_right"] == fitted.explanation_.rows_right
    assert again.ask("rows", wrong=True)["total"] == 344 - state["figures"]["rows_right"]
    again.end()
    assert not (tmp_path / "state").exists()
