"""A saved model on the command line, and ids there: text, to be matched to the model's type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ParameterError, UnknownIdError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ranker import KernelRanker
    from ..vocabulary import Vocabulary

__all__ = ["known_ids", "listed_ids", "open_model", "plain"]


def open_model(path: Path, threads: int | None = None) -> KernelRanker:
    """The model in a folder, checked."""
    from ..ranker import KernelRanker

    return KernelRanker.load(path, n_threads=threads)


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
