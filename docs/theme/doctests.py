"""A griffe extension: the reference shows a docstring's doctest as an example.

In the source a doctest follows the text without a heading, which is short and reads well; the numpy
style knows it by the heading "Examples" only, and would take its prompts for quotations.
"""

import re

import griffe

_FIRST_PROMPT = re.compile(r"^>>> ", re.MULTILINE)
_HEADING = "Examples\n--------\n"


class DoctestsAreExamples(griffe.Extension):
    """Put the heading before the first prompt of each docstring that has no such heading."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Edit the docstring of one object of the package."""
        if obj.docstring and _HEADING not in obj.docstring.value:
            obj.docstring.value = _FIRST_PROMPT.sub(
                lambda prompt: _HEADING + prompt[0], obj.docstring.value, count=1
            )
