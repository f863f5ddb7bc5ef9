"""Guard of all requests: keys, limits, time-outs, security headers and metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Sized
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import InputError, ParameterError
from .problems import LATER, Refusal, problem
from .schemas import MOST

if TYPE_CHECKING:
    from .live import Live

log = logging.getLogger("boolrank.service")

SECONDS = 30.0  # for a request
ROLES = ("read", "write")
_LEAST_KEY = 16  # characters
_MOST_CONNECTIONS = 1024  # of one worker
_MOST_HELD = 8 * MOST.bytes  # in the bodies of all current requests
_CLOSE = {"connection": "close"}

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
    """API keys by role, from a file with lines ``role key``. A key for writing also reads."""

    def __init__(self, path: Path) -> None:
        self.path, self._keys = path, list[tuple[str, bytes]]()
        hint = f"write lines such as 'read KEY'; keys have {_LEAST_KEY} characters or more"
        lines = list[str]()
        with suppress(OSError, UnicodeDecodeError):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        for number, line in enumerate(lines, 1):
            match line.split():
                case [role, key] if role in ROLES and len(key) >= _LEAST_KEY:
                    self._keys.append((role, hashlib.sha256(key.encode()).digest()))
                case [first, *_] if not first.startswith("#"):
                    wrong = f"line {number} of {path} is not 'read KEY' or 'write KEY'"
                    raise InputError(wrong, hint=hint, parameter="api_key_file")
        if not self._keys:
            wrong = f"no keys can be read from {path}"
            raise InputError(wrong, hint=hint, parameter="api_key_file")

    def roles(self, key: bytes) -> set[str]:
        """Return the roles of a key, in constant time."""
        given = hashlib.sha256(key).digest()
        found = [role for role, known in self._keys if hmac.compare_digest(given, known)]
        return {*found, "read"} if found else set()


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address of a host; None for other names than localhost."""
    with suppress(ValueError):
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    return None


def check_exposure(host: str, keys: Keys | None, no_auth: bool) -> None:
    """Raise if a service beyond this machine has neither keys nor permission to have none."""
    address = _address(host)
    if not (keys or no_auth or (address is not None and address.is_loopback)):
        raise ParameterError(
            f"{host} is open to other machines, and there are no keys",
            hint="give --api-key-file FILE, or --no-auth if something else protects the service",
            parameter="host",
        )


class Guard:
    """An ASGI application around another.

    The path keeps ``%2F`` and ``%25`` encoded, so that ids may contain slashes. A ``local`` service
    requires a Host header that names this machine, against DNS rebinding.
    """

    def __init__(self, app: ASGIApp, live: Live, local: bool = False) -> None:
        self.app, self.live, self.local = app, live, local
        self.connections: Sized = ()  # the open ones of the server
        self._held = 0  # bytes of bodies that are being received or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, method = time.perf_counter(), 0, scope["method"]
        # The server leaves the body out for HEAD.
        scope = {**scope, "method": "GET" if method == "HEAD" else method, "guard": self}
        scope |= {"held": 0, "reading": False}  # bytes of the body, and whether more is awaited
        scope["path"] = _canonical(scope.get("raw_path") or scope["path"].encode())

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        failure: Exception | None = None
        try:
            async with asyncio.timeout(SECONDS) as scope["deadline"]:
                self._check(scope)
                await self.app(scope, receive, answer)
        except Refusal as error:
            failure = error
        except (TimeoutError, asyncio.CancelledError) as error:  # too late, or the service ends
            failure = Refusal(503, "the request took too long", LATER)
            if isinstance(error, TimeoutError) and scope["reading"]:
                failure = Refusal(408, "the body is incomplete", "send all of it at once", _CLOSE)
        except Exception as error:
            log.exception("a request failed")
            failure = error
        finally:
            self._held -= scope["held"]
        if failure is not None and not status:  # else an answer has begun
            await problem(failure)({"type": "http"}, receive, answer)
        route = getattr(scope.get("route"), "path", "other")
        self.live.metrics.observe(method, route, status, time.perf_counter() - start)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if len(self.connections) > _MOST_CONNECTIONS:  # uvicorn's own limit answers with plain text
            raise Refusal(503, "there are too many connections", LATER, _CLOSE)
        host = re.sub(r":\d+$", "", headers.get(b"host", b"").decode("latin-1"))
        if self.local and _address(host.strip("[]").lower()) is None:
            hint = "use localhost, or see --api-key-file and --no-auth"
            raise Refusal(403, "this service accepts requests from its own machine only", hint)
        # Browsers send this header: pages of other sites must not write.
        site = headers.get(b"sec-fetch-site", b"none")
        if scope["method"] == "POST" and site in (b"cross-site", b"same-site"):
            hint = "use the page of this service"
            raise Refusal(403, "requests from other sites are refused", hint)

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
            why = "the key is unknown" if key.strip() else "a key is required"
            hint = "send the header Authorization: Bearer KEY"
            raise Refusal(401, why, hint, {"www-authenticate": "Bearer"})
        if role not in roles:
            raise Refusal(403, f"this key does not {role}", f"use a key with the role {role}")

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request; raise if it is too large or not declared as JSON."""
        headers, body = dict(scope["headers"]), bytearray()
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            hint = "send the header Content-Type: application/json"
            raise Refusal(415, "the body must be JSON", hint)
        declared, more = headers.get(b"content-length", b"0"), True
        length = int(declared) if declared.isdigit() else MOST.bytes + 1
        scope["reading"] = True
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
                raise Refusal(503, "the service is overloaded", LATER)
        scope["reading"] = False
        if length > MOST.bytes:
            raise Refusal(413, f"the body has more than {MOST.bytes:,} bytes", "send it in parts")
        return bytes(body)


def _canonical(raw: bytes) -> str:
    """Return a path with all but slashes and percent signs decoded."""
    parts = map(unquote, raw.decode("latin-1").split("/"))
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
