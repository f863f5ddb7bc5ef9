"""What the demonstration finds out: numbers only, for whoever prints or draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.protocols import paper_protocol
from ..evaluation.folds import evaluate
from ..experiments import Experiment, RankerSpec
from ..experiments.arities import family
from ..experiments.run import run_experiment
from ..expressiveness import PairSpectrum
from ..kernels import parse_kernel
from ..models import Popularity
from ..report.results import arity_curves

if TYPE_CHECKING:
    from ..data.splits import Split
    from ..evaluation.result import Evaluation
    from ..experiments.arities import Curve
    from ..report.blocks import Example
    from .people import Hits
    from .tastes import PlantedTastes

__all__ = [
    "ARITIES",
    "POPULARITY",
    "RANKED",
    "SHOWN",
    "THREADS",
    "Findings",
    "measure",
    "spectral_ratios",
]

# The kernels that are compared, with popularity beside them.
RANKED = ("linear", "disjunctive(4)")
POPULARITY = "popularity"
# Data this small are through before a second thread has started.
THREADS = 1

# Denser where the curves bend. No conjunction of more variables tells these films apart better.
ARITIES = {"disjunctive": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64), "conjunctive": (1, 2, 3, 4, 6, 8)}

# One of every kernel, by text name, with parameters that make sense for a few hundred users.
SHOWN = (
    "linear",
    "polynomial(3, offset=1)",
    "all_subset",
    "conjunctive(2)",
    "tanimoto",
    "dnf(weight=0.01)",
    "monotone_dnf(weight=0.1)",
    "disjunctive(4)",
    "threshold(2, 8)",
    "literal_conjunctive(2)",
    "literal_disjunctive(2)",
    "composed_dnf(2, 2)",
    "composed_cnf(2, 2)",
)


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that was found.

    Attributes
    ----------
    seed, data : what was drawn
    split, evaluations : how the compared models rank, by name
    curves : AUC and spectral ratio of both families of kernels, against the arity
    ratios : the spectral ratio of every kernel
    people : three viewers, with what is recommended to them, and why
    hits : how often recommendations are of a taste that the viewer likes
    seconds : how long all this took
    """

    seed: int
    data: PlantedTastes
    split: Split
    evaluations: dict[str, Evaluation]
    curves: list[Curve]
    ratios: list[tuple[str, float]]
    people: list[Example]
    hits: list[Hits]
    seconds: float


def measure(
    data: PlantedTastes, seed: int, progress: Callable[[str], None]
) -> tuple[Split, dict[str, Evaluation], list[Curve]]:
    """By the paper's protocol, the compared models and kernels of each arity.

    Overlaps are counted once a fold, for all kernels.
    """
    split = paper_protocol(data.events, seed=seed)
    swept = [text for name, arities in ARITIES.items() for text in family(name, arities)]
    models = tuple(RankerSpec(text) for text in (*RANKED, *swept))
    run = run_experiment(
        Experiment(("planted tastes",), models, seed=seed),
        split=split,
        n_threads=THREADS,
        progress=lambda done, total, what: progress(f"measuring: {done} of {total}, {what}"),
    )
    compared = {POPULARITY: evaluate(Popularity(), split, n_threads=THREADS)}
    compared |= {text: run.evaluations[text] for text in RANKED}
    progress("measuring how expressive kernels are")
    return split, compared, arity_curves(run)


def spectral_ratios(data: PlantedTastes) -> list[tuple[str, float]]:
    """Every kernel with its normalised spectral ratio, the least expressive first."""
    pairs = PairSpectrum.of(data.events.T.matrix())  # the pairs are counted once, for all kernels
    # Of the normalised kernel: a raw one says more about popularity than about the features.
    found = [(text, pairs.ratio(parse_kernel(text).normalized())) for text in SHOWN]
    return sorted(found, key=lambda pair: pair[1])
