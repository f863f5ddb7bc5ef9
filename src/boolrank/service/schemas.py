"""Bodies and parameters of requests, with limits and examples."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple
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
    StringConstraints,
    model_validator,
)


class Limits(NamedTuple):
    """The most of each in one request."""

    n: int = 1_000
    ids: int = 10_000
    reasons: int = 20
    queries: int = 100
    n_together: int = 100  # items per query of a batch
    explained: int = 1_000  # items with reasons in a batch
    events: int = 10_000
    where: int = 2_000  # characters of a filter
    diverse: int = 100  # items of diverse lists, in a batch of all together
    bytes: int = 8 << 20


MOST = Limits()
_MOST_ID = 256  # characters
_MOST_COLUMNS = 10  # with limits per group

# JSON counts 5.0 among the whole numbers.
_whole = BeforeValidator(lambda v: int(v) if type(v) is float and v.is_integer() else v)
_Whole = Annotated[StrictInt, _whole]
EXACT = 1 << 53  # JavaScript rounds larger numbers: they are sent as text
NO_NUL = r"^[^\x00]+$"  # which PostgreSQL does not store
_Text = Annotated[StrictStr, Field(min_length=1, max_length=_MOST_ID, pattern=NO_NUL)]
# Blanks around ids are removed, as in files.
_IdText = StringConstraints(
    strip_whitespace=True, max_length=_MOST_ID, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$"
)
Id = Annotated[StrictStr, _IdText] | Annotated[StrictInt, Field(ge=-EXACT, le=EXACT), _whole]
Ids = Annotated[list[Id], Field(max_length=MOST.ids, fail_fast=True)]


def _decimal(text: Any) -> Any:
    """Return a number without what Python would also read, such as 1_0."""
    return text if not isinstance(text, str) or re.fullmatch(r"-?[0-9]{1,9}", text) else None


_FromUrl = BeforeValidator(_decimal)
N = Annotated[Annotated[int, Field(ge=1, le=MOST.n), _FromUrl], fastapi.Query()]
Reasons = Annotated[Annotated[int, Field(ge=0, le=MOST.reasons), _FromUrl], fastapi.Query()]
Text = Annotated[str, fastapi.Query(max_length=_MOST_ID)]
Where = Annotated[str | None, fastapi.Query(max_length=MOST.where)]
# The guard leaves slashes and percent signs encoded.
PathId = Annotated[str, _IdText, BeforeValidator(unquote), fastapi.Path()]


def _example(*examples: Any, **more: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples), **more})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Query(_Body):
    """Somebody to recommend to: a user, or a list of items."""

    model_config = _example(
        {"items": ["p1", "p2"], "n": 5, "exclude": ["p4"], "reasons": 3},
        {"user": "ann", "n": 5},
        oneOf=[{"required": ["user"]}, {"required": ["items"]}],
    )

    user: Id = Field("", description="A user of the model or of events.")
    items: Ids = Field([], description="The items of somebody unknown.")
    n: _Whole = Field(10, ge=1, le=MOST.n, description="Number of items.")
    exclude: Ids = Field([], description="Items not to recommend.")
    candidates: Ids | None = Field(None, description="The only items to recommend; null for all.")
    exclude_seen: StrictBool = Field(True, description="Leave out the items of the history.")
    where: StrictStr | None = Field(
        None, max_length=MOST.where, description="Filter on columns of the items."
    )
    per: dict[_Text, Annotated[StrictInt, Field(ge=1, le=MOST.n), _whole]] = Field(
        {}, max_length=_MOST_COLUMNS, description="The most items of a group by column."
    )
    diversity: StrictFloat = Field(
        0.0, ge=0, le=1, description="Higher values keep similar items apart."
    )
    reasons: _Whole = Field(0, ge=0, le=MOST.reasons, description="Reasons for each item.")
    strict: StrictBool = Field(False, description="Fail on unknown ids instead of ignoring them.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Query:
        if len(self.model_fields_set & {"user", "items"}) != 1:
            raise ValueError("give either user or items")
        if self.diversity and self.n > MOST.diverse:
            raise ValueError(f"ask for at most {MOST.diverse} diverse items: lower n")
        return self


class BatchQuery(Query):
    """A query of a batch."""

    n: _Whole = Field(10, ge=1, le=MOST.n_together, description="Number of items.")


class Batch(_Body):
    """Several queries."""

    model_config = _example({"queries": [{"user": "ann", "n": 5}, {"items": ["p1"], "n": 5}]})

    queries: list[BatchQuery] = Field(min_length=1, max_length=MOST.queries, fail_fast=True)

    @model_validator(mode="after")
    def _few_reasons(self) -> Batch:
        if sum(query.n for query in self.queries if query.reasons) > MOST.explained:
            raise ValueError(f"ask for reasons of at most {MOST.explained:,} items: lower n")
        if sum(query.n for query in self.queries if query.diversity) > MOST.diverse:
            raise ValueError(f"ask for at most {MOST.diverse} diverse items: lower n")
        return self


class Event(_Body):
    """Somebody did something with an item, or it is to be forgotten."""

    id: _Text | None = Field(None, description="An event with a known id is not stored again.")
    user: Id
    item: Id
    action: Literal["add", "remove"] = "add"
    time: StrictFloat | None = Field(
        None, ge=0, lt=1 << 33, allow_inf_nan=False, description="Seconds since 1970; now if null"
    )


class Events(_Body):
    """Events to store, all or none."""

    model_config = _example(
        {"events": [{"id": "x1", "user": "ann", "item": "p7", "action": "add"}]}
    )

    events: list[Event] = Field(min_length=1, max_length=MOST.events, fail_fast=True)


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    hint: str
    errors: list[dict[str, Any]] = []
