"""Fit a model on Spark: executors write the arrays of its folder, the driver the header."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ..checks import whole
from ..counts.overlaps import Overlaps, is_dense
from ..counts.weighting import weight_table
from ..errors import ParameterError
from ..kernels import Kernel, parse_kernel
from ..models.fitted import Fitted
from ..models.item_knn import ItemKNN
from ..models.kernel_ranker import KernelRanker
from ..models.model_folder import save_model
from ..models.recommender import Recommender
from ..models.scorer import Scorer
from ..models.simplex_scorer import SimplexScorer
from ..models.sparse_scorer import SparseScorer
from ..models.spec import ModelSpec, parse_model
from ..storage.folder import check_target, locked
from .cluster import Place, check_executors, check_packages, count_cores
from .events import mapped_events, number_items, stage
from .pairs import Counts, assemble, count, kernel_values, similarities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MODELS = ("kernel-ranker", "item-knn", "spectral-ranker", "kernel-ease")


def fit(
    frame: DataFrame,
    path: str | Path,
    *,
    user: str | None = None,
    item: str | None = None,
    model: str | ModelSpec = "kernel-ranker",
    partitions: int | None = None,
) -> None:
    """Fit a model on the events of a frame, and write it into a folder.

    The folder equals that of a fit without Spark, byte for byte but for the date.

    Parameters
    ----------
    frame : has a row per event; repeated events count once
    path : folder for the model, which all machines see under this name
    user, item : columns; by default those with usual names
    model : kernel-ranker, item-knn, spectral-ranker or kernel-ease, with parameters
    partitions : number of tasks; by default the number of cores. More need less memory each
    """
    check_packages()
    spec = parse_model(model) if isinstance(model, str) else model
    checked, exponent = _checked(spec), float(spec.params.get("user_exponent", 0.0))
    session = frame.sparkSession
    cores = count_cores(frame)
    n = whole("", "partitions", cores if partitions is None else partitions, 1)
    with _workplace(path) as place:
        check_executors(session, place, n)
        staged = stage(frame, user, item, place, n, spec.params.get("activity_cap"))
        weight_table(staged.activity, staged.numbers, exponent)  # raises if they are too many
        numbered = number_items(session, staged, place, exponent)
        counts = Counts.of(staged, numbered, exponent)
        nearest = None
        if isinstance(checked, ItemKNN) and (checked.neighbours or counts.items) < counts.items - 1:
            nearest = checked
        ranges = count(session, place, staged, numbered, counts, n, nearest)
        assemble(session, place, ranges, "float64" if nearest else counts.dtype)
        data = mapped_events(place, staged, numbered)
        overlaps = counts.overlaps(place, pairs=nearest is None)
        steps = float(staged.activity.astype(float) ** 2 @ staged.numbers)
        if nearest is None and is_dense(*data.shape, steps, exponent):
            overlaps = replace(
                overlaps, dense=overlaps.filled(), indptr=None, columns=None, counts=None
            )
        scorer: Scorer | None = None
        if isinstance(checked, KernelRanker) and _is_compressed(overlaps):
            matrix = kernel_values(session, place, parse_kernel(checked.kernel), counts, n)
            weights = checked.reg, checked.negative_weight
            scorer = SimplexScorer(matrix, *weights, overlaps.degrees)
        elif nearest is not None:
            kinds = {"indptr": "int64", "columns": "int32", "counts": "float64"}
            scorer = SparseScorer(
                *(place.array(f"pairs-{name}", kind).mapped() for name, kind in kinds.items())
            )
        elif isinstance(checked, ItemKNN):
            scorer = similarities(session, place, checked, counts, ranges)
        if scorer is None:
            checked.fit(data, overlaps)
        else:
            kept = overlaps if checked.keeps_overlaps else None
            checked.restore(Fitted(checked.get_params(), data, scorer, kept, time.time()))
        save_model(checked, place.folder, lock=False)


def _is_compressed(overlaps: Overlaps) -> bool:
    """Return whether a kernel matrix has the pairs of the overlaps, and is of the usual kernel."""
    heavy = overlaps.weighting is not None and 2 * overlaps.sizes.max() > overlaps.total
    sparse = overlaps.dense is None and overlaps.items**2 > 6 * overlaps.pairs
    return sparse and not heavy and overlaps.n >= 8


def _checked(spec: ModelSpec) -> Recommender:
    """Return the model; raise if Spark cannot fit it."""
    kernel = spec.make().checked().get_params().get("kernel")
    bound = isinstance(kernel, Kernel) and kernel.variables != ("",)
    if spec.name not in _MODELS or bound or spec.params.get("recency"):
        what = "kernels over tags" if bound else spec.name
        what = "recency" if spec.params.get("recency") else what
        raise ParameterError(
            f"Spark does not fit {what}",
            hint=f"choose {', '.join(_MODELS)} without tags and recency, or fit without Spark",
            parameter="model",
        )
    return spec.make().checked()


@contextmanager
def _workplace(path: str | Path) -> Iterator[Place]:
    """Yield the folder for the model; after an error it is as it was before."""
    folder = check_target(path)
    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(str(folder), uuid4().hex)
    with locked(folder):
        try:
            yield place
        except BaseException:  # Ctrl-C too
            for file in folder.glob(f"*.{place.suffix}.bin"):
                file.unlink(missing_ok=True)
            with suppress(OSError):  # it is not empty
                if not was_there:
                    folder.rmdir()
            raise
