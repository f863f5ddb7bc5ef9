"""Fit a model on Spark: executors write the arrays of its folder, the driver the header."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ..checks import whole
from ..counts.counting import is_dense
from ..counts.overlaps import Overlaps, prefers_dense
from ..models.disk_fit import check_scales
from ..models.fitted import Fitted
from ..models.item_knn import ItemKNN
from ..models.kernel_ranker import KernelRanker
from ..models.model_folder import save_model
from ..models.scorer import Scorer
from ..models.simplex_scorer import SimplexScorer
from ..models.spec import ModelSpec, parse_model
from ..storage.job import Job
from .cluster import Place, check_executors, check_packages, count_cores
from .events import mapped_events, number_items, stage
from .pairs import count, kernel_values, rows_scorer, similarities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    checked, exponent = spec.make().checked(), float(spec.params.get("user_exponent", 0.0))
    check_scales(checked, "on Spark")
    session = frame.sparkSession
    cores = count_cores(frame)
    n = whole("", "partitions", cores if partitions is None else partitions, 1)
    with Job.open(path, uuid4().hex, resumes=False) as job:
        place = Place(str(job.path), job.suffix)
        check_executors(session, place, n)
        staged = stage(frame, user, item, place, n, spec.params.get("activity_cap"))
        numbered = number_items(session, staged, place, exponent)
        nearest, items = None, numbered.items
        if isinstance(checked, ItemKNN) and (checked.neighbours or items) < items - 1:
            nearest = checked
        ranges = count(session, place, staged, numbered, n, nearest)
        data = mapped_events(place, staged, numbered)
        overlaps = numbered.overlaps(place, pairs=nearest is None)
        steps = float(staged.activity.astype(float) ** 2 @ staged.numbers)
        if nearest is None and is_dense(*data.shape, steps, exponent):
            overlaps = replace(
                overlaps, dense=overlaps.filled(), indptr=None, columns=None, counts=None
            )
        scorer: Scorer | None = None
        if isinstance(checked, KernelRanker) and _is_compressed(overlaps):
            matrix = kernel_values(session, place, checked.kernel_for(data.shape[0]), numbered, n)
            weights = checked.reg, checked.negative_weight
            scorer = SimplexScorer(matrix, *weights, overlaps.degrees)
        elif nearest is not None:
            scorer = rows_scorer(place, "pairs-counts")
        elif isinstance(checked, ItemKNN):
            scorer = similarities(session, place, checked, numbered, ranges)
        if scorer is None:
            checked.fit(data, overlaps)
        else:
            kept = overlaps if checked.keeps_overlaps else None
            checked.restore(Fitted(checked.get_params(), data, scorer, kept, time.time()))
        save_model(checked, place.folder, lock=False)


def _is_compressed(overlaps: Overlaps) -> bool:
    """Return whether the pairs of a kernel matrix are those that share users."""
    heavy = overlaps.weighting is not None and 2 * overlaps.sizes.max() > overlaps.total
    dense = overlaps.dense is not None or prefers_dense(overlaps.items, overlaps.pairs)
    return not dense and not heavy
