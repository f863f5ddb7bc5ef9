"""The paper's experiments, run again: its table of results, and its figures, as numbers.

Results are kept as they come, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from ..models.spec import RankerSpec
from ..studies.arities import Curve, family, measured_curve
from ..studies.experiment import Experiment
from ..studies.machine import machine
from ..studies.run import run_experiment
from .published import COLUMNS, PAPER, PaperSet, Reading
from .results import Missing, OtherReading, Reproduction, Row, SetResult, Timing

__all__ = ["CONJUNCTIVE", "DISJUNCTIVE", "FAR", "reproduce"]

# Denser where the curves bend, with the paper's best arities among them.
DISJUNCTIVE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 34, 38, 48, 64, 80, 100, 116, 150)
CONJUNCTIVE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
# How often a time is taken.
_TIMES = 5
# A difference of more than so many of the paper's deviations is said to be one.
FAR = 2.0

Told = Callable[[str], None]


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
    """Run the paper's experiments on data sets that are on this machine.

    Parameters
    ----------
    out : folder for results; those that are there already are not computed again
    datasets : names; all of the paper's that are here if not given, and then the others are listed
    sweep : whether to measure AUC against the arity
    disjunctive, conjunctive : arities of the sweeps
    seed : of folds and random orders
    folder : where data sets lie, see `load_dataset`
    n_threads : all by default
    progress : told what is done next
    """
    chosen = list(PAPER) if datasets is None else [_known(name) for name in datasets]
    if not chosen:
        raise ParameterError(f"there are no data sets to measure; there are {', '.join(PAPER)}")
    here = {name: not PAPER[name].hidden and find_dataset(name).is_here(folder) for name in chosen}
    absent = [name for name in here if not here[name]]
    if absent and (datasets is not None or len(absent) == len(here)):
        raise find_dataset(absent[0]).missing(folder)
    progress("loading compiled loops (the first run on a machine compiles for a while)")
    _warm_up(n_threads)
    arities = {"disjunctive": tuple(disjunctive), "conjunctive": tuple(conjunctive)}
    sets = [
        _Plan(Path(out), PAPER[name], seed, folder, n_threads, progress).measure(arities, sweep)
        for name in here
        if here[name]
    ]
    missing = [
        Missing(PAPER[name], PAPER[name].hidden or "It is not on this machine.") for name in absent
    ]
    return Reproduction(tuple(sets), tuple(missing), seed, machine())


@dataclass(frozen=True)
class _Plan:
    """How one data set is measured."""

    out: Path
    paper: PaperSet
    seed: int
    folder: str | Path | None
    n_threads: int | None
    progress: Told

    def measure(self, arities: dict[str, tuple[int, ...]], sweep: bool) -> SetResult:
        title = self.paper.title
        self.progress(f"{title}: reading and splitting")
        table = self._experiment([self.paper.kernel(column) for column in COLUMNS])
        split = table.load_split(self.folder)
        found = self._run(table, split, "table")
        readings = tuple(self._reading(reading) for reading in self.paper.readings)
        self.progress(f"{title}: spectral ratios and times")
        pairs = PairSpectrum.of(split.data.T.matrix())
        curves = tuple(
            self._curve(name, chosen, split, pairs, sweep) for name, chosen in arities.items()
        )
        first = next(iter(found.values()))
        users, items = split.data.shape
        return SetResult(
            self.paper,
            users,
            items,
            split.data.size,
            _expected(self.paper.dataset, split.data),
            len(split),
            sum(len(fold.users) for fold in first.folds),
            sum(fold.unseen_items for fold in first.folds),
            repr(split),
            split.hash,
            tuple(self._row(column, found) for column in COLUMNS),
            readings,
            curves,
            pairs.ratio(parse_kernel("monotone_dnf").normalized()),
            self._timing(split.data, found[self.paper.kernel("disjunctive")]),
        )

    def _experiment(
        self, kernels: Iterable[str], metrics: Iterable[str] = DEFAULT_METRICS, **split: Any
    ) -> Experiment:
        return Experiment(
            (self.paper.dataset,),
            tuple(map(RankerSpec, kernels)),
            self.paper.protocol,
            dict(self.paper.split) | split,
            tuple(metrics),
            self.seed,
        )

    def _run(self, experiment: Experiment, split: Split, what: str) -> dict[str, Evaluation]:
        def told(done: int, total: int, last: str) -> None:
            self.progress(f"{self.paper.title}, {what}: {done} of {total} ({last})")

        run = run_experiment(
            experiment, self.out, split=split, n_threads=self.n_threads, progress=told
        )
        return run.evaluations

    def _row(self, column: str, found: dict[str, Evaluation]) -> Row:
        kernel, printed = self.paper.kernel(column), self.paper.figures[column]
        ours = found[kernel]
        return Row(
            column,
            kernel,
            ours.means,
            ours.deviations,
            printed.auc,
            printed.deviation,
            abs(ours.means["auc"] - printed.auc) > FAR * printed.deviation,
            self.paper.reason(column),
        )

    def _reading(self, reading: Reading) -> OtherReading:
        kernels = {column: self.paper.kernel(column) for column in COLUMNS}
        experiment = self._experiment(kernels.values(), [reading.metric], **reading.split)
        found = self._run(experiment, experiment.load_split(self.folder), reading.title)
        first = next(iter(found.values()))
        return OtherReading(
            reading.title,
            sum(len(fold.users) for fold in first.folds),
            {column: found[kernel].means[reading.metric] for column, kernel in kernels.items()},
            {c: found[kernel].deviations[reading.metric] for c, kernel in kernels.items()},
        )

    def _curve(
        self, name: str, arities: tuple[int, ...], split: Split, pairs: PairSpectrum, sweep: bool
    ) -> Curve:
        found: dict[str, Evaluation] = {}
        if sweep:
            experiment = self._experiment(family(name, arities))
            found = self._run(experiment, split, f"{name} sweep")
        return measured_curve(name, arities, pairs, found)

    def _timing(self, data: Interactions, found: Evaluation) -> Timing:
        """The shortest of several: what else the machine does can only make them longer."""
        kernel = parse_kernel(self.paper.kernel("disjunctive"))
        counting, filling = [], []
        for _ in range(_TIMES):
            begin = time.perf_counter()
            overlaps = Overlaps.of(data, self.n_threads)
            counted = time.perf_counter()
            with threads(self.n_threads):
                kernel_matrix(kernel, overlaps)
            counting.append(counted - begin)
            filling.append(time.perf_counter() - counted)
        ranking = min(fold.rank_seconds for fold in found.folds)
        return Timing(min(counting), min(filling), ranking)


def _known(name: str) -> str:
    if name not in PAPER:
        find_dataset(name)  # one that does not exist at all is another error
        raise ParameterError(
            f"the paper has no results on {name!r}; it has some on {', '.join(PAPER)}, and "
            "`boolrank evaluate` measures any data"
        )
    if PAPER[name].hidden:
        raise ParameterError(
            f"the paper's results on {name} cannot be measured again: {PAPER[name].hidden} "
            f"`boolrank evaluate {name}` measures what there is"
        )
    return name


def _expected(name: str, data: Interactions) -> str:
    """What the catalogue says of the size, if that is not what was read: an excerpt, for one."""
    size = find_dataset(name).size
    if size == Size.of(data):
        return ""
    return f"{size.users:,} users, {size.items:,} items, {size.interactions:,} ratings"


def _warm_up(n_threads: int | None) -> None:
    """Load or compile the loops of both storages, so that no time that is shown has that in it."""
    data = synthetic(60, 40, 600, 0)
    for storage in ("dense", "compressed"):
        for kernel in COLUMNS:
            text = f"{kernel}(2)" if kernel.endswith("junctive") else kernel
            model = KernelRanker(text, storage=storage, n_threads=n_threads).fit(data)
            model.score(list(data.users)[:2])
