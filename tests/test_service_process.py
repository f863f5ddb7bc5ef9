"""The service as processes: killed, starved, slowed down and told to reload."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

from boolrank import Interactions, load_model
from boolrank.errors import BoolrankError, InputError
from boolrank.models.spec import parse_model
from effort import THOROUGH
from services import expected, pairs, postgres_place, some_data

pytest.importorskip("fastapi", reason="the extra serve is missing")
if not Path("/proc/self").exists():
    pytest.skip("finds workers through /proc", allow_module_level=True)

MODEL = "kernel-ranker(kernel=linear)"
KILLS = 5 if THOROUGH else 3  # of a worker, of all, of a worker again


class Server:
    """A running ``boolrank serve``."""

    def __init__(self, folder: Path, *options: str, preexec_fn: Any = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder, self.options = folder, options
        self.log = folder.parent / "log"
        self.preexec_fn = preexec_fn
        self.start()

    def start(self) -> None:
        words = ["serve", str(self.folder), "--port", str(self.port), *self.options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "boolrank", *words],
                stderr=log,
                start_new_session=True,
                preexec_fn=self.preexec_fn,  # noqa: PLW1509 - sets a limit only
            )
        end = time.monotonic() + 120
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            try:
                self.get("/readyz")
            except (OSError, HTTPException):
                time.sleep(0.05)
            else:
                return
        raise AssertionError("it is not ready")

    def get(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}
        )
        with urlopen(request, timeout=60) as answer:  # noqa: S310 - a local address
            return json.load(answer)

    def workers(self) -> list[int]:
        own = self.process.pid
        return [int(word) for word in Path(f"/proc/{own}/task/{own}/children").read_text().split()]

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextmanager
def serving(folder: Path, *options: str, **more: Any) -> Iterator[Server]:
    server = Server(folder, *options, **more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parse_model(MODEL).make().fit(some_data()).save(tmp_path / "model")
    return tmp_path / "model"


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def test_events_reach_every_worker_and_signals_reload_and_end(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        assert len(server.workers()) == 2
        model = load_model(folder)
        for k in range(6):
            event = {"user": f"new{k}", "item": f"p{k}"}
            server.get("/v1/events", {"events": [event]})
            for _ in range(6):  # new connections, so both workers answer
                found = server.get(f"/v1/recommendations/new{k}?n=5")
                assert pairs(found) == expected(model.recommend_profile([f"p{k}"], 5))
        with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        route = 'route="/v1/recommendations/{user}"'
        count = f'boolrank_requests_total{{method="GET",{route},status="200"}} 36.0'
        assert count in text, "of both workers together"
        before = server.get("/v1/model")["model"]
        model.update(Interactions.from_pairs(["u1"], ["p24"])).save(folder)
        os.kill(server.process.pid, signal.SIGHUP)
        wait_for(lambda: {server.get("/v1/model")["model"] for _ in range(8)}.isdisjoint({before}))
        assert server.end() in (0, -signal.SIGTERM, 143)
        assert "Traceback" not in server.log.read_text()


def test_workers_read_keys_on_a_signal_and_end_without_their_parent(folder: Path) -> None:
    keys, ask = (
        folder.parent / "keys",
        b"GET /v1/model HTTP/1.1\r\nHost: x\r\nX-Api-Key: %b\r\n\r\n",
    )
    keys.write_text(f"read {'a' * 16}\n")
    with serving(folder, "--workers", "2", "--api-key-file", str(keys)) as server:

        def admits(key: bytes) -> set[bool]:
            return {b" 200 " in _answer(server.port, ask % (key * 16)) for _ in range(8)}

        assert (admits(b"a"), admits(b"b")) == ({True}, {False})
        keys.write_text(f"read {'b' * 16}\n")
        os.kill(server.process.pid, signal.SIGHUP)
        wait_for(lambda: (admits(b"a"), admits(b"b")) == ({False}, {True}))
        workers = server.workers()
        server.process.kill()
        server.process.wait()
        try:
            wait_for(lambda: not any(map(_lives, workers)))
        finally:
            for worker in filter(_lives, workers):
                os.kill(worker, signal.SIGKILL)


def _lives(process: int) -> bool:
    """Whether a process is there and has not ended: its parent may not have asked for its code."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(params=["sqlite", "postgresql"])
def events(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "events.sqlite")
    else:
        with postgres_place() as url:
            yield url


def test_acknowledged_events_survive_kills_and_lists_equal_a_refit(
    folder: Path, events: str
) -> None:
    rng, stop = np.random.default_rng(3), threading.Event()
    done: list[tuple[str, str, str]] = []
    with serving(folder, "--workers", "2", "--events", events, "--refresh", "1s") as server:

        def write(worker: int) -> None:
            draw = np.random.default_rng(worker)
            count = 0
            while not stop.is_set():
                # Writers have users of their own, so that the order of each is known.
                user = f"w{worker}-{draw.integers(5)}"
                event = {
                    "id": f"{worker}:{count}",
                    "user": user,
                    "item": f"p{draw.integers(30)}",
                    "action": str(draw.choice(["add", "add", "remove"])),
                }
                while not stop.is_set():  # until it is acknowledged
                    try:
                        server.get("/v1/events", {"events": [event]})
                    except (OSError, ValueError, HTTPException):
                        time.sleep(0.02)
                    else:
                        done.append((event["user"], event["item"], event["action"]))
                        break
                else:
                    pending.append((event["user"], event["item"], event["action"]))
                count += 1

        pending: list[tuple[str, str, str]] = []
        writers = [threading.Thread(target=write, args=(k,)) for k in range(3)]
        for writer in writers:
            writer.start()
        for kill in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.2))
            if kill % 2:
                server.kill()
                server.start()
            else:
                os.kill(int(rng.choice(server.workers())), signal.SIGKILL)
        time.sleep(0.5)
        stop.set()
        for writer in writers:
            writer.join()
        wait_for(lambda: _ready(server))
        check_equals_refit(server, folder, done, pending)


def _ready(server: Server) -> bool:
    try:
        return bool(server.get("/readyz"))
    except (OSError, ValueError, HTTPException):
        return False


def check_equals_refit(server: Server, folder: Path, done: list[Any], pending: list[Any]) -> None:
    """Histories and lists are those of a fit on all events that were acknowledged."""
    base = some_data()
    held = {
        (base.users[row], base.items[item])
        for row, item in zip(base.rows.numbers.tolist(), base.indices.tolist(), strict=True)
    }
    for user, item, action in done:
        (held.add if action == "add" else held.discard)((user, item))
    assert len(done) > 20
    unsure = {(user, item) for user, item, _ in pending}  # sent, and not acknowledged
    known = {f"p{k}" for k in range(25)}
    for user in {user for user, _, _ in done}:
        found = server.get(f"/v1/users/{user}?n=1000")
        listed = {(user, each["item"]) for each in found["items"]}
        listed |= {(user, item) for item in found["unknown"]}
        wanted = {pair for pair in held if pair[0] == user}
        assert listed - unsure == wanted - unsure, "acknowledged events survive"
        held = (held - wanted) | listed
    assert known <= {item for _, item in held}
    fresh = server.get("/v1/refresh", {})["model"]
    users, items = zip(*sorted(held), strict=True)
    wanted = parse_model(MODEL).make().fit(Interactions.from_pairs(users, items))
    found = load_model(folder)
    names = list(wanted.interactions.users), list(wanted.interactions.items)
    assert np.array_equal(found.score(*names), wanted.score(*names))
    for user in sorted({user for user, _, _ in done}):
        answer = server.get(f"/v1/recommendations/{user}?n=5")
        for _ in range(600):  # the other worker follows
            if answer["model"] == fresh:
                break
            time.sleep(0.1)
            answer = server.get(f"/v1/recommendations/{user}?n=5")
        assert pairs(answer) == expected(wanted.recommend([user], 5, unknown="popular"))


def test_a_full_disk_refuses_events_and_loses_none(folder: Path) -> None:
    resource = pytest.importorskip("resource", reason="sets a limit for files")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    stored, refused = [], []
    with serving(folder, "--events", str(folder.parent / "e.sqlite"), preexec_fn=limit) as server:
        for part in range(60):
            some = [
                {"id": f"{part}-{k}", "user": f"x{part}", "item": f"p{k % 20}"} for k in range(100)
            ]
            try:
                server.get("/v1/events", {"events": some})
                stored.append(part)
            except HTTPError as error:
                refused.append((error.code, json.load(error)["status"]))
        assert stored
        assert set(refused) == {(503, 503)}
        assert server.log.read_text().count("event store is unavailable") == 1, "in a minute"
        assert server.get("/v1/recommendations/u1")["items"], "reading goes on"
        server.kill()
    with serving(folder, "--events", str(folder.parent / "e.sqlite")) as server:
        for part in range(60):
            found = server.get(f"/v1/users/x{part}")
            assert found["total"] == (20 if part in stored else 0), "all of a request or none"


@contextmanager
def threaded(folder: Path, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> Iterator[Any]:
    """A server in a thread, with other limits; yield it and its port."""
    import asyncio

    from boolrank.service import access, workers
    from boolrank.service.app import create_app
    from boolrank.service.events import check_store
    from boolrank.service.live import Live

    for name, value in limits.items():
        place = access if name == "most_connections" else workers
        monkeypatch.setattr(place, f"_{name.upper()}", value)
    made = workers.listen("127.0.0.1", 0)
    port = made.getsockname()[1]
    live = Live(folder, check_store(str(folder.parent / "e.sqlite")))
    app = create_app(live)
    server = workers.make_server(app)
    thread = threading.Thread(target=lambda: asyncio.run(workers.serve(server, made)))
    thread.start()
    try:
        wait_for(lambda: server.started)
        yield server, port
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def connect(port: int, text: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    made.settimeout(30)
    made.sendall(text)
    return made


def test_too_many_connections_get_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with threaded(folder, monkeypatch, most_connections=3) as (_, port):
        ask = b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n"
        made = [connect(port, ask) for _ in range(3)]
        assert all(b"200 OK" in each.recv(65536) for each in made)
        with connect(port, ask) as last:
            answer = b"".join(iter(lambda: last.recv(65536), b""))  # it is closed
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 503 " in head
        assert b"application/problem+json" in head
        assert b"retry-after: 1" in head
        assert json.loads(body)["hint"]
        made.pop().close()
        wait_for(lambda: b"200 OK" in _answer(port, ask))
        for each in made:
            each.close()


def _answer(port: int, text: bytes) -> bytes:
    with connect(port, text) as made:
        return made.recv(65536)


def test_clients_that_send_and_never_read_are_cut_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service import access

    monkeypatch.setattr(access, "SECONDS", 1.0)
    with threaded(folder, monkeypatch, idle_seconds=1.0) as (server, port):
        many = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000
        made = connect(port)
        made.setblocking(False)
        sent = made.send(many)
        assert sent
        wait_for(lambda: server.server_state.connections)
        wait_for(lambda: not server.server_state.connections, 20)
        made.close()
        assert b"200 OK" in _answer(port, many[:50])


def test_a_body_that_stops_does_not_hold_up_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with threaded(folder, monkeypatch, stop_seconds=0.5) as (server, port):
        made = connect(port, head + b"Content-Length: 1000\r\n\r\n{")
        wait_for(lambda: server.server_state.tasks)
        start = time.monotonic()
    assert time.monotonic() - start < 5
    made.close()


def test_a_body_that_does_not_arrive_in_time_is_the_fault_of_the_client(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service import access

    monkeypatch.setattr(access, "SECONDS", 0.5)
    head = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with threaded(folder, monkeypatch) as (_, port):
        with connect(port, head + b"Content-Length: 1000\r\n\r\n{") as made:
            answer = b"".join(iter(lambda: made.recv(65536), b"")).lower()
        assert answer.startswith(b"http/1.1 408 ")
        assert b"connection: close" in answer
        assert b'"the body is incomplete"' in answer


END_AT = {
    "before the fork": "import gc; gc.freeze = lambda: os.kill(os.getpid(), 15)",
    "in the fork": """
os.register_at_fork(after_in_child=lambda: time.sleep(0.5))
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), 15))
""",
}


@pytest.mark.parametrize("moment", END_AT)
def test_a_signal_at_the_start_ends_the_worker(moment: str) -> None:
    code = f"""
import os, socket, time
from boolrank.service.workers import Workers
{END_AT[moment]}
Workers(lambda *_: time.sleep(60), socket.socket(), 1).run()
"""
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert time.monotonic() - start < 50


def damage(folder: Path) -> None:
    header = (folder / "header.json").read_text(encoding="utf-8")
    (folder / "header.json").write_text(header.replace('"users": 40', '"users": 41'))


def test_a_damaged_model_at_the_start_is_an_error_and_no_loop(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        damage(folder)
        assert server.get("/v1/recommendations/u1")["items"], "the old model stays"
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        assert server.process.wait(60) == 1, "nobody can answer, so it ends"
        assert "no worker can start" in server.log.read_text()
    words = [sys.executable, "-m", "boolrank", "serve", str(folder), "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "hint: " in done.stderr
    assert "events are kept" in done.stderr
    assert "Traceback" not in done.stderr
    unit = (Path(__file__).parents[1] / "deploy" / "boolrank.service").read_text()
    assert "StartLimitBurst=" in unit
    assert "StartLimitIntervalSec=" in unit


def test_folders_of_metrics_are_removed_after_a_kill(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    with serving(folder) as server:
        (left,) = place.iterdir()
        server.kill()
        assert left.exists()
        server.start()
        (now,) = place.iterdir()
        assert now != left
    assert not list(place.iterdir())


def test_slow_clients_are_cut_off_and_others_are_served(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service import workers

    assert workers._IDLE_SECONDS <= 30
    ask = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with threaded(folder, monkeypatch, idle_seconds=2.0) as (_, port):
        starts = b"GET /healthz HT", b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
        slow = [connect(port, start) for start in starts]
        again = connect(port, ask % b"/healthz")
        assert b"200 OK" in again.recv(4096)
        again.sendall(b"GET /healthz HT")
        assert b"200 OK" in _answer(port, ask % b"/v1/recommendations/u1")
        for made in (*slow, again):
            while made.recv(4096):
                pass
            made.close()
        assert b" 400 " in _answer(port, b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100_000)


def test_a_connection_in_use_is_not_idle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with threaded(folder, monkeypatch, idle_seconds=1.0) as (_, port):
        made = HTTPConnection("127.0.0.1", port, timeout=30)
        made.connect()
        first = made.sock
        for _ in range(10):
            made.request("GET", "/healthz")
            assert made.getresponse().read() == b'{"status":"ok"}'
            time.sleep(0.3)
        assert made.sock is first
        made.close()


def test_an_error_of_listening_blames_the_host_or_the_port() -> None:
    from boolrank.service.workers import listen

    with listen("127.0.0.1", 0) as made:
        taken = made.getsockname()[1]
        # The second is an address for documentation, which no machine has.
        for host, port, name in (
            ("127.0.0.1", taken, "port"),
            ("192.0.2.1", 0, "host"),
            ("no.such.name.invalid", 0, "host"),
        ):
            with pytest.raises(InputError, match=f"choose another --{name}") as caught:
                listen(host, port)
            assert caught.value.parameter == name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folder": "missing"}, "no folder"),
        ({"host": "0.0.0.0"}, "no keys"),  # noqa: S104 - it is refused
        ({"host": "no such name"}, "no keys"),
        ({"items": "missing.csv"}, "missing.csv"),
        ({"items": "empty.csv"}, "more than one row for item"),
        ({"api_key_file": "missing"}, "keys"),
        ({"events": "no/such/folder/e.sqlite"}, "cannot be stored"),
        ({"events": "empty.csv"}, "cannot be stored"),
        ({"events": "postgresql://u:secret@127.0.0.1:1/x"}, "cannot be stored"),
        ({"events": "postgresql://u:my secret@127.0.0.1:1/x"}, "cannot be stored"),
        ({"events": "postgresql://u@127.0.0.1:1/x?password=secret&y=1"}, "cannot be stored"),
        ({"events": "postgresql://u:secret%zz@127.0.0.1:1/x"}, "ambiguous"),
    ],
)
def test_bad_options_are_refused_with_a_hint(
    folder: Path,
    options: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from boolrank.service import ServiceOptions
    from boolrank.service.command import open_service

    monkeypatch.chdir(folder.parent)
    Path("empty.csv").write_text("item,price\n" * 100, encoding="utf-8")
    if str(options.get("events")).startswith("postgres"):
        pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is missing")
    paths = ("items", "api_key_file")
    given = {name: Path(text) if name in paths else text for name, text in options.items()}
    model = Path(given.pop("folder", "model"))
    with pytest.raises(BoolrankError, match=message) as caught:
        open_service(model, ServiceOptions(port=0, **given))
    assert caught.value.hint
    assert "secret" not in str(caught.value) + caplog.text


def test_the_command_ends_with_a_hint_for_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["serve", str(folder), "--port", str(taken.getsockname()[1])]
        done = subprocess.run(
            [sys.executable, "-m", "boolrank", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 1
    assert "hint: choose another --port" in done.stderr
    assert "Traceback" not in done.stderr
