"""The HTTP application: routes, thin. The package describes the shapes of the answers."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, BeforeValidator, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse

from ..errors import BoolrankError, UnknownIdError
from . import schemas
from .access import Guard, Keys, problem
from .answers import (
    describe_user,
    explain,
    recommend_together,
    store_events,
    to_json,
)
from .catalogue import Catalogue
from .events import ConflictError, StoreError
from .live import Live, RefreshError
from .pool import OverloadError
from .reference import openapi_document, reference_page, takes
from .schemas import MOST_N, MOST_REASONS, Batch, Events

Body = TypeVar("Body", bound=BaseModel)

router = APIRouter()
_MOST_ERRORS = 100  # of one body that are listed
PAGE = pathlib.Path(__file__).parent / "page"

_N = Annotated[int, Query(ge=1, le=MOST_N)]
_Text = Annotated[str, Query(max_length=schemas.MOST_ID)]
_Id = Annotated[str, Query(min_length=1, max_length=schemas.MOST_ID, pattern=schemas.NO_NUL)]
_Ids = Annotated[list[_Id], Query(max_length=schemas.MOST_IDS_IN_URL)]
# The guard leaves slashes and percent signs encoded.
PathId = Annotated[
    str,
    BeforeValidator(unquote),
    Path(min_length=1, max_length=schemas.MOST_ID, pattern=schemas.NO_NUL),
]


def create_app(live: Live, keys: Keys | None = None, local: bool = False) -> Guard:
    """Return the application around a model; see `Guard`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await live.start()
        yield
        await live.stop()

    app = FastAPI(
        title="boolrank",
        version="1",
        description="Recommendations with reasons that add up to the score.",
        openapi_url=None,  # see `reference`
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.live, app.state.keys = live, keys
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    _add_errors(app)
    return Guard(app, keys, live.metrics, local)


def _live(request: Request) -> Live:
    live: Live = request.app.state.live
    return live


async def _body(request: Request, kind: type[Body]) -> Body:
    """Return the body of a request; FastAPI's way takes 60 µs longer."""
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        count = error.error_count()
        many = {"type": "many", "loc": (), "msg": f"{count} fields are wrong"}
        # Listing many would keep the event loop for seconds.
        listed: list[Any] = [many] if count > _MOST_ERRORS else error.errors()
        found = [{**each, "loc": ("body", *each["loc"])} for each in listed]
        raise RequestValidationError(found) from None


def _recommend_all(jobs: list[tuple[Live, schemas.Query]]) -> list[Any]:
    live, catalogue = jobs[0][0], jobs[0][0].current
    found = recommend_together(catalogue, live.store, [query for _, query in jobs])
    return [each if isinstance(each, Exception) else to_json(each) for each in found]


def _call_all(jobs: list[Callable[[], Any]]) -> list[Any]:
    out: list[Any] = []
    for job in jobs:
        try:
            out.append(to_json(job()))
        except Exception as error:  # noqa: BLE001 - raised in the request
            out.append(error)
    return out


async def _answer(live: Live, job: Callable[[Catalogue], Any]) -> Response:
    return _json(await live.pool.run(_call_all, lambda: job(live.current)))


@router.get("/v1/recommendations/{user}", tags=["recommendations"])
async def recommend_user(
    request: Request,
    user: PathId,
    n: _N = 10,
    exclude: _Ids = [],  # noqa: B006 - FastAPI copies it
    candidates: Annotated[list[_Id] | None, Query(max_length=schemas.MOST_IDS_IN_URL)] = None,
    exclude_seen: bool = True,
    reasons: Annotated[int, Query(ge=0, le=MOST_REASONS)] = 0,
    strict: bool = False,
) -> Response:
    """Recommend items to a user."""
    query = schemas.Query(
        user=user,
        n=n,
        exclude=list(exclude),
        candidates=None if candidates is None else list(candidates),
        exclude_seen=exclude_seen,
        reasons=reasons,
        strict=strict,
    )
    return await _recommend(request, query)


@router.post("/v1/recommendations", tags=["recommendations"], openapi_extra=takes(schemas.Query))
async def recommend(request: Request) -> Response:
    """Recommend items to a user, or to somebody with these items."""
    return await _recommend(request, await _body(request, schemas.Query))


async def _recommend(request: Request, query: schemas.Query) -> Response:
    live = _live(request)
    return _json(await live.pool.run(_recommend_all, (live, query)))


@router.post("/v1/recommendations:batch", tags=["recommendations"], openapi_extra=takes(Batch))
async def recommend_batch(request: Request) -> Response:
    """Answer several queries with one model."""
    live, batch = _live(request), await _body(request, Batch)

    def job(catalogue: Catalogue) -> dict[str, Any]:
        results = recommend_together(catalogue, live.store, batch.queries)
        for each in results:
            if isinstance(each, Exception):
                raise each
            del each["model"]
        return {"model": catalogue.hash, "results": results}

    return await _answer(live, job)


@router.get("/v1/similar/{item}", tags=["items"])
async def similar(request: Request, item: PathId, n: _N = 10) -> Response:
    """Return the items most similar to an item."""

    def job(catalogue: Catalogue) -> dict[str, Any]:
        number = catalogue.number(item)
        found = catalogue.similar(number, n)
        return {"model": catalogue.hash, **catalogue.named(number), "items": found}

    return await _answer(_live(request), job)


@router.get("/v1/explanations/{user}/{item}", tags=["recommendations"])
async def explanation(request: Request, user: PathId, item: PathId, n: _N = 10) -> Response:
    """Return what each item of a user adds to the score of an item."""
    live, ids = _live(request), (user, item)
    return await _answer(live, lambda catalogue: explain(catalogue, live.store, *ids, n))


@router.get("/v1/popular", tags=["items"])
async def popular(
    request: Request,
    n: _N = 10,
    exclude: _Ids = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Return the items with most users."""

    def job(catalogue: Catalogue) -> dict[str, Any]:
        pairs = zip(*catalogue.popular(n, catalogue.hidden(exclude, None)), strict=True)
        items = [{**catalogue.named(item), "score": score} for item, score in pairs]
        return {"model": catalogue.hash, "items": items}

    return await _answer(_live(request), job)


@router.get("/v1/items", tags=["items"])
async def items(request: Request, q: _Text = "", n: _N = 10) -> Response:
    """Search titles and ids of items."""

    def job(catalogue: Catalogue) -> dict[str, Any]:
        total, found = catalogue.search(q, n)
        return {"model": catalogue.hash, "total": total, "items": found}

    return await _answer(_live(request), job)


@router.get("/v1/users", tags=["users"])
async def users(request: Request, q: _Text = "", n: _N = 10) -> Response:
    """Search ids of users by their beginning."""

    def job(catalogue: Catalogue) -> dict[str, Any]:
        return {"model": catalogue.hash, "users": catalogue.search_users(q, n)}

    return await _answer(_live(request), job)


@router.get("/v1/users/{user}", tags=["users"])
async def one_user(request: Request, user: PathId, n: _N = 100) -> Response:
    """Return the history of a user."""
    live, name = _live(request), user
    return await _answer(live, lambda catalogue: describe_user(catalogue, live.store, name, n))


@router.post("/v1/events", tags=["events"], openapi_extra=takes(Events))
async def events(request: Request) -> Response:
    """Store events. They are durable when this answers, and change the next list."""
    live, given = _live(request), await _body(request, Events)

    def job() -> dict[str, Any]:
        done = store_events(live.current, live.store, given.events)
        live.metrics.events.inc(done["stored"])
        live.metrics.sequence.set(done["sequence"])
        return done

    return _json(await live.writers.run(_call_all, job))


@router.post("/v1/refresh", tags=["events"])
async def refresh(request: Request) -> Response:
    """Update the model with all events; the result equals a fit on all of them."""
    return _json(to_json(await _live(request).refresh()))


@router.get("/v1/model", tags=["model"])
async def model(request: Request) -> Response:
    """Return facts about the model."""
    live, kept = (
        _live(request),
        ("parameters", "users", "items", "interactions", "created", "bytes", "choice"),
    )
    return await _answer(
        live,
        lambda catalogue: {
            "model": catalogue.hash,
            "name": catalogue.info["model"],
            **{name: catalogue.info[name] for name in kept},
            "abilities": catalogue.abilities,
            "titles": len(catalogue.titles),
            "events": {"last": live.last_event(), "contained": catalogue.sequence},
            "limits": schemas.LIMITS,
            "keys": bool(request.app.state.keys),
        },
    )


@router.get("/healthz", tags=["health"])
async def healthz() -> Response:
    """Answer while the process lives."""
    return _json(b'{"status":"ok"}')


@router.get("/readyz", tags=["health"])
async def readyz(request: Request) -> Response:
    """Answer 200 if the model is loaded and the event store can be read."""
    live = _live(request)
    if await live.checks.run(_last_event, live) is None:
        raise StoreError("the event store does not answer", hint="try again in a second")
    return _json(to_json({"status": "ready", "model": live.current.hash}))


@router.get("/metrics", tags=["health"], response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return metrics in Prometheus' text format."""
    return Response(_live(request).metrics.text(), media_type="text/plain; version=0.0.4")


def _last_event(lives: list[Live]) -> list[int | None]:
    return [live.last_event() for live in lives]


@router.get("/", include_in_schema=False)
async def page() -> Response:
    """Return the web page."""
    return FileResponse(PAGE / "index.html")


@router.get("/docs", include_in_schema=False)
async def reference(request: Request) -> Response:
    """Return the reference of the API."""
    return HTMLResponse(reference_page(openapi_document(request.app)))


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    return _json(to_json(openapi_document(request.app)))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _problem(status: int, detail: str, hint: str = "", **more: Any) -> Response:
    body, headers = problem(status, detail, hint, **more)
    made = Response(body, status)
    made.raw_headers = headers
    return made


# The first class of an error that is here decides its status.
_STATUS: dict[type[BoolrankError], int] = {
    UnknownIdError: 404,
    ConflictError: 409,
    OverloadError: 503,
    StoreError: 503,
    RefreshError: 503,
    BoolrankError: 422,
}


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(BoolrankError)
    async def ours(_: Request, error: BoolrankError) -> Response:
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        headers = [("retry-after", "1")] if status == 503 else []
        return _problem(status, error.message, error.hint, headers=headers)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        details = {
            404: ("there is nothing at this path", "/docs lists the paths"),
            405: (f"{request.method} is not allowed here", "/docs lists the methods"),
            400: ("the body is not JSON", 'send JSON such as {"items": ["p1"], "n": 5}'),
        }
        detail, hint = details.get(error.status_code, ("the request failed", ""))
        headers = (
            [("allow", error.headers["Allow"])]
            if error.headers and "Allow" in error.headers
            else []
        )
        return _problem(error.status_code, detail, hint, headers=headers)

    @app.exception_handler(Exception)
    async def bug(_: Request, __: Exception) -> Response:
        return _problem(500, "the service failed", "its log has the reason")

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
            return _problem(400, "the body is not JSON", hint)
        first = found[0]
        hint = "errors lists what to change; /docs has examples"
        return _problem(422, f"{first['field']}: {first['problem']}", hint, errors=found)


def _is_field(part: str) -> bool:
    """Return whether a part of a place is a field or a number, not a type."""
    return part.isdigit() or part.isidentifier()
