"""Tags of items, from columns of the item table, as variables of kernels and as reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.item_columns import Numbers, Words
from ..data.items import ItemTable
from ..data.packing import packed_texts
from ..data.rows import Rows
from ..errors import InputError
from ..kernels import Bound, Kernel
from ..matrix import Tags, distinct_sets
from .scorer import Floats, Items


@dataclass(frozen=True)
class SharedTags:
    """Tags that an item shares with some items of a profile, and the number of its tags.

    >>> print(SharedTags("genres", ("war", "western"), 3))
    genres: war, western, 2 of 3 shared
    """

    column: str
    tags: tuple[str, ...]
    total: int

    def __str__(self) -> str:
        names = f"{', '.join(self.tags)}, {len(self.tags)}" if self.tags else "none"
        return f"{self.column}: {names} of {self.total} shared"


def tag_columns(kernel: Kernel, data: Interactions) -> dict[str, Words]:
    """Return the tags that a kernel is bound to, in the order of the items."""
    names = [name for name in kernel.variables if name]
    if names and data.table is None:
        raise InputError(
            f"{kernel} is over {', '.join(names)}, and there is no table of items",
            hint="fit with a table of items that has these columns",
            parameter="kernel",
        )
    table: ItemTable = data.table  # type: ignore[assignment]  # see above
    return {name: _tags(table, name).take(table.ids.find(data.items)) for name in names}


def tag_table(table: ItemTable, names: list[str]) -> ItemTable:
    """Return a table with some columns of tags alone, as sets."""
    columns = {name: replace(_tags(table, name), type="set") for name in names}
    return replace(table, columns=columns, title=None)


def _tags(table: ItemTable, name: str) -> Words:
    """Return a column of sets or text, or 0/1 columns joined to one column of sets.

    Patterns of 0/1 columns are separated by |; the names of columns are the tags.
    """
    from scipy.sparse import csr_array

    chosen = [each for each in table.columns if _matches(each, name)]
    columns = {each: table.columns[each] for each in chosen} or {name: table.column(name, "kernel")}
    first, *others = columns.values()
    if isinstance(first, Words) and first.words and not others:
        return first
    for each, column in columns.items():
        if not (isinstance(column, Numbers) and np.isin(column.values, (0, 1)).all()):
            sets = [key for key, other in table.columns.items() if other.type == "set"]
            raise InputError(
                f"the column {each!r} ({column.type}) of {table.source} has no tags",
                hint="tags are sets, text, or columns of 0 and 1"
                + (f"; there are {', '.join(sets)}" if sets else ""),
                parameter="kernel",
            )
    names = sorted(columns)
    on = csr_array(np.column_stack([columns[each].values for each in names]))
    rows = Rows(on.indptr.astype(np.int64), on.indices.astype(np.int32))
    return Words("set", *packed_texts(names), *rows)


def _matches(column: str, name: str) -> bool:
    return column == name or any(fnmatchcase(column, each) for each in name.split("|"))


@dataclass(frozen=True, eq=False)
class TagSets:
    """A column of tags by its distinct sets, to explain scores.

    Attributes
    ----------
    sets : (t, n) distinct sets of tags as sparse rows of 0 and 1
    numbers : (m,) the set of each item
    """

    column: str
    words: Words
    sets: Any
    numbers: NDArray[np.int64]

    @staticmethod
    def of(column: str, words: Words) -> TagSets:
        first, numbers = distinct_sets(words.rows)
        return TagSets(column, words, Tags(words.rows, len(words.words)).matrix(first), numbers)

    def values(self, term: Bound, own: Items, item: int) -> tuple[Floats, float]:
        """Return the normalised values of an item with others, and the mean with all but itself."""
        number, counts = self.numbers[item], np.bincount(self.numbers)
        values = term.normalized()(self.sets[[number]], self.sets)[0]
        mean = (counts @ values - values[number]) / len(self.numbers)
        return np.where(own == item, 1.0, values[self.numbers[own]]), float(mean)

    def shared(self, own: Items, item: int, parts: Floats) -> dict[SharedTags, float]:
        """Return the sum of parts by the tags that items share with one."""
        tags = set(self.words.rows.row(item).tolist())
        numbers, places = np.unique(self.numbers[own], return_inverse=True)
        reasons: dict[SharedTags, float] = {}
        for number, part in zip(numbers, np.bincount(places, parts).tolist(), strict=True):
            common = sorted(tags.intersection(self.sets[[number]].indices.tolist()))
            names = tuple(self.words.words[tag] for tag in common)
            reason = SharedTags(self.column, names, len(tags))
            reasons[reason] = reasons.get(reason, 0.0) + part
        return reasons
