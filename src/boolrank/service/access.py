"""What surrounds every request: keys, limits, time-outs, security headers, errors and metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import InputError, ParameterError
from .metrics import Metrics
from .schemas import MOST_BYTES

log = logging.getLogger("boolrank.service")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = dict[bytes, bytes]
Refusal = tuple[Any, ...]  # status, detail, hint, and headers

SECONDS = 30.0  # for a request
REFRESH_SECONDS = 3600.0
ROLES = ("read", "write")
_LEAST_KEY = 16  # characters
_MOST_HELD = 8 * MOST_BYTES  # of all requests at once
_LATER, _RETRY = "try again in a second", ("retry-after", "1")
_QUERIES = ("/v1/recommendations", "/v1/recommendations:batch")
_OPEN = ("/healthz", "/readyz", "/docs", "/openapi.json", "/", "/favicon.ico")

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
]


class Keys:
    """API keys by role. A key for writing also reads."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        self._keys = [(role, _digest(key)) for role, key in keys]

    def __bool__(self) -> bool:
        return bool(self._keys)

    @staticmethod
    def read(path: Path) -> Keys:
        """Read a file with lines ``role key``."""
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InputError(
                f"no keys can be read from {path}",
                hint="name a text file with lines such as 'read KEY'",
                parameter="api_key_file",
            ) from None
        keys = []
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in ROLES or len(words[1]) < _LEAST_KEY:
                raise InputError(
                    f"line {number} of {path} is not 'read KEY' or 'write KEY'",
                    hint=f"keys have {_LEAST_KEY} characters or more and no spaces",
                    parameter="api_key_file",
                )
            keys.append((words[0], words[1]))
        if not keys:
            raise InputError(
                f"{path} has no keys",
                hint="write lines such as 'read KEY'",
                parameter="api_key_file",
            )
        return Keys(keys)

    def roles(self, key: bytes) -> set[str]:
        """Return what a key allows. The time does not depend on the key."""
        given = hashlib.sha256(key).digest()
        found = [role for role, known in self._keys if hmac.compare_digest(given, known)]
        return {*found, "read"} if found else set()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _is_local(host: bytes) -> bool:
    """Return whether a Host header has an address or the name of this machine."""
    name = re.sub(r":\d+$", "", host.decode("latin-1")).strip("[]").lower()
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return name == "localhost"


def check_exposure(host: str, keys: Keys | None, no_auth: bool) -> None:
    """Raise if a service beyond this machine has neither keys nor permission to have none."""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not (local or keys or no_auth):
        raise ParameterError(
            f"--host {host} is open to other machines, and there are no keys",
            hint="give --api-key-file FILE, or --no-auth if something else protects the service",
            parameter="host",
        )


def problem(
    status: int, detail: str, hint: str = "", headers: Sequence[tuple[str, str]] = (), **more: Any
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Return body and headers of an error, as RFC 9457 has it."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "hint": hint or "see /docs",
        **more,
    }
    body = json.dumps(content).encode()
    lines = [("content-type", "application/problem+json"), ("content-length", str(len(body)))]
    return body, [(k.encode(), v.encode()) for k, v in (*lines, *headers)]


class Guard:
    """An ASGI application around another.

    The path keeps ``%2F`` and ``%25`` encoded, so that ids may have slashes. A ``local`` service
    answers only under names of this machine: a page of another site may give its own name our
    address, and would then count as ours.
    """

    def __init__(self, app: App, keys: Keys | None, metrics: Metrics, local: bool = False) -> None:
        self.app, self.keys, self.metrics, self.local = app, keys, metrics, local
        self._held = 0  # bytes of bodies that are being received or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, answer = time.perf_counter(), _Answer(send)
        scope["path"] = _canonical(scope.get("raw_path") or scope["path"].encode())
        limit = REFRESH_SECONDS if scope["path"] == "/v1/refresh" else SECONDS
        try:
            async with asyncio.timeout(limit):
                await self._handle(scope, receive, answer)
        except (TimeoutError, asyncio.CancelledError):  # too late, or the service ends
            await answer.refuse(503, "the request took too long", _LATER, _RETRY)
        except ConnectionError:  # the client is gone
            answer.status = answer.status or 499
        except Exception:
            log.exception("a request failed")
            await answer.refuse(500, "the service failed", "its log has the reason")
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.observe(scope["method"], route, answer.status, time.perf_counter() - start)

    async def _handle(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = dict(scope["headers"])
        refused = self._without_key(scope, headers)
        if self.local and not _is_local(headers.get(b"host", b"")):
            hint = "use localhost, or see --api-key-file and --no-auth"
            refused = 403, "this service is for its own machine alone", hint
        if refused is None and scope["method"] == "POST":
            refused = _unfit(scope, headers)
            if refused is None:
                await self._handle_body(scope, receive, answer)
                return
        if refused is None:
            await self.app(scope, receive, answer)
        else:
            await answer.refuse(*refused)

    async def _handle_body(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        body = bytearray()
        try:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ConnectionError
                part = message.get("body", b"")
                more = message.get("more_body", False)
                body += part
                self._held += len(part)
                if len(body) > MOST_BYTES:
                    await answer.refuse(*_too_large())
                    return
                if self._held > _MOST_HELD:
                    await answer.refuse(503, "the service is overloaded", _LATER, _RETRY)
                    return
            await self.app(scope, _replayed(bytes(body), receive), answer)
        finally:
            self._held -= len(body)

    def _without_key(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Return why a request may not be answered, if its key does not allow it."""
        path = scope["path"]
        if not self.keys or path in _OPEN or path.startswith("/static/"):
            return None
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer":
            key = headers.get(b"x-api-key", b"")
        roles = self.keys.roles(key.strip())
        if not roles:
            asks = ("www-authenticate", "Bearer")
            return 401, "a key is needed", "send the header Authorization: Bearer KEY", asks
        # Whatever is not known to read needs a key that writes.
        reads = scope["method"] in ("GET", "HEAD", "OPTIONS") or path in _QUERIES
        if not reads and "write" not in roles:
            return 403, "this key only reads", "use a key with the role write"
        return None


class _Answer:
    """Sends an answer with the headers that all have, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *_HEADERS]
        await self.send(message)

    async def refuse(self, code: int, detail: str, hint: str, *lines: tuple[str, str]) -> None:
        """Send an error, unless an answer has begun."""
        if not self.status:
            body, headers = problem(code, detail, hint, lines)
            await self({"type": "http.response.start", "status": code, "headers": headers})
            await self({"type": "http.response.body", "body": body})


def _unfit(scope: Scope, headers: Headers) -> Refusal | None:
    """Return why a request with a body may not be answered, if its headers tell."""
    # Browsers send this header: pages of other sites must not write.
    if headers.get(b"sec-fetch-site", b"none") in (b"cross-site", b"same-site"):
        return 403, "another site sent this request", "send it from the page of the service"
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        return _too_large()
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json" and scope["path"] != "/v1/refresh":
        hint = "send the header Content-Type: application/json"
        return 415, "the body is not declared as JSON", hint
    return None


def _canonical(raw: bytes) -> str:
    """Return a path with all but slashes and percent signs decoded."""
    parts = raw.decode("latin-1").split("/")
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in parts)


def _too_large() -> Refusal:
    return 413, f"the body has more than {MOST_BYTES:,} bytes", "send it in parts"


def _replayed(body: bytes, receive: Receive) -> Receive:
    done = False

    async def replay() -> Message:
        nonlocal done
        if done:
            return await receive()
        done = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
