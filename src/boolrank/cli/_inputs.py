"""What arguments stand for: events, in files or a data set by its name, and ids of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ParameterError, UnknownIdError
from ._output import say

if TYPE_CHECKING:
    from ..data.interactions import Interactions
    from ..data.vocabulary import Vocabulary

__all__ = ["known_ids", "listed_ids", "note_ratings", "plain", "read_inputs", "time_in_options"]


def read_inputs(inputs: Sequence[str], **options: str | None) -> Interactions:
    """Interactions from files, or of a data set where the one input is its name and no file's."""
    from ..data.inputs import load_inputs

    events = load_inputs(inputs, None, file_order=False, **options)
    note_ratings(inputs, options)
    return events


def note_ratings(inputs: Sequence[str], options: Mapping[str, str | None]) -> None:
    """Say that ratings in files count whatever their value, where nothing else was asked for."""
    from ..data.events import find_columns
    from ..data.files import expand, scan_file
    from ..data.inputs import is_name

    if is_name(inputs) or options.get("positive") is not None:
        return
    user, item, rating = (options.get(role) for role in ("user", "item", "rating"))
    names = list(scan_file(expand(inputs)[0]).schema)
    rating = find_columns(names, user=user, item=item, rating=rating)["rating"]
    if rating is not None:
        say(f"note: every row counts, whatever its {rating!r}; --positive '>= 4' takes some")


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


def listed(text: str) -> list[str]:
    """Ids of ``id,id,...``, or the lines of a file after ``@``."""
    parts = text.split(",")
    if text.startswith("@"):
        try:
            parts = Path(text[1:]).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"the ids in {text[1:]!r} cannot be read: {error}; after @ comes the name of a "
                "text file with one id a line"
            ) from None
    ids = [part.strip() for part in parts if part.strip()]
    if not ids:
        raise ParameterError(f"there are no ids in {text!r}; leave the option out for everybody")
    return ids


def known_ids(vocabulary: Vocabulary, texts: Iterable[str]) -> list[Any]:
    """The ids that the texts stand for; an error for one that the model does not have."""
    return [vocabulary[vocabulary.number(vocabulary.parsed(text))] for text in texts]


def listed_ids(vocabulary: Vocabulary, text: str) -> list[Any]:
    """The ids of ``id,id,...`` or ``@file``."""
    try:
        return known_ids(vocabulary, listed(text))
    except UnknownIdError as error:
        if "," in text and not text.startswith("@"):
            error.add_note("ids with a comma can stand in a file, one a line: @file")
        raise


def plain(key: Any) -> Any:
    """An id as JSON and tables have it: numbers and text as they are, others as text."""
    return key if isinstance(key, int | str) else str(key)
