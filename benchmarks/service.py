"""Throughput, latency, memory, start, kills and soak of ``boolrank serve``, as ratios of one run.

``python benchmarks/service.py`` runs the short parts on MovieLens-1M (or another data set); server
and load generator share the cores. ``--requests``, ``--refreshes``, ``--kills`` and ``--soak`` run
the long ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from boolrank import Interactions, Recommender, load_dataset, load_model
from boolrank.models.spec import parse_model

MODEL = "kernel-ranker(kernel=disjunctive(2))"
PORT = 8399
CONNECTIONS = 16
PROFILE = 20  # items


class Server:
    """A service in processes of its own."""

    def __init__(self, folder: Path, workers: int, *options: str) -> None:
        self.folder, self.workers, self.options = folder, workers, options
        self.start()

    def start(self) -> None:
        """Start it, and measure the seconds until it is ready."""
        self._wait_for_port()
        words = ["serve", str(self.folder), "--port", str(PORT), "--workers", str(self.workers)]
        start = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "boolrank", *words, *self.options],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while True:
            with suppress(OSError, ValueError):
                call("GET", "/readyz")
                break
            if self.process.poll() is not None:
                raise SystemExit("the service did not start")
            time.sleep(0.02)
        self.ready = time.perf_counter() - start

    @staticmethod
    def _wait_for_port() -> None:
        """Wait until killed processes are gone; raise for a service that would answer instead."""
        until = time.monotonic() + 10
        while True:
            with socket.socket() as free:
                free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with suppress(OSError):
                    free.bind(("127.0.0.1", PORT))
                    return
            if time.monotonic() > until:
                raise SystemExit(f"port {PORT} is taken: end what listens there")
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """Return the parent and its workers."""
        own = self.process.pid
        text = Path(f"/proc/{own}/task/{own}/children").read_text()
        return [own, *map(int, text.split())]

    def memory(self) -> float:
        """Return the MB of all processes; pages that they share count once."""
        total = 0
        for each in self.processes():
            with suppress(OSError):
                for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
                    total += int(line.split()[1]) if line.startswith("Pss:") else 0
        return total / 1024

    def kill(self) -> None:
        """Kill all processes at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """End it as an operator would."""
        self.process.terminate()
        self.process.wait()


@contextmanager
def serving(folder: Path, workers: int, *options: str) -> Iterator[Server]:
    """Run a service for a while."""
    server = Server(folder, workers, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()


def call(method: str, path: str, body: Any = None) -> Any:
    """Send one request and return the JSON of the answer."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=600)
    try:
        given = None if body is None else json.dumps(body)
        connection.request(method, path, given, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise ValueError(f"{answer.status}: {content!r}")
        return json.loads(content)
    finally:
        connection.close()


def wait_for_model(name: str) -> None:
    """Wait until all workers serve a model."""
    while {call("GET", "/v1/model")["model"] for _ in range(12)} != {name}:
        time.sleep(0.1)
    time.sleep(2)  # one worker may have answered all of these


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return the bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
    return f"{head}Content-Type: application/json\r\n\r\n".encode() + content


class Client(asyncio.Protocol):
    """One connection that sends the next request when an answer is complete."""

    def __init__(
        self, next_request: Callable[[], bytes | None], take: Callable[[int, bytes, float], None]
    ) -> None:
        self.next_request, self.take = next_request, take
        self.buffer, self.length = b"", -1
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send()

    def _send(self) -> None:
        wanted = self.next_request()
        if wanted is None:
            self.transport.close()
            return
        self.sent = time.perf_counter()
        self.transport.write(wanted)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.length < 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            self.status = int(head[9:12])
            self.length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            self.buffer = self.buffer[end + 4 :]
        if len(self.buffer) >= self.length:
            body, self.buffer, self.length = self.buffer, b"", -1
            self.take(self.status, body, time.perf_counter() - self.sent)
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(exc)


def load(requests: Callable[[], bytes], connections: int, limit: float, most: int = 1 << 60) -> Any:
    """Send requests on several connections; return requests per second and their seconds."""
    times: list[float] = []
    end = time.perf_counter() + limit

    def take(status: int, body: bytes, seconds: float) -> None:
        if status != 200:
            raise SystemExit(f"{status}: {body!r}")
        times.append(seconds)

    def following() -> bytes | None:
        return requests() if time.perf_counter() < end and len(times) < most else None

    async def run() -> None:
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_connection(lambda: Client(following, take), "127.0.0.1", PORT)
            for _ in range(connections)
        ]
        await asyncio.gather(*(client.done for _, client in made))

    start = time.perf_counter()
    asyncio.run(run())
    return len(times) / (time.perf_counter() - start), np.array(times)


def profiles(data: Interactions, count: int = 500) -> Callable[[], bytes]:
    """Return a function that gives requests for recommendations by profile, in turn."""
    rng = np.random.default_rng(0)
    made = []
    for user in rng.integers(0, len(data.users), count):
        own = data.rows.row(int(user))
        some = rng.choice(own, min(PROFILE, len(own)), replace=False)
        items = [data.items[int(k)] for k in some]
        made.append(request("POST", "/v1/recommendations", {"items": items, "n": 10}))
    turn = iter(range(1 << 60))
    return lambda: made[next(turn) % count]


def measure_speed(server: Server, data: Interactions, seconds: float) -> None:
    """Compare recommendations with an empty endpoint, in turns."""
    ask, empty = profiles(data), request("GET", "/healthz")
    load(ask, CONNECTIONS, min(2.0, seconds))
    rates: dict[str, list[float]] = {"empty": [], "profile": []}
    times = []
    for _ in range(3):
        rates["empty"].append(load(lambda: empty, CONNECTIONS, seconds / 3)[0])
        rate, some = load(ask, CONNECTIONS, seconds / 3)
        rates["profile"].append(rate)
        times.append(some)
    empty_rate, rate = (float(np.median(rates[name])) for name in ("empty", "profile"))
    half, most = np.quantile(np.concatenate(times), [0.5, 0.99])
    print(f"workers {server.workers}: {rate:,.0f} lists/s, empty endpoint {empty_rate:,.0f}/s")
    print(f"  throughput {rate / empty_rate:.2f} x empty (at least 0.4)")
    print(f"  p50 {half * 1e3:.1f} ms, p99 {most * 1e3:.1f} ms: {most / half:.1f} x (at most 8)")


def measure_flatness(server: Server, data: Interactions, requests: int, refreshes: int) -> None:
    """Compare memory after some of the requests and refreshes with memory after all."""
    ask, rng = profiles(data), np.random.default_rng(1)
    parts = max(refreshes, 10)
    settled = 0.0
    for part in range(parts):
        load(ask, CONNECTIONS, 3600, requests // parts)
        if part < refreshes:
            events = [
                {
                    "user": data.users[int(rng.integers(len(data.users)))],
                    "item": data.items[int(rng.integers(len(data.items)))],
                    "action": "add",
                }
                for _ in range(20)
            ]
            call("POST", "/v1/events", {"events": events})
            wait_for_model(call("POST", "/v1/refresh", {})["model"])
        if part == max(1, parts // 5) - 1:
            settled = server.memory()
    now = server.memory()
    print(
        f"memory after {requests:,} requests and {refreshes} refreshes: {now:.0f} MB, "
        f"{now / settled - 1:+.1%} since a fifth of them (at most +3 %)"
    )


def measure_kills(folder: Path, data: Interactions, kills: int) -> None:
    """Kill workers and the whole service under writes; compare with what was acknowledged."""
    rng, stop = np.random.default_rng(2), threading.Event()
    done: list[tuple[Any, Any, str]] = []
    server = Server(folder, 2, "--refresh", "5s")

    def write(number: int) -> None:
        draw, count = np.random.default_rng(number), 0
        while not stop.is_set():
            user = 10_000_000 + 100 * number + int(draw.integers(20))
            item = data.items[int(draw.integers(len(data.items)))]
            action = str(draw.choice(["add", "add", "remove"]))
            event = {"id": f"{number}:{count}", "user": user, "item": item, "action": action}
            while True:  # until it is acknowledged
                try:
                    call("POST", "/v1/events", {"events": [event]})
                except (OSError, ValueError, HTTPException):
                    time.sleep(0.01)
                else:
                    done.append((user, item, action))
                    break
            count += 1

    writers = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for writer in writers:
        writer.start()
    for k in range(kills):
        time.sleep(rng.uniform(0.1, 1.5))
        if k % 2:
            server.kill()
            server.start()
        elif len(server.processes()) > 1:
            with suppress(ProcessLookupError):
                os.kill(int(rng.choice(server.processes()[1:])), signal.SIGKILL)
    stop.set()
    for writer in writers:
        writer.join()
    wrong, unequal, users = compare_with_refit(data, done)
    server.end()
    print(
        f"{kills} kills, {len(done):,} events acknowledged: {wrong} histories of {users} wrong, "
        f"{unequal} lists differ from a refit"
    )


def compare_with_refit(
    data: Interactions, done: list[tuple[Any, Any, str]]
) -> tuple[int, int, int]:
    """Return the number of wrong histories, of lists that differ from a refit, and of users."""
    held: dict[Any, set[Any]] = {}
    for user, item, action in done:
        own = held.setdefault(user, set())
        (own.add if action == "add" else own.discard)(item)
    fresh = call("POST", "/v1/refresh", {})["model"]
    wait_for_model(fresh)
    users, items = data.users.names(data.rows.numbers), data.items.names(data.indices)
    pairs = [(user, item) for user, own in held.items() for item in own]
    both = zip(*pairs, strict=True)
    every = [[*old.tolist(), *new] for old, new in zip((users, items), both, strict=True)]
    refit = parse_model(MODEL).make().fit(Interactions.from_pairs(*every))
    wrong = unequal = 0
    for user, own in held.items():
        listed = call("GET", f"/v1/users/{user}?n=1000")["items"]
        wrong += {each["item"] for each in listed} != own
        found = call("GET", f"/v1/recommendations/{user}?n=10")
        wanted = answer_of(refit, sorted(own), 10)
        unequal += pairs_of(found) != wanted or found["model"] != fresh
    return wrong, unequal, len(held)


def pairs_of(answer: dict[str, Any]) -> list[tuple[Any, float]]:
    """Return items and scores of an answer."""
    return [(entry["item"], entry["score"]) for entry in answer["items"]]


def answer_of(model: Recommender, items: list[Any], n: int) -> list[tuple[Any, float]]:
    """Return the library's list for a history."""
    found = model.recommend_profile(items, n, unknown="ignore")
    both = zip(found.items[0].tolist(), found.scores[0].tolist(), strict=True)
    return [(item, score) for item, score in both if item is not None]


class Person:
    """A connection with a user of its own, whose history is known."""

    def __init__(self, number: int, data: Interactions, soak: Soak) -> None:
        self.rng, self.data, self.soak = np.random.default_rng(number), data, soak
        self.user, self.held = 20_000_000 + number, set[Any]()
        self.event: tuple[str, Any] | None = None
        self.asked: list[Any] = []

    def following(self) -> bytes | None:
        """Return the next request: one in five is an event."""
        if time.monotonic() > self.soak.end:
            return None
        draw = self.rng.random()
        self.event = None
        if draw < 0.2:
            item = self.data.items[int(self.rng.integers(len(self.data.items)))]
            self.event = "remove" if item in self.held else "add", item
            event = {"user": self.user, "item": item, "action": self.event[0]}
            return request("POST", "/v1/events", {"events": [event]})
        if draw < 0.6:
            self.asked = sorted(self.held)
            return request("GET", f"/v1/recommendations/{self.user}?n=10")
        own = self.data.rows.row(int(self.rng.integers(len(self.data.users))))[:PROFILE]
        self.asked = [self.data.items[int(k)] for k in own]
        return request("POST", "/v1/recommendations", {"items": self.asked, "n": 10})

    def take(self, status: int, body: bytes, _: float) -> None:
        """Take an answer."""
        if status != 200:
            raise SystemExit(f"{status}: {body!r}")
        if self.event is None:
            answer = json.loads(body)
            self.soak.check(answer["model"], self.asked, pairs_of(answer))
        else:
            action, item = self.event
            (self.held.add if action == "add" else self.held.discard)(item)
            self.soak.events += 1


class Soak:
    """Reads, events and refreshes at the same time; every list is compared with the library's."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.end = time.monotonic() + seconds
        self.models = {call("GET", "/v1/model")["model"]: load_model(folder)}
        self.late: list[tuple[str, list[Any], list[tuple[Any, float]]]] = []
        self.lists = self.events = self.refreshes = self.wrong = 0

    def check(self, name: str, items: list[Any], found: list[tuple[Any, float]]) -> None:
        """Compare a list, or keep it until its model is known."""
        if name not in self.models:
            self.late.append((name, items, found))
            return
        self.lists += 1
        self.wrong += answer_of(self.models[name], items, 10) != found

    async def refresh(self) -> None:
        """Refresh from time to time, and keep each model."""
        while time.monotonic() < self.end:
            await asyncio.sleep(min(10.0, self.seconds / 4))
            done = await asyncio.to_thread(call, "POST", "/v1/refresh", {})
            self.models[done["model"]] = await asyncio.to_thread(load_model, self.folder)
            self.refreshes += 1

    async def run(self, people: list[Person]) -> None:
        """Run all connections to the end."""
        loop, made = asyncio.get_running_loop(), []
        for each in people:
            client = partial(Client, each.following, each.take)
            made.append(await loop.create_connection(client, "127.0.0.1", PORT))
        await asyncio.gather(self.refresh(), *(client.done for _, client in made))
        late, self.late = self.late, []
        for case in late:
            self.check(*case)
        self.wrong += len(self.late)


def measure_soak(folder: Path, data: Interactions, seconds: float, connections: int = 32) -> None:
    """Mix reads, events and refreshes; compare every list with the library's."""
    with serving(folder, 2):
        soak = Soak(folder, seconds)
        asyncio.run(soak.run([Person(k, data, soak) for k in range(connections)]))
    print(
        f"soak of {seconds:.0f} s, {connections} connections: {soak.lists:,} lists, "
        f"{soak.events:,} events, {soak.refreshes} refreshes; {soak.wrong} lists differ from the "
        "library's"
    )


def main() -> None:
    """Measure what the options name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="movielens-1m")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--seconds", type=float, default=12.0, help="of load for the throughput")
    parser.add_argument("--requests", type=int, default=0, help="for the flatness of memory")
    parser.add_argument("--refreshes", type=int, default=0, help="among these requests")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--soak", type=float, default=0.0, help="seconds")
    options = parser.parse_args()
    data = load_dataset(options.data)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "model")
        parse_model(options.model).make().fit(data).save(folder)
        with serving(folder, 1):  # compiles what is not compiled yet
            pass
        memory = {}
        for workers in (1, 2) if options.seconds else ():
            with serving(folder, workers) as server:
                load(profiles(data), CONNECTIONS, 3.0)
                memory[workers] = server.memory()
                if workers == 2:
                    print(f"ready after {server.ready:.1f} s (at most 3)")
                    print(
                        f"memory {memory[1]:.0f} and {memory[2]:.0f} MB: two workers need "
                        f"{memory[2] / memory[1]:.2f} x one (at most 1.2)"
                    )
                    measure_speed(server, data, options.seconds)
        if options.requests:
            with serving(folder, 2) as server:
                measure_flatness(server, data, options.requests, options.refreshes)
        if options.kills:
            measure_kills(folder, data, options.kills)
        if options.soak:
            measure_soak(folder, data, options.soak)


if __name__ == "__main__":
    main()
