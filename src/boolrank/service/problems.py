"""Errors as RFC 9457 has them: ``application/problem+json`` with a hint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ..errors import BoolrankError, UnknownIdError
from .events import ConflictError, StoreError
from .pool import OverloadError

Lines = Sequence[tuple[str, str]]


class Refusal(BoolrankError):  # noqa: N818 - an answer
    """A request that is not answered, with the status and the headers of its error."""

    def __init__(self, status: int, detail: str, hint: str, *headers: tuple[str, str]) -> None:
        super().__init__(detail, hint=hint)
        self.status, self.headers = status, headers


# The first class of an error that is here decides its status.
_STATUS: dict[type[BoolrankError], int] = {
    UnknownIdError: 404,
    ConflictError: 409,
    OverloadError: 503,
    StoreError: 503,
    BoolrankError: 422,
}
_HTTP = {
    404: ("there is nothing at this path", "/docs lists the paths"),
    405: ("this method is not allowed here", "/docs lists the methods"),
}


def problem(status: int, detail: str, hint: str = "", headers: Lines = (), **more: Any) -> Response:
    """Return an error."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "hint": hint or "see /docs",
        **more,
    }
    return Response(json.dumps(content), status, dict(headers), "application/problem+json")


def add_problems(app: FastAPI) -> None:
    """Answer errors of an application with problems."""

    @app.exception_handler(BoolrankError)
    async def ours(_: Request, error: BoolrankError) -> Response:
        if isinstance(error, Refusal):
            return problem(error.status, error.message, error.hint, headers=error.headers)
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        headers = [("retry-after", "1")] if status == 503 else []
        return problem(status, error.message, error.hint, headers=headers)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            try:  # without a key nobody learns which paths there are
                role = "read" if request.method == "GET" else "write"
                request.scope["guard"].check_key(request.scope, role)
            except Refusal as refusal:
                return await ours(request, refusal)
        detail, hint = _HTTP.get(error.status_code, ("the request failed", ""))
        headers = [(k, v) for k, v in (error.headers or {}).items() if k.lower() == "allow"]
        return problem(error.status_code, detail, hint, headers=headers)

    @app.exception_handler(Exception)
    async def bug(_: Request, __: Exception) -> Response:
        return problem(500, "the service failed", "its log has the reason")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        found = [
            {
                "field": ".".join(filter(_is_field, map(str, each["loc"][1:]))) or "body",
                "problem": each["msg"].removeprefix("Value error, "),
            }
            for each in error.errors()[:10]
        ]
        if any(each["type"] == "json_invalid" for each in error.errors()):
            hint = 'send JSON such as {"items": ["p1"], "n": 5}'
            return problem(400, "the body is not JSON", hint)
        first = found[0]
        hint = "errors lists what to change; /docs has examples"
        return problem(422, f"{first['field']}: {first['problem']}", hint, errors=found)


def _is_field(part: str) -> bool:
    """Return whether a part of a place is a field or a number, not a type."""
    return part.isdigit() or part.isidentifier()
