"""What models recommend to one person, and why, as a block of a page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import Example, Listed, Listing, Reasons

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..interactions import Interactions
    from ..recommender import Recommender

__all__ = ["example", "example_users"]

# So many items of a person are shown, and so many reasons.
_SHOWN, _REASONS = 10, 3

Tag = Callable[[Any], tuple[str, bool]]


def example(
    models: Mapping[str, Recommender],
    user: Hashable,
    *,
    n: int = 5,
    title: str = "",
    tags: Sequence[str] = (),
    about: str = "",
    tag: Tag = lambda _: ("", False),
) -> Example:
    """A user's rarest items, the n best of each model, and what speaks for the first of these
    where a model can tell.

    Parameters
    ----------
    models : by name, all fitted on the same interactions
    user : whom to recommend to
    n : how many items
    title, tags, about : how to call the user, and what else is known
    tag : a word about an item, and whether it is a good one
    """
    data = next(iter(models.values())).interactions
    own = data.row(data.users.number(user))
    # The rarest say most about a person.
    rarest = own[np.argsort(data.popularity()[own], kind="stable")][:_SHOWN]
    more = len(own) - len(rarest)
    seen = Listing(
        "has, the rarest first",
        [_listed(data.items[int(item)], tag) for item in rarest],
        f"and {more} more" if more else "",
    )
    advice = [_advice(name, model, user, n, tag) for name, model in models.items()]
    return Example(title or str(user), tags, about, [seen, *advice])


def example_users(data: Interactions, lengths: Sequence[int] = (6, 12, 24)) -> list[Any]:
    """Users with about so many items each: enough to have a taste, few enough to read."""
    own: NDArray[np.int64] = np.diff(data.indptr)
    chosen: list[int] = []
    for length in lengths:
        order = np.argsort(np.abs(own - length), kind="stable")
        chosen += [int(user) for user in order if user not in chosen][:1]
    return [data.users[user] for user in chosen]


def _advice(name: str, model: Recommender, user: Hashable, n: int, tag: Tag) -> Listing:
    found = model.recommend([user], n=n)
    items = found.lists()[0]
    listed = [_listed(k, tag, float(s)) for k, s in zip(items, found.scores[0], strict=False)]
    title = f"`{name}` recommends"
    if not items:
        return Listing(title, [], "nothing that is new")
    explain = getattr(model, "explain", None)
    if explain is None:
        return Listing(title, listed)
    parts = explain(user, items[0])
    shown = [(str(own), add) for own, add in parts[:_REASONS]]
    others = parts[_REASONS:]
    if others:
        shown.append((f"{len(others)} others", sum(add for _, add in others)))
    total = sum(add for _, add in parts)
    return Listing(title, listed, "", Reasons(f"Why {items[0]}?", shown, total))


def _listed(item: Any, tag: Tag, score: float | None = None) -> Listed:
    return Listed(str(item), *tag(item), score)
