"""Run the paper's experiments; a run that was stopped continues from its cached results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..counts.overlaps import Overlaps
from ..data.dataset import Size
from ..data.inputs import find_dataset
from ..data.interactions import Interactions
from ..data.splits import Split
from ..data.synthetic import synthetic
from ..engines.threads import threads
from ..errors import ParameterError
from ..evaluation.folds import DEFAULT_METRICS
from ..evaluation.result import Evaluation
from ..kernels import parse_kernel
from ..kernels.expressiveness import PairSpectrum
from ..matrix import kernel_matrix
from ..models.kernel_ranker import KernelRanker
from ..models.spec import ModelSpec
from ..report.output import claim_folder
from ..studies.arity import Curve, family, measured_curve
from ..studies.experiment import Experiment
from ..studies.machine import machine
from ..studies.run import run_experiment
from .published import COLUMNS, PAPER, Figure, PaperSet, Reading

__all__ = ["CONJUNCTIVE", "DISJUNCTIVE", "Reproduction", "Row", "SetResult", "reproduce"]

# Denser where the curves bend, with the paper's best arities among them.
DISJUNCTIVE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 34, 38, 48, 64, 80, 100, 116, 150)
CONJUNCTIVE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
_REPEATS = 5  # of timings; the shortest counts, as other load only adds to it
_FAR = 2.0  # differences of more than this many of the paper's deviations are marked

Told = Callable[[str], None]


class Row(NamedTuple):
    """Our result for a kernel and the paper's; ``reason`` is the known reason for a difference."""

    column: str
    kernel: str
    means: dict[str, float]
    deviations: dict[str, float]
    paper: Figure
    reason: str

    @property
    def difference(self) -> float:
        return self.means["auc"] - self.paper.auc

    @property
    def far(self) -> bool:
        """Whether the difference is beyond two of the paper's deviations."""
        return abs(self.difference) > _FAR * self.paper.deviation


class Timing(NamedTuple):
    """Seconds for counting overlaps, for the kernel matrix, and for ranking a fold."""

    overlaps: float
    matrix: float
    rank: float


@dataclass(frozen=True, eq=False)
class SetResult:
    """The results on one data set.

    Attributes
    ----------
    paper, split : the paper's results, and our folds
    expected : the published size, as text, if the data at hand differ
    evaluations : by column of the paper's table
    readings : evaluations by other readings of the protocol
    curves : AUC and spectral ratio against the arity
    ratio : spectral ratio of the monotone DNF kernel
    timing : of the disjunctive kernel
    """

    paper: PaperSet
    split: Split
    expected: str
    evaluations: Mapping[str, Evaluation]
    readings: Sequence[tuple[Reading, Mapping[str, Evaluation]]]
    curves: Sequence[Curve]
    ratio: float
    timing: Timing

    @property
    def rows(self) -> list[Row]:
        """Our results and the paper's."""
        return [
            Row(
                column,
                self.paper.kernel(column),
                each.means,
                each.deviations,
                self.paper.figures[column],
                self.paper.reason(column),
            )
            for column, each in self.evaluations.items()
        ]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Results by data set, sets that were not measured with the reason, and the machine."""

    sets: Sequence[SetResult]
    missing: Sequence[tuple[PaperSet, str]]
    seed: int
    machine: Mapping[str, Any]


def reproduce(
    out: str | Path,
    datasets: Iterable[str] | None = None,
    *,
    sweep: bool = True,
    disjunctive: Sequence[int] = DISJUNCTIVE,
    conjunctive: Sequence[int] = CONJUNCTIVE,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Told = lambda _: None,
) -> Reproduction:
    """Run the paper's experiments on data sets of this machine.

    Parameters
    ----------
    out : folder for results, which are not computed again
    datasets : names; all of the paper's that are here if None
    sweep : whether to measure AUC against the arity
    disjunctive, conjunctive : arities of the curves
    seed : of folds and random orders
    folder : of the data sets, see `load_dataset`
    n_threads : all by default
    progress : gets the current step
    """
    chosen = list(PAPER) if datasets is None else [_known(name) for name in datasets]
    if not chosen:
        raise ParameterError(
            "no data set is given", hint=f"choose from {', '.join(PAPER)}", parameter="datasets"
        )
    here = {name: not PAPER[name].hidden and find_dataset(name).is_here(folder) for name in chosen}
    absent = [name for name in here if not here[name]]
    if absent and (datasets is not None or len(absent) == len(here)):
        raise find_dataset(absent[0]).missing(folder)
    claim_folder(out, "reproduce")
    progress("loading compiled loops (the first run on a machine compiles for a while)")
    _warm_up(n_threads)
    arities = {"disjunctive": tuple(disjunctive), "conjunctive": tuple(conjunctive)}
    sets = [
        _Lab(Path(out), PAPER[name], seed, folder, n_threads, progress).measure(arities, sweep)
        for name in here
        if here[name]
    ]
    absences = [
        (PAPER[name], PAPER[name].hidden or "It is not on this machine.") for name in absent
    ]
    return Reproduction(sets, absences, seed, machine())


@dataclass(frozen=True)
class _Lab:
    """Measures one data set."""

    out: Path
    paper: PaperSet
    seed: int
    folder: str | Path | None
    n_threads: int | None
    progress: Told

    def measure(self, arities: Mapping[str, Sequence[int]], sweep: bool) -> SetResult:
        paper = self.paper
        kernels = [paper.kernel(column) for column in COLUMNS]
        split, found = self._run(kernels, "table")
        readings = []
        for reading in paper.readings:
            metric = [reading.metric]
            _, values = self._run(kernels, reading.title, None, metric, **reading.split)
            readings.append((reading, dict(zip(COLUMNS, values.values(), strict=True))))
        curves = []
        pairs = PairSpectrum.of(split.data.T.matrix())
        for name, some in arities.items():
            swept = self._run(family(name, some), f"{name} sweep", split)[1] if sweep else {}
            curves.append(measured_curve(name, some, pairs, swept))
        self.progress(f"{paper.title}: spectral ratios and times")
        return SetResult(
            paper,
            split,
            _expected(paper.dataset, split.data),
            dict(zip(COLUMNS, found.values(), strict=True)),
            readings,
            curves,
            pairs.ratio(parse_kernel("monotone_dnf").normalized()),
            self._timing(split.data, found[paper.kernel("disjunctive")]),
        )

    def _run(
        self,
        kernels: Sequence[str],
        what: str,
        split: Split | None = None,
        metrics: Iterable[str] = DEFAULT_METRICS,
        **options: Any,
    ) -> tuple[Split, dict[str, Evaluation]]:
        """Return the split and the evaluations by kernel."""
        title, where = self.paper.title, (self.paper.dataset,)
        models = tuple(ModelSpec("kernel-ranker", {"kernel": text}) for text in kernels)
        self.progress(f"{title}, {what}")
        run = run_experiment(
            Experiment(where, models, self.paper.protocol, options, tuple(metrics), self.seed),
            self.out,
            split=split,
            data_folder=self.folder,
            n_threads=self.n_threads,
            progress=lambda done, total, last: self.progress(
                f"{title}, {what}: {done} of {total} ({last})"
            ),
        )
        return run.split, {
            text: run.evaluations[str(model)] for text, model in zip(kernels, models, strict=True)
        }

    def _timing(self, data: Interactions, found: Evaluation) -> Timing:
        kernel = parse_kernel(self.paper.kernel("disjunctive"))
        counting, filling = [], []
        for _ in range(_REPEATS):
            begin = time.perf_counter()
            overlaps = Overlaps.of(data, self.n_threads)
            counted = time.perf_counter()
            with threads(self.n_threads):
                kernel_matrix(kernel, overlaps)
            counting.append(counted - begin)
            filling.append(time.perf_counter() - counted)
        return Timing(min(counting), min(filling), min(fold.rank_seconds for fold in found.folds))


def _known(name: str) -> str:
    if name not in PAPER:
        find_dataset(name)  # raises another error if there is no such data set
        raise ParameterError(
            f"the paper has no results on {name!r}, only on {', '.join(PAPER)}",
            hint=f"use `boolrank evaluate {name}`",
            parameter="datasets",
        )
    if PAPER[name].hidden:
        raise ParameterError(
            f"the paper's results on {name} cannot be measured again: {PAPER[name].hidden}",
            hint=f"use `boolrank evaluate {name}`",
            parameter="datasets",
        )
    return name


def _expected(name: str, data: Interactions) -> str:
    """Return the published size of a data set if the data at hand, maybe an excerpt, differ."""
    size = find_dataset(name).size
    if size == Size.of(data):
        return ""
    return f"{size.users:,} users, {size.items:,} items, {size.interactions:,} ratings"


def _warm_up(n_threads: int | None) -> None:
    """Compile the loops of both storages, to keep that out of the times."""
    data = synthetic(60, 40, 600, 0)
    for storage in ("dense", "compressed"):
        for kernel in COLUMNS:
            text = f"{kernel}(2)" if kernel.endswith("junctive") else kernel
            model = KernelRanker(text, storage=storage, n_threads=n_threads).fit(data)
            model.score(list(data.users)[:2])
