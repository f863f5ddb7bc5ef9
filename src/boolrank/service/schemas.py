"""Bodies and parameters of requests, with limits and examples."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import unquote

import fastapi
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

# Limits of one request.
MOST_N = 1_000
MOST_IDS = 10_000
MOST_IDS_IN_URL = 50
MOST_REASONS = 20
MOST_QUERIES = 100
MOST_N_TOGETHER = 100  # in a batch
MOST_EXPLAINED = 1_000  # items with reasons in a batch
MOST_EVENTS = 10_000
MOST_ID = 256  # characters
MOST_WHERE = 2_000  # characters of a filter
MOST_DIVERSE = 100  # items of diverse lists, in a batch of all together
MOST_COLUMNS = 10  # with limits per group
MOST_BYTES = 8 << 20

LIMITS = {
    "n": MOST_N,
    "ids": MOST_IDS,
    "ids_in_url": MOST_IDS_IN_URL,
    "reasons": MOST_REASONS,
    "queries": MOST_QUERIES,
    "n_together": MOST_N_TOGETHER,
    "explained": MOST_EXPLAINED,
    "events": MOST_EVENTS,
    "where": MOST_WHERE,
    "diverse": MOST_DIVERSE,
    "bytes": MOST_BYTES,
}

# JSON counts 5.0 among the whole numbers.
_WHOLE = BeforeValidator(lambda v: int(v) if type(v) is float and v.is_integer() else v)
EXACT = 1 << 53  # JavaScript rounds larger numbers: they are sent as text
NO_NUL = r"^[^\x00]+$"  # which PostgreSQL does not store
_Text = Annotated[StrictStr, Field(min_length=1, max_length=MOST_ID, pattern=NO_NUL)]
Id = _Text | Annotated[StrictInt, Field(ge=-EXACT, le=EXACT), _WHOLE]
Ids = Annotated[list[Id], Field(max_length=MOST_IDS, fail_fast=True)]


def _decimal(text: Any) -> Any:
    """Return a number without what Python would also read, such as 1_0."""
    return text if not isinstance(text, str) or re.fullmatch(r"-?[0-9]{1,9}", text) else None


_FromUrl = BeforeValidator(_decimal)
N = Annotated[Annotated[int, Field(ge=1, le=MOST_N), _FromUrl], fastapi.Query()]
Reasons = Annotated[Annotated[int, Field(ge=0, le=MOST_REASONS), _FromUrl], fastapi.Query()]
Text = Annotated[str, fastapi.Query(max_length=MOST_ID)]
Limits = Annotated[
    list[Annotated[str, Field(max_length=MOST_ID)]],
    fastapi.Query(max_length=MOST_COLUMNS, description="A column and a number: category=2."),
]
Diversity = Annotated[float, fastapi.Query(ge=0, le=1, allow_inf_nan=False)]
Where = Annotated[str | None, fastapi.Query(max_length=MOST_WHERE)]
_UrlId = Annotated[str, Field(min_length=1, max_length=MOST_ID, pattern=NO_NUL)]
UrlIds = Annotated[list[_UrlId], fastapi.Query(max_length=MOST_IDS_IN_URL)]
SomeUrlIds = Annotated[list[_UrlId] | None, fastapi.Query(max_length=MOST_IDS_IN_URL)]
# The guard leaves slashes and percent signs encoded.
PathId = Annotated[
    str,
    BeforeValidator(unquote),
    fastapi.Path(min_length=1, max_length=MOST_ID, pattern=NO_NUL),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Query(_Body):
    """Somebody to recommend to: a user, or a list of items."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["user"]}, {"required": ["items"]}],
            "examples": [
                {"items": ["p1", "p2"], "n": 5, "exclude": ["p4"], "reasons": 3},
                {"user": "ann", "n": 5},
            ],
        },
    )

    user: Annotated[Id, Field(description="A user of the model or of events.")] = ""
    items: Annotated[Ids, Field(description="The items of somebody unknown.")] = []
    n: Annotated[StrictInt, Field(ge=1, le=MOST_N, description="Number of items."), _WHOLE] = 10
    exclude: Annotated[Ids, Field(description="Items not to recommend.")] = []
    candidates: Annotated[
        Ids | None, Field(description="The only items to recommend; null for all.")
    ] = None
    exclude_seen: Annotated[
        StrictBool, Field(description="Leave out the items of the history.")
    ] = True
    where: Annotated[
        StrictStr | None,
        Field(max_length=MOST_WHERE, description="Filter on columns of the items."),
    ] = None
    per: Annotated[
        dict[_Text, Annotated[StrictInt, Field(ge=1, le=MOST_N), _WHOLE]],
        Field(max_length=MOST_COLUMNS, description="The most items of a group by column."),
    ] = {}
    diversity: Annotated[
        float, Field(ge=0, le=1, strict=True, description="How much similar items are kept apart.")
    ] = 0.0
    reasons: Annotated[
        StrictInt, Field(ge=0, le=MOST_REASONS, description="Reasons for each item."), _WHOLE
    ] = 0
    strict: Annotated[
        StrictBool, Field(description="Refuse unknown ids instead of ignoring them.")
    ] = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Query:
        if len(self.model_fields_set & {"user", "items"}) != 1:
            raise ValueError("give either user or items")
        if self.diversity and self.n > MOST_DIVERSE:
            raise ValueError(f"ask for at most {MOST_DIVERSE} diverse items: lower n")
        return self


class BatchQuery(Query):
    """A query of a batch."""

    n: Annotated[
        StrictInt, Field(ge=1, le=MOST_N_TOGETHER, description="Number of items."), _WHOLE
    ] = 10


class Batch(_Body):
    """Several queries."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"queries": [{"user": "ann", "n": 5}, {"items": ["p1"], "n": 5}]}]
        }
    )

    queries: Annotated[
        list[BatchQuery], Field(min_length=1, max_length=MOST_QUERIES, fail_fast=True)
    ]

    @model_validator(mode="after")
    def _few_reasons(self) -> Batch:
        if sum(query.n for query in self.queries if query.reasons) > MOST_EXPLAINED:
            raise ValueError(f"ask for reasons of at most {MOST_EXPLAINED:,} items: lower n")
        if sum(query.n for query in self.queries if query.diversity) > MOST_DIVERSE:
            raise ValueError(f"ask for at most {MOST_DIVERSE} diverse items: lower n")
        return self


class Event(_Body):
    """Somebody did something with an item, or it is to be forgotten."""

    id: Annotated[
        _Text | None, Field(description="An event with a known id is not stored again.")
    ] = None
    user: Id
    item: Id
    action: Literal["add", "remove"] = "add"
    time: Annotated[
        StrictFloat | None,
        Field(ge=0, lt=1 << 33, allow_inf_nan=False, description="Seconds since 1970; now if null"),
    ] = None


class Events(_Body):
    """Events to store, all or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"events": [{"id": "x1", "user": "ann", "item": "p7", "action": "add"}]}]
        }
    )

    events: Annotated[list[Event], Field(min_length=1, max_length=MOST_EVENTS, fail_fast=True)]


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    hint: str
    errors: list[dict[str, Any]] = []
