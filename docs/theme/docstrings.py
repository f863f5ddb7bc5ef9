"""A griffe extension: convert the docstrings of this package to the numpy style.

Here a doctest follows the text without a heading, and a parameter is one line, ``name :
description``, because its type is in the signature. The numpy style finds examples by their heading
and reads the text after the colon as a type.
"""

import re

import griffe

_FIRST_PROMPT = re.compile(r"^>>> ", re.MULTILINE)
_HEADING = "Examples\n--------\n"
_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(?:.+\n?)+", re.MULTILINE)
_ONE_LINE = re.compile(r"^([\w, ]+) : (.+)", re.MULTILINE)


def as_numpy_has_it(text: str) -> str:
    """Return a docstring with a heading before its doctest and descriptions on their own lines."""
    text = _SECTION.sub(lambda section: _ONE_LINE.sub(r"\1\n    \2", section[0]), text)
    if _HEADING in text:
        return text
    return _FIRST_PROMPT.sub(lambda prompt: _HEADING + prompt[0], text, count=1)


class HouseStyle(griffe.Extension):
    """Rewrite the docstring of each object of the package."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Edit the docstring of one object of the package."""
        if obj.docstring:
            obj.docstring.value = as_numpy_has_it(obj.docstring.value)
