"""Guard of all requests: keys, limits, time-outs, security headers and metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..errors import InputError, ParameterError
from .problems import Refusal, problem
from .schemas import MOST

if TYPE_CHECKING:
    from .live import Live

log = logging.getLogger("boolrank.service")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SECONDS = 30.0  # for a request
ROLES = ("read", "write")
_LEAST_KEY = 16  # characters
_MOST_HELD = 8 * MOST.bytes  # of all requests at once
_LATER, _RETRY = "try again in a second", ("retry-after", "1")

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
        self._keys = [(role, hashlib.sha256(key.encode()).digest()) for role, key in keys]

    def __bool__(self) -> bool:
        return bool(self._keys)

    @staticmethod
    def read(path: Path) -> Keys:
        """Read a file with lines ``role key``."""
        lines, keys = list[str](), list[tuple[str, str]]()
        with suppress(OSError, UnicodeDecodeError):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
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
                f"no keys can be read from {path}",
                hint="name a text file with lines such as 'read KEY'",
                parameter="api_key_file",
            )
        return Keys(keys)

    def roles(self, key: bytes) -> set[str]:
        """Return what a key allows. The time does not depend on the key."""
        given = hashlib.sha256(key).digest()
        found = [role for role, known in self._keys if hmac.compare_digest(given, known)]
        return {*found, "read"} if found else set()


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


class Guard:
    """An ASGI application around another.

    The path keeps ``%2F`` and ``%25`` encoded, so that ids may have slashes. A ``local`` service
    answers only under names of this machine: a page of another site may give its own name our
    address, and would then count as ours. ``crowded`` tells whether there are too many connections.
    """

    def __init__(self, app: App, live: Live, local: bool = False) -> None:
        self.app, self.live, self.local = app, live, local
        self.crowded: Callable[[], bool] = lambda: False
        self._held = 0  # bytes of bodies that are being received or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, answer = time.perf_counter(), _Answer(send)
        method = scope["method"]
        # The server leaves the body out for HEAD.
        scope = {**scope, "method": "GET" if method == "HEAD" else method, "guard": self, "held": 0}
        scope["path"] = _canonical(scope.get("raw_path") or scope["path"].encode())
        try:
            async with asyncio.timeout(SECONDS) as scope["deadline"]:
                self._check(scope)
                await self.app(scope, receive, answer)
        except Refusal as error:
            await answer.refuse(error)
        except (TimeoutError, asyncio.CancelledError):  # too late, or the service ends
            await answer.refuse(Refusal(503, "the request took too long", _LATER, _RETRY))
        except Exception:
            log.exception("a request failed")
            await answer.refuse(Refusal(500, "the service failed", "its log has the reason"))
        finally:
            self._held -= scope["held"]
        route = getattr(scope.get("route"), "path", "other")
        self.live.metrics.observe(method, route, answer.status, time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self.crowded():
            close = ("connection", "close")
            raise Refusal(503, "there are too many connections", _LATER, _RETRY, close)
        if self.local and not _is_local(headers.get(b"host", b"")):
            hint = "use localhost, or see --api-key-file and --no-auth"
            raise Refusal(403, "this service is for its own machine alone", hint)
        # Browsers send this header: pages of other sites must not write.
        site = headers.get(b"sec-fetch-site", b"none")
        if scope["method"] == "POST" and site in (b"cross-site", b"same-site"):
            hint = "send it from the page of the service"
            raise Refusal(403, "another site sent this request", hint)

    def check_key(self, scope: Scope, role: str) -> None:
        """Raise unless a request has a key for a role."""
        if not self.live.keys or role == "none":
            return
        headers = dict(scope["headers"])
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer":
            key = headers.get(b"x-api-key", b"")
        roles = self.live.keys.roles(key.strip())
        if not roles:
            why = "this key is not known" if key.strip() else "a key is needed"
            hint = "send the header Authorization: Bearer KEY"
            raise Refusal(401, why, hint, ("www-authenticate", "Bearer"))
        if role not in roles:
            raise Refusal(403, f"this key does not {role}", f"use a key with the role {role}")

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request; raise if it is too large or not declared as JSON."""
        headers, body = dict(scope["headers"]), bytearray()
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            hint = "send the header Content-Type: application/json"
            raise Refusal(415, "the body is not declared as JSON", hint)
        declared, more = headers.get(b"content-length", b"0"), True
        length = int(declared) if declared.isdigit() else MOST.bytes + 1
        while more and length <= MOST.bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the body is incomplete", "send all of it")
            part, more = message.get("body", b""), message.get("more_body", False)
            body += part
            length = max(length, len(body))
            self._held += len(part)
            scope["held"] += len(part)
            if self._held > _MOST_HELD:
                raise Refusal(503, "the service is overloaded", _LATER, _RETRY)
        if length > MOST.bytes:
            raise Refusal(413, f"the body has more than {MOST.bytes:,} bytes", "send it in parts")
        return bytes(body)


class _Answer:
    """Sends an answer with the headers that all have, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self.send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *_HEADERS]
        await self.send(message)

    async def refuse(self, error: Refusal) -> None:
        """Send an error, unless an answer has begun."""
        if not self.status:
            made = problem(error.status, error.message, error.hint, error.headers)
            await made({"type": "http"}, None, self)  # type: ignore[arg-type]  # it does not receive


def _canonical(raw: bytes) -> str:
    """Return a path with all but slashes and percent signs decoded.

    Clients fold the parts ``.`` and ``..`` however they are encoded; ``..;`` stands for ``..``.
    """
    parts = [
        part[:-1] if part in (".;", "..;") else unquote(part)
        for part in raw.decode("latin-1").split("/")
    ]
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
