"""Run the paper's experiments; a run that was stopped continues from its cached results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..counts.overlaps import Overlaps
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
from ..report.page import claim_folder
from ..studies.arity import Curve, family, spectral_curve
from ..studies.experiment import Experiment, run_experiment
from ..studies.machine import machine
from .published import COLUMNS, PAPER, Figure, PaperSet, Reading

# Denser where the curves bend, with the paper's best arities among them.
_ARITIES = {
    "disjunctive": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 34, 38, 48, 64, 80, 100, 116, 150),
    "conjunctive": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16),
}
_REPEATS = 5  # of timings; the shortest counts, as other load only adds to it
_FAR = 2.0  # differences of more than this many of the paper's deviations are marked


class Row(NamedTuple):
    """Our result for a kernel and the paper's."""

    column: str
    kernel: str
    means: dict[str, float]
    deviations: dict[str, float]
    paper: Figure

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
    """The results on one data set; evaluations are by column of the paper's table."""

    paper: PaperSet
    split: Split
    evaluations: Mapping[str, Evaluation]
    readings: Sequence[tuple[Reading, Mapping[str, Evaluation]]]
    curves: Sequence[Curve]
    ratio: float  # spectral ratio of the monotone DNF kernel
    timing: Timing  # of the disjunctive kernel

    @property
    def rows(self) -> list[Row]:
        """Our results and the paper's."""
        paper = self.paper
        return [
            Row(column, paper.kernel(column), each.means, each.deviations, paper.figures[column])
            for column, each in self.evaluations.items()
        ]

    @property
    def expected(self) -> str:
        """The published size, as text, if the data at hand, maybe an excerpt, differ."""
        size = find_dataset(self.paper.dataset).size
        text = f"{size.users:,} users, {size.items:,} items, {size.interactions:,} ratings"
        return "" if size == (*self.split.data.shape, self.split.data.size) else text


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
    arities: Sequence[int] = (),
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Reproduction:
    """Run the paper's experiments on data sets of this machine.

    Parameters
    ----------
    out : folder for results, which are not computed again
    datasets : names, by default of all the paper's that are here
    sweep : whether to measure AUC against the arity
    arities : of the curves, by default some up to 150
    folder : of the data sets, see `load_dataset`
    """
    chosen = [_known(name) for name in datasets] if datasets else list(PAPER)
    here = {name: not PAPER[name].hidden and find_dataset(name).is_here(folder) for name in chosen}
    absent = [name for name in here if not here[name]]
    if absent and (datasets or len(absent) == len(here)):
        raise find_dataset(absent[0]).missing(folder)
    claim_folder(out, "reproduce")
    progress("loading compiled loops (the first run on a machine compiles for a while)")
    _warm_up(n_threads)
    sets = [
        _Lab(Path(out), PAPER[name], seed, folder, n_threads, progress).measure(arities, sweep)
        for name in here
        if here[name]
    ]
    missing = [(PAPER[name], PAPER[name].hidden or "It is not on this machine.") for name in absent]
    return Reproduction(sets, missing, seed, machine())


@dataclass(frozen=True)
class _Lab:
    """Measures one data set."""

    out: Path
    paper: PaperSet
    seed: int
    folder: str | Path | None
    n_threads: int | None
    progress: Callable[[str], None]

    def measure(self, arities: Sequence[int], sweep: bool) -> SetResult:
        paper = self.paper
        kernels = {column: paper.kernel(column) for column in COLUMNS}
        split, found = self._run(kernels.values(), "table")
        readings = []
        for reading in paper.readings:
            _, values = self._run(
                kernels.values(), reading.title, metrics=(reading.metric,), **reading.split
            )
            readings.append((reading, {column: values[kernels[column]] for column in COLUMNS}))
        curves = []
        pairs = PairSpectrum.of(split.data.T.matrix())
        for name, usual in _ARITIES.items():
            some = arities or usual
            swept = self._run(family(name, some), f"{name} sweep", split)[1] if sweep else {}
            curves.append(spectral_curve(pairs, name, some, swept))
        self.progress(f"{paper.title}: spectral ratios and times")
        return SetResult(
            paper,
            split,
            {column: found[kernels[column]] for column in COLUMNS},
            readings,
            curves,
            pairs.ratio(parse_kernel("monotone_dnf").normalized()),
            self._timing(split.data, found[kernels["disjunctive"]]),
        )

    def _run(
        self,
        kernels: Iterable[str],
        what: str,
        split: Split | None = None,
        metrics: tuple[str, ...] = DEFAULT_METRICS,
        **options: Any,
    ) -> tuple[Split, dict[str, Evaluation]]:
        """Return the split and the evaluations by kernel."""
        paper, title = self.paper, f"{self.paper.title}, {what}"
        models = {text: ModelSpec("kernel-ranker", {"kernel": text}) for text in kernels}
        chosen = tuple(models.values())
        self.progress(title)
        run = run_experiment(
            Experiment((paper.dataset,), chosen, paper.protocol, options, metrics, self.seed),
            self.out,
            split=split,
            data_folder=self.folder,
            n_threads=self.n_threads,
            progress=lambda done, total, last: self.progress(
                f"{title}: {done} of {total} ({last})"
            ),
        )
        return run.split, {text: run.evaluations[str(each)] for text, each in models.items()}

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
    """Return the name of a data set whose results can be measured again; raise for others."""
    find_dataset(name)  # raises if there is no such data set
    problem = f"the paper has no results on {name!r}, only on {', '.join(PAPER)}"
    if name in PAPER:
        problem = PAPER[name].hidden and f"{name} cannot be measured again: {PAPER[name].hidden}"
    if problem:
        hint = f"use `boolrank evaluate {name}`"
        raise ParameterError(problem, hint=hint, parameter="datasets")
    return name


def _warm_up(n_threads: int | None) -> None:
    """Compile the loops of both storages, to keep that out of the times."""
    data = synthetic(60, 40, 600, 0)
    for storage, column in product(("dense", "compressed"), COLUMNS):
        kernel = PAPER["movielens-1m"].kernel(column)
        model = KernelRanker(kernel, storage=storage, n_threads=n_threads).fit(data)
        model.score(list(data.users)[:2])
