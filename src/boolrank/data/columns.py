"""The columns of users, items, times and ratings: usual names, and how they are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..errors import InputError, ParameterTypeError

# Usual names by role, first those that are taken before the others. Case, blanks, punctuation and
# these ends do not matter: "Customer ID" and "customer" are one name; "customer_name" comes after.
USUAL_NAMES = {
    "user": (
        "user uid customer client buyer account member visitor reviewer shopper subscriber student",
        "person session email mail",
    ),
    "item": (
        "item iid product movie film book sku stockcode article track song game asin isbn business",
        "title parentasin",
    ),
    "time": (
        "time timestamp ts date datetime day when eventtime eventdate eventtimestamp",
        "purchasedate purchasetime orderdate ordertime invoicedate createdat unixreviewtime",
    ),
    "rating": ("rating ratings stars score", "overall value liked like vote"),
}
_ENDS = ("", "id", "no", "nr", "number", "name", "title")
_RANKS = {
    role: {name: rank for rank, names in enumerate(ranks) for name in names.split()}
    for role, ranks in USUAL_NAMES.items()
}


def find_columns(
    names: Sequence[str], positive: str | None = None, **given: str | None
) -> dict[str, str | None]:
    """Return the column of each role: the given one, or the only one with a usual name.

    Raise if two have a usual name, or if the user, the item, or the rating that ``positive`` needs
    is asked for and not found.

    >>> find_columns(["userId", "username", "movieId", "stars"], user=None, item=None, rating=None)
    {'user': 'userId', 'item': 'movieId', 'rating': 'stars'}
    """
    needed = ("user", "item") if positive is None else ("user", "item", "rating")
    found: dict[str, str | None] = dict.fromkeys(given)
    for role, name in given.items():
        some = likely(names, role) if name is None else [each for each in names if each == name]
        if name is not None and not some:
            raise InputError(
                f"there is no column {name!r} for the {role}",
                hint=f"there are {list(names)}",
                parameter=role,
            )
        check_names(some)
        if len(some) == 1:
            found[role] = some[0]
        elif some and (role != "rating" or positive is not None):
            raise InputError(
                f"{len(some)} columns look like the {role}: {' and '.join(map(repr, some))}",
                hint="name one of them",
                parameter=role,
            )
    missing = [role for role in needed if role in found and found[role] is None]
    if missing:
        raise InputError(
            f"no column looks like the {' or the '.join(missing)}",
            hint=f"name {'it' if len(missing) == 1 else 'them'}; there are {list(names)}",
            parameter=missing[0],
        )
    if "item" in found and found["user"] == found["item"]:
        problem = f"user and item are the same column, {found['user']!r}"
        raise InputError(problem, hint="name two columns")
    return found


def likely(names: Sequence[str], role: str) -> list[str]:
    """Return the columns with the best rank of the usual names of a role."""
    ranked: dict[tuple[int, bool], list[str]] = {}
    for name in names:
        plain = re.sub(r"[\W_]", "", name.lower())
        for later, end in enumerate(_ENDS):
            rank = _RANKS[role].get(plain.removesuffix(end))
            if rank is not None:
                ranked.setdefault((rank, later > 1), []).append(name)
                break
    return ranked[min(ranked)] if ranked else []


def opened(frame: Any, what: str, other: str) -> Any:
    """Return a frame as narwhals has it, eager, and other objects with an Arrow stream unchanged.

    Raise unless column names are distinct texts. ``what`` and ``other``, another way to pass the
    data, are for messages.
    """
    import narwhals as nw

    try:
        table: Any = nw.from_native(frame, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        check_names(getattr(frame, "column_names", None) or list(frame.columns))
        raise
    is_stream = hasattr(frame, "__arrow_c_stream__") and not isinstance(table, nw.Series)
    if isinstance(table, nw.LazyFrame) and not is_stream:
        table = table.collect()
    if isinstance(table, nw.DataFrame):
        check_names(table.columns)
    elif not is_stream:
        raise ParameterTypeError(
            f"{what} are a frame or an Arrow stream, not {type(frame).__name__}",
            hint=f"make a pandas, polars or pyarrow frame, or use {other}",
        )
    return table if isinstance(table, nw.DataFrame) else frame


def check_names(names: Sequence[Any]) -> None:
    """Raise if columns share a name, or if one is not text."""
    for name, count in Counter(names).items():
        if not isinstance(name, str):
            hint = "rename it: frame.columns = frame.columns.astype(str)"
            raise InputError(f"a column is named {name!r}, which is not text", hint=hint)
        if count > 1:
            hint = "rename or remove one of them"
            raise InputError(f"{count} columns are named {name!r}", hint=hint)
