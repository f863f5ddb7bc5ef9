"""Run the paper's experiments; a run that was stopped continues from its cached results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.inputs import find_dataset
from ..data.splits import Split
from ..errors import ParameterError
from ..evaluation.result import Evaluation
from ..kernels import parse_kernel
from ..kernels.expressiveness import PairSpectrum
from ..models.spec import ModelSpec
from ..report.page import claim_folder
from ..studies import Experiment, run_experiment
from ..studies.arity import Curve, family, spectral_curve
from ..studies.run import machine
from .published import PAPER, PaperSet

_METRICS = ("auc", "map@10", "ndcg@10")
# Denser where the curves bend, with the paper's best arities among them.
_ARITIES = {
    "disjunctive": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 34, 38, 48, 64, 80, 100, 116, 150),
    "conjunctive": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16),
}


@dataclass(frozen=True, eq=False)
class SetResult:
    """The results on one data set; evaluations are by kernel."""

    paper: PaperSet
    source: str  # name of a data set, or a file
    split: Split
    evaluations: Mapping[str, Evaluation]
    curves: Sequence[Curve]
    ratio: float  # spectral ratio of the monotone DNF kernel


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Results by data set, sets that were not measured with the reason, and the machine."""

    sets: Sequence[SetResult]
    missing: Sequence[tuple[PaperSet, str]]
    seed: int
    machine: Mapping[str, Any]


def reproduce(
    out: str | Path,
    datasets: Sequence[str] = (),
    *,
    sweep: bool = True,
    costs: bool = False,
    arities: Sequence[int] = (),
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Reproduction:
    """Run the paper's experiments on data sets of this machine.

    Results in ``out`` are not computed again. ``datasets`` are names, by default of all the paper's
    that are here; ``"netflix=ratings.csv"`` measures a file, or another data set, in place of the
    paper's. ``sweep`` measures AUC against the arity, ``costs`` memory, each kernel of the table in
    a process of its own. ``folder`` has the data sets, see `load_dataset`.
    """

    def run(
        paper: PaperSet, what: str, kernels: Iterable[str], parts: Split | None
    ) -> tuple[Split, dict[str, Evaluation]]:
        """Return the split and the evaluations by kernel."""
        title, source = f"{paper.title}, {what}", sources[paper.dataset]
        models = {text: ModelSpec("kernel-ranker", {"kernel": text}) for text in kernels}
        specs = tuple(models.values())
        progress(title)
        found = run_experiment(
            Experiment((source,), specs, paper.protocol, metrics=_METRICS, seed=seed),
            out,
            split=parts,
            data_folder=folder,
            n_threads=n_threads,
            alone=costs and what == "table",
            progress=lambda done, total, last: progress(f"{title}: {done} of {total} ({last})"),
        )
        return found.split, {text: found.evaluations[str(each)] for text, each in models.items()}

    def measure(paper: PaperSet) -> SetResult:
        parts, found = run(paper, "table", paper.kernels.values(), None)
        pairs, curves = PairSpectrum.of(parts.data.T.matrix()), []
        for name, usual in _ARITIES.items():
            some = arities or usual
            swept = run(paper, f"{name} sweep", family(name, some), parts)[1] if sweep else {}
            curves.append(spectral_curve(pairs, name, some, swept))
        ratio = pairs.ratio(parse_kernel("monotone_dnf").normalized())
        return SetResult(paper, sources[paper.dataset], parts, found, curves, ratio)

    sources = dict(_source(each) for each in datasets or PAPER)
    absent = {
        name: "It is not on this machine."
        for name, source in sources.items()
        if source == name and not find_dataset(name).is_here(folder)
    }
    if absent and (datasets or len(absent) == len(sources)):
        raise find_dataset(next(iter(absent))).missing(folder)
    if not datasets:
        absent |= {name: each.by_name for name, each in PAPER.items() if each.by_name}
    claim_folder(out, "reproduce")
    sets = [measure(PAPER[name]) for name in sources if name not in absent]
    missing = [(PAPER[name], absent[name]) for name in sources if name in absent]
    return Reproduction(sets, missing, seed, machine())


def _source(text: str) -> tuple[str, str]:
    """Return the name of a set of the paper, and the data to measure, by default of that name."""
    name, _, source = text.partition("=")
    find_dataset(name)  # raises if there is no such data set
    if name not in PAPER:
        raise ParameterError(
            f"the paper has no results on {name!r}, only on {', '.join(PAPER)}",
            hint=f"use `boolrank evaluate {name}`",
            parameter="datasets",
        )
    if source and PAPER[name].protocol != "paper":
        raise ParameterError(
            f"{name} is a split of its own, and has no other data", parameter="datasets"
        )
    return name, source or name
