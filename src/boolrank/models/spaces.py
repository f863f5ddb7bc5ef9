"""Search spaces by model name. To be removed."""

from __future__ import annotations

from typing import Any

from ..data.interactions import Interactions
from .registry import MODELS, find_model
from .search import Arity, Kernels, Range, Real, Whole

SPACES = MODELS
__all__ = ["SPACES", "Arity", "Kernels", "Range", "Real", "Whole", "draw", "space_of"]


def space_of(name: str) -> dict[str, Range]:
    """Return ranges by parameter."""
    return find_model(name).space


def draw(space: dict[str, Range], trial: Any, train: Interactions) -> dict[str, Any]:
    """Draw from all ranges."""
    return {name: each.draw(trial, name, train) for name, each in space.items()}
