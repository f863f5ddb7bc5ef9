"""What a shell offers for an option when Tab is pressed: names that the library knows.

They are looked up only then, so that a command does not start slower for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

__all__ = ["kernels", "metrics", "models", "orders", "paper_sets", "protocols", "sets", "storages"]

Complete = Callable[[str], list[str]]


def _completing(names: Callable[[], Iterable[str]], least: int = 0) -> Complete:
    """Completion by names; in a list with commas, of its last part.

    Below the ``least`` number of letters nothing is offered, and shells then offer files.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        if len(last) < least:
            return []
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete


def _table(module: str, name: str) -> Callable[[], Iterable[str]]:
    """The keys of a table of the library."""
    return lambda: getattr(import_module(f"boolrank.{module}"), name)


def _sets() -> Iterable[str]:
    from ..data import DATASETS

    return [*DATASETS, "synthetic"]


def _metrics() -> Iterable[str]:
    from ..evaluation import METRICS

    cuts = {"none": ("",), "optional": ("", "@10"), "needed": ("@10",)}
    return [name + cut for name, metric in METRICS.items() for cut in cuts[metric.cut]]


def _protocols() -> Iterable[str]:
    from ..data.protocols import SPLITS
    from ..studies.experiment import PUBLISHED

    return [*SPLITS, PUBLISHED]


kernels = _completing(_table("kernels", "KERNELS"))
metrics = _completing(_metrics)
models = _completing(_table("models", "MODELS"))
orders = _completing(lambda: ("time", "file", "random"))
paper_sets = _completing(_table("paper.published", "PAPER"))
protocols = _completing(_protocols)
sets = _completing(_sets, least=1)
storages = _completing(_table("matrix", "STORAGES"))
