"""How much the tests try: continuous integration has more time than somebody who waits."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("CI") == "true"


def tries(number: int) -> int:
    """Return this number of examples, or a third of it unless there is time for all."""
    return number if THOROUGH else -(-number // 3)
