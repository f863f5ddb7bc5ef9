"""The HTTP application: routes, thin. ``docs/serving.md`` lists the answers.

A route declares who may call it: ``x-role`` is none, read or write. Without it, GET reads, and
every other method writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse

from . import answers, schemas
from .access import Guard
from .answers import to_json
from .catalogue import Catalogue
from .live import Live
from .problems import StoreError, add_problems
from .reference import openapi_document, reference_page, takes
from .schemas import N, PathId, Text, Where

Body = TypeVar("Body", bound=BaseModel)


class _Route(APIRoute):
    """A route that checks the key before anything else, and the names in the query."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        default = "read" if self.methods == {"GET"} else "write"
        role = (self.openapi_extra or {}).get("x-role", default)
        scope["guard"].check_key(scope, role)
        known = [each.alias for each in self.dependant.query_params]
        names = [name for name in QueryParams(scope["query_string"]) if name not in known]
        if names and role != "none":  # links to pages may carry anything
            extra = {"type": "extra_forbidden", "msg": "", "ctx": {"known": known}}
            raise RequestValidationError([{**extra, "loc": ("query", each)} for each in names])
        await super().handle(scope, receive, send)


router = APIRouter(route_class=_Route)
_OPEN = {"x-role": "none"}
_QUERY, _BATCH = takes(schemas.Query, "read"), takes(schemas.Batch, "read")
_LARGE = 1 << 16  # bytes: these take more than a millisecond
_REFRESH_SECONDS = 3600.0
PAGE = Path(__file__).parent / "page"


def create_app(live: Live, local: bool = False) -> Guard:
    """Return the application around a model; see `Guard`."""
    app = FastAPI(
        title="boolrank",
        version="1",
        description="Recommendations with reasons that add up to the score.",
        openapi_url=None,  # see `reference`
        lifespan=lambda _: live.watched(),
        redirect_slashes=False,
    )
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    add_problems(app)
    return Guard(app, live, local)


def _live(request: Request) -> Live:
    guard: Guard = request.scope["guard"]
    return guard.live


async def _body(request: Request, kind: type[Body]) -> Body:
    """Return the body of a request; FastAPI's way takes 60 µs longer."""
    body = await request.scope["guard"].read(request.scope, request.receive)
    if len(body) < _LARGE:
        return kind.model_validate_json(body)
    return await asyncio.to_thread(kind.model_validate_json, body)


def _recommend_all(jobs: list[tuple[Live, schemas.Query]]) -> list[Any]:
    live = jobs[0][0]
    found = answers.recommend_together(live.current, [query for _, query in jobs])
    return [each if isinstance(each, Exception) else to_json(each) for each in found]


def _call_all(jobs: list[Callable[[], Any]]) -> list[Any]:
    out: list[Any] = []
    for job in jobs:
        try:
            out.append(to_json(job()))
        except Exception as error:  # noqa: BLE001 - raised in the request
            out.append(error)
    return out


async def _answer(request: Request, job: Callable[[Catalogue], Any]) -> Response:
    live = _live(request)

    def call() -> dict[str, Any]:
        catalogue = live.current
        return {"model": catalogue.hash, **job(catalogue)}

    return _json(await live.pool.run(_call_all, call))


async def _recommend(request: Request, query: schemas.Query) -> Response:
    live = _live(request)
    return _json(await live.pool.run(_recommend_all, (live, query)))


@router.get("/v1/recommendations/{user}", tags=["recommendations"])
async def recommend_user(
    request: Request, user: PathId, n: N = 10, reasons: schemas.Reasons = 0, where: Where = None
) -> Response:
    """Recommend items to a user. POST has more options."""
    options = {"user": user, "n": n, "reasons": reasons, "where": where}
    return await _recommend(request, schemas.Query.model_validate(options))


@router.post("/v1/recommendations", tags=["recommendations"], openapi_extra=_QUERY)
async def recommend(request: Request) -> Response:
    """Recommend items to a user, or to somebody with these items."""
    return await _recommend(request, await _body(request, schemas.Query))


@router.post("/v1/recommendations:batch", tags=["recommendations"], openapi_extra=_BATCH)
async def recommend_several(request: Request) -> Response:
    """Answer several queries with one model."""
    queries = (await _body(request, schemas.Batch)).queries
    return await _answer(request, lambda model: answers.recommend_batch(model, queries))


@router.get("/v1/similar/{item}", tags=["items"])
async def similar(request: Request, item: PathId, n: N = 10, where: Where = None) -> Response:
    """Return the items most similar to an item."""
    return await _answer(request, lambda model: answers.similar(model, item, n, where))


@router.get("/v1/explanations/{user}/{item}", tags=["recommendations"])
async def explanation(request: Request, user: PathId, item: PathId, n: N = 10) -> Response:
    """Return what each item of a user adds to the score of an item."""
    return await _answer(request, lambda model: answers.explanation(model, user, item, n))


@router.get("/v1/popular", tags=["items"])
async def popular(request: Request, n: N = 10) -> Response:
    """Return the items with most users."""
    return await _answer(request, lambda model: answers.popular(model, n))


@router.get("/v1/items", tags=["items"])
async def items(request: Request, q: Text = "", n: N = 10) -> Response:
    """Search titles and ids of items."""
    return await _answer(request, lambda model: answers.items(model, q, n))


@router.get("/v1/users", tags=["users"])
async def users(request: Request, q: Text = "", n: N = 10) -> Response:
    """Search ids of users by their beginning."""
    return await _answer(request, lambda model: answers.users(model, q, n))


@router.get("/v1/users/{user}", tags=["users"])
async def one_user(request: Request, user: PathId, n: N = 100) -> Response:
    """Return the history of a user."""
    return await _answer(request, lambda model: answers.one_user(model, user, n))


@router.post("/v1/events", tags=["events"], openapi_extra=takes(schemas.Events, "write"))
async def events(request: Request) -> Response:
    """Store events. They are durable when this answers, and change the next list."""
    live, given = _live(request), await _body(request, schemas.Events)

    def job() -> dict[str, Any]:
        done = answers.store_events(live.current, live.store, given.events)
        live.metrics.events.inc(done["stored"])
        live.metrics.sequence.set(done["sequence"])
        return done

    return _json(await live.writers.run(_call_all, job))


@router.post("/v1/refresh", tags=["events"])
async def refresh(request: Request) -> Response:
    """Update the model with all events; the result equals a fit on all of them."""
    request.scope["deadline"].reschedule(asyncio.get_running_loop().time() + _REFRESH_SECONDS)
    return _json(to_json(await _live(request).refresh()))


@router.get("/v1/model", tags=["model"])
async def model(request: Request) -> Response:
    """Return facts about the model."""
    live = _live(request)
    kept = ("parameters", "users", "items", "interactions", "created", "bytes", "choice")

    def job(model: Catalogue) -> dict[str, Any]:
        last = None
        with suppress(StoreError):
            last = live.last_event()
        columns = {} if model.table is None else model.table.columns
        return {
            "name": model.info["model"],
            **{name: model.info[name] for name in kept},
            "abilities": model.abilities,
            "titles": len(model.titles) - model.titles.count(None),
            "columns": {name: each.type for name, each in columns.items()},
            "events": {"last": last, "contained": model.sequence},
            "limits": schemas.MOST._asdict(),
            "keys": bool(live.keys),
        }

    return await _answer(request, job)


@router.get("/healthz", tags=["health"], openapi_extra=_OPEN)
async def healthz() -> Response:
    """Answer while the process lives."""
    return _json(b'{"status":"ok"}')


@router.get("/readyz", tags=["health"], openapi_extra=_OPEN)
async def readyz(request: Request) -> Response:
    """Answer 200 if the model is loaded and the event store can be read."""
    live = _live(request)
    await live.checks.run(_call_all, live.last_event)
    return _json(to_json({"status": "ready", "model": live.current.hash}))


@router.get("/metrics", tags=["health"], response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return metrics in Prometheus' text format."""
    return Response(_live(request).metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/", include_in_schema=False, openapi_extra=_OPEN)
async def page() -> Response:
    """Return the web page."""
    return FileResponse(PAGE / "index.html")


@router.get("/docs", include_in_schema=False, openapi_extra=_OPEN)
async def reference(request: Request) -> Response:
    """Return the reference of the API."""
    return HTMLResponse(reference_page(openapi_document(request.app)))


@router.get("/openapi.json", include_in_schema=False, openapi_extra=_OPEN)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    return _json(to_json(openapi_document(request.app)))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
