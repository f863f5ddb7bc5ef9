"""Errors of the service, and their answers: ``application/problem+json`` (RFC 9457) with a hint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from ..checks import near_name
from ..errors import BoolrankError, UnknownIdError

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

LATER = "try again in a second"
_MOST_ERRORS = 100  # of one body that are listed
_LONGEST = 80  # characters of an unknown name that are compared with others
_HTTP = {
    404: ("there is no such path", "/docs lists the paths"),
    405: ("the method is not allowed", "/docs lists the methods"),
}
# Errors of pydantic, by type; the text of others can be read by people.
_INVALID = {
    "extra_forbidden": "this name is unknown; {near}",
    "missing": "this field is missing",
    "string_pattern_mismatch": "this is blank, or has a NUL",
    "string_too_long": "there must be at most {max_length} characters",
    "too_long": "there must be at most {max_length}",
    "too_short": "there must be at least {min_length}",
    "value_error": "{error}",
}


class Refusal(BoolrankError):  # noqa: N818 - an answer
    """A request that is refused, with the status and further headers of the answer."""

    def __init__(
        self, status: int, detail: str, hint: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(detail, hint=hint)
        self.status, self.headers = status, headers


class StoreError(BoolrankError, OSError):
    """The event store cannot be read or written."""

    status = 503


def problem(error: BaseException) -> Response:
    """Return the answer for an error."""
    # Imported here: the process that refreshes a model needs only the classes above.
    from fastapi import Response
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError
    from starlette.exceptions import HTTPException

    status, detail, hint = 500, "internal error", "see the log of the service"
    headers, more = dict[str, str](), dict[str, Any]()
    if isinstance(error, BoolrankError):
        status = getattr(error, "status", 404 if isinstance(error, UnknownIdError) else 422)
        detail, hint = error.message, error.hint
        headers |= getattr(error, "headers", {})
    elif isinstance(error, RequestValidationError | ValidationError):
        status, detail, hint, more = _invalid(error)
    elif isinstance(error, HTTPException):
        status = error.status_code
        detail, hint = _HTTP.get(status, ("the request failed", ""))
        headers |= {k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"}
    if status == 503:
        headers["retry-after"] = "1"
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "hint": hint or "see /docs",
        **more,
    }
    return Response(json.dumps(content), status, headers, "application/problem+json")


def _invalid(error: Any) -> tuple[int, str, str, dict[str, Any]]:
    """Return the status, detail, hint and list of errors of an invalid request.

    Errors of bodies come from pydantic; those of FastAPI have the part of the request in front.
    """
    in_body = hasattr(error, "error_count")
    count = error.error_count() if in_body else 0
    many = {"type": "many", "loc": (), "msg": f"{count} fields are wrong"}
    # Listing many would keep the event loop for seconds.
    listed: list[Any] = [many] if count > _MOST_ERRORS else error.errors()
    if any(each["type"] == "json_invalid" for each in listed):
        return 400, "the body is not JSON", 'send JSON such as {"items": ["p1"], "n": 5}', {}
    found = []
    for each in listed[:10]:
        part, *place = ("body", *each["loc"]) if in_body else each["loc"]
        # A place may also name a type of a union, which is not an identifier.
        names = [name for name in map(str, place) if name.isdigit() or name.isidentifier()]
        ctx = dict(each.get("ctx", {}))
        if each["type"] == "extra_forbidden":
            known = ctx["known"] if ctx else _fields(error.title, place[:-1])
            ctx["near"] = near_name(str(place[-1])[:_LONGEST], known)
        said = _INVALID.get(each["type"], "").format(**ctx) or each["msg"]
        found.append({"field": ".".join(names) or part, "problem": said})
    detail = "{field}: {problem}".format(**found[0])
    return 422, detail, "errors lists what to change; /docs has examples", {"errors": found}


def _fields(title: str, place: Sequence[Any]) -> Iterable[str]:
    """Return the names of fields at a place in a body."""
    from . import schemas

    kind = getattr(schemas, title)
    for name in place:
        if isinstance(name, str):
            (kind,) = get_args(kind.model_fields[name].annotation)
    names: Iterable[str] = kind.model_fields
    return names


def add_problems(app: FastAPI) -> None:
    """Answer errors of an application with problems."""
    from fastapi.exceptions import RequestValidationError
    from pydantic import ValidationError
    from starlette.exceptions import HTTPException

    async def answer(_: Request, error: Exception) -> Response:
        return problem(error)

    for kind in (BoolrankError, HTTPException, RequestValidationError, ValidationError, Exception):
        app.add_exception_handler(kind, answer)
