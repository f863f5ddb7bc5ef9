"""Shell completion of names that the library knows, looked up when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

__all__ = ["COMPLETIONS"]


def _keys(module: str, name: str) -> Callable[[], Iterable[str]]:
    return lambda: getattr(import_module(f"boolrank.{module}"), name)


def _metrics() -> Iterable[str]:
    from ..evaluation import METRICS

    cuts = {"none": ("",), "optional": ("", "@10"), "needed": ("@10",)}
    return [name + cut for name, metric in METRICS.items() for cut in cuts[metric.cut]]


def _complete(
    names: Callable[[], Iterable[str]], *more: str, least: int = 0
) -> Callable[[str], list[str]]:
    """Return a completion by names, in a list with commas of its last part.

    Below ``least`` letters nothing is offered, and shells offer files instead.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        if len(last) < least:
            return []
        return [before + comma + name for name in (*names(), *more) if name.startswith(last)]

    return complete


COMPLETIONS = {
    "kernels": _complete(_keys("kernels", "KERNELS")),
    "metrics": _complete(_metrics),
    "models": _complete(_keys("models", "MODELS")),
    "orders": _complete(lambda: ("time", "file", "random")),
    "paper_sets": _complete(_keys("paper.published", "PAPER")),
    "protocols": _complete(_keys("data.protocols", "SPLITS"), "published"),
    "sets": _complete(_keys("data", "DATASETS"), "synthetic", least=1),
}
