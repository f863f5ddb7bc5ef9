"""Events on the command line: files, or a data set by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import InputError
from ._output import console

if TYPE_CHECKING:
    from ..interactions import Interactions

__all__ = ["note_ratings", "read_inputs", "time_in_options"]


def read_inputs(inputs: Sequence[str], **options: str | None) -> Interactions:
    """Interactions from files, or of a data set where the one input is its name and no file's."""
    from ..data.inputs import load_inputs

    events = load_inputs(inputs, None, **options)
    note_ratings(inputs, options)
    return events


def note_ratings(inputs: Sequence[str], options: Mapping[str, str | None]) -> None:
    """Say that ratings in files count whatever their value, where nothing else was asked for."""
    from ..data.inputs import is_name
    from ..events import find_columns
    from ..files import expand, scan_file

    if is_name(inputs) or options.get("positive") is not None:
        return
    user, item, rating = (options.get(role) for role in ("user", "item", "rating"))
    names = list(scan_file(expand(inputs)[0]).schema)
    rating = find_columns(names, user=user, item=item, rating=rating)["rating"]
    if rating is not None:
        text = f"note: every row counts, whatever its {rating!r}; --positive '>= 4' takes some"
        console(stderr=True).print(text, markup=False, soft_wrap=True)


@contextmanager
def time_in_options() -> Iterator[None]:
    """Say in options what to do where data have no time.

    What the library says is for those who have an array of times.
    """
    try:
        yield
    except InputError as error:
        wrong, _, _ = str(error).partition("; ")
        if not wrong.endswith("have no time"):
            raise
        raise InputError(
            f"{wrong}; name their column with --time, or give --order file or --order random"
        ) from error
