"""Compile loops before they are needed: on request, or in a process beside a race.

Loops are compiled when they are first used, and kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._compiled.ranges import most_threads
from ..data.interactions import Interactions
from ..data.protocols import hold_out
from ..data.synthetic import synthetic
from ..engines.worker import Worker
from ..evaluation.folds import evaluate_fold, rank_fold
from ..kernels import Disjunctive
from ..kernels.expressiveness import spectral_ratio
from ..models.kernel_ranker import KernelRanker
from ..models.popularity import Popularity
from ..models.registry import MODELS
from ..models.simplex_scorer import MANY
from ..models.spec import ModelSpec
from ..storage.output import obstacle
from .families import FAMILIES

Tell = Callable[[str], None]


def compile_ahead(
    progress: Tell = lambda _: None, everything: bool = False, *, backwards: bool = False
) -> None:
    """Use compiled loops once on a little data.

    These are the loops of the models that `choose` compares, ``backwards`` those of the last one
    first; and with ``everything`` those of all models, of compressed matrices, explanations and
    expressiveness.
    """
    progress("compiling rows")
    Interactions.from_pairs([1, 2], [2, 1]).T.popularity()
    # With this many users kernels build long tables, and lists come from few items of many.
    data = synthetic(2_000, 300, 12_000)
    fold = hold_out(data, most=50)[0]
    specs = [spec for family in FAMILIES for spec in family.first_settings(with_times=True)]
    if everything:
        specs += [ModelSpec(name) for name, entry in MODELS.items() if entry.available]
    models = [spec.make() for spec in dict.fromkeys(reversed(specs) if backwards else specs)]
    if everything:
        models += [KernelRanker(storage="compressed"), KernelRanker("threshold(2, 3)")]
    for model in models:
        progress(f"compiling {type(model).__name__}")
        model.fit(fold.train)
        rank_fold(model, fold)  # as the choice does
        model.recommend(n=5)
    progress("compiling metrics")
    evaluate_fold(Popularity(), fold)
    if everything:
        progress("compiling batches")
        large = synthetic(MANY // 8_000, 8_200, 20_000)
        KernelRanker(storage="compressed").fit(large).recommend(n=5)
        progress("compiling expressiveness")
        spectral_ratio(Disjunctive(2), data.T.matrix())


@contextmanager
def compiled_beside() -> Iterator[None]:
    """Compile the loops of a race in a process beside it, on a machine that has none yet.

    It begins with the last model, so both meet halfway.
    """
    from .._compiled.compiler import cache_folder

    folder = cache_folder()
    done = folder is None or any(folder.glob("simplex.*.nbc")) or obstacle(folder)
    if done or most_threads() == 1:
        yield
        return
    worker = Worker(start_compiler, {})
    worker.begin()
    try:
        yield
    finally:
        worker.end()


def start_compiler(_about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Compile at the start of a worker process, which has no questions to answer."""
    compile_ahead(backwards=True)
    return dict
