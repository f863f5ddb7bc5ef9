"""What a shell offers for an option when Tab is pressed: names that the library knows.

They are looked up only then, so that a command does not start slower for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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


def _kernels() -> Iterable[str]:
    from ..kernels import KERNELS

    return KERNELS


def _sets() -> Iterable[str]:
    from ..data import DATASETS

    return [*DATASETS, "synthetic"]


def _paper_sets() -> Iterable[str]:
    from ..experiments.paper import PAPER

    return PAPER


def _metrics() -> Iterable[str]:
    from ..evaluation import METRICS

    cuts = {"none": ("",), "optional": ("", "@10"), "needed": ("@10",)}
    return [name + cut for name, metric in METRICS.items() for cut in cuts[metric.cut]]


def _models() -> Iterable[str]:
    from ..models import MODELS

    return MODELS


def _protocols() -> Iterable[str]:
    from ..data.protocols import SPLITS
    from ..experiments.experiment import PUBLISHED

    return [*SPLITS, PUBLISHED]


def _storages() -> Iterable[str]:
    from ..matrix import STORAGES

    return STORAGES


kernels = _completing(_kernels)
metrics = _completing(_metrics)
models = _completing(_models)
orders = _completing(lambda: ("time", "random"))
paper_sets = _completing(_paper_sets)
protocols = _completing(_protocols)
sets = _completing(_sets, least=1)
storages = _completing(_storages)
