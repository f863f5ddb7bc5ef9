"""How much longer EASE and KernelEase take than LAPACK takes for the inverse they are made of.

    python benchmarks/inverse.py [--set movielens-1m]

Each model, in single and in double precision, in a process of its own with two threads. A fit,
given the overlaps and with counting them, is timed in turns with potrf and potri of LAPACK on the
same matrix, whose copy is made before the clock starts; LAPACK works on the triangle that it is
quicker with, and on all items, where a fit has one of those that the same users have. Before each
there is a pause, as the threads of BLAS go on spinning for a while. The least of the rounds counts.
Memory is the peak of a fit over what was held before, in arrays of items × items
of the precision asked for. Scores are compared with those by LAPACK.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from contestants import EASE_REG, KERNEL_EASE_REG, SMALL
from measuring import OUT, SETS, Found, forget_peak, in_own_process, memory, seconds_of
from numpy.typing import NDArray
from scipy.linalg import lapack

from boolrank import Interactions, load_dataset, parse_kernel, synthetic
from boolrank.counts.overlaps import Overlaps
from boolrank.errors import DatasetNotFoundError
from boolrank.models import make_model
from boolrank.models.inverse import ItemGroups

Matrix = NDArray[Any]
KERNEL = SETS["movielens"].kernel
ROUNDS = 15
# Seconds of a pause.
PAUSE = 0.3
# Users whose scores are compared.
SOME = 50
LAPACK = {
    "float32": (lapack.spotrf, lapack.spotri),
    "float64": (lapack.dpotrf, lapack.dpotri),
}


def gram(data: Interactions) -> Matrix:
    """What EASE inverts: the numbers of shared users, and reg on the diagonal."""
    matrix = data.matrix()
    counts = (matrix.T @ matrix).toarray().astype(np.float64)
    counts[np.diag_indices_from(counts)] += EASE_REG
    return np.asarray(counts)


def kernel(data: Interactions) -> Matrix:
    """What KernelEase inverts: normalised values of all pairs, and reg on the diagonal."""
    matrix = data.matrix()
    counts, sizes = (matrix.T @ matrix).toarray(), data.popularity()
    of_pairs = parse_kernel(KERNEL).normalized()
    values = of_pairs.on_counts(data.shape[0], sizes[:, None], sizes, counts)
    values[np.diag_indices_from(values)] += KERNEL_EASE_REG
    return np.asarray(values)


# A model with its parameters, and the matrix that it inverts.
MODELS: dict[str, tuple[Callable[..., Any], Callable[[Interactions], Matrix]]] = {
    "ease": (partial(make_model, "ease", reg=EASE_REG), gram),
    "kernel-ease": (
        partial(make_model, "kernel-ease", kernel=KERNEL, reg=KERNEL_EASE_REG),
        kernel,
    ),
}


def by_lapack(matrix: Matrix, lower: int) -> Matrix:
    """The inverse in the place of the matrix: one triangle of it."""
    factor, inverse = LAPACK[matrix.dtype.name]
    factors, failed = factor(matrix, lower=lower, clean=0, overwrite_a=1)
    if failed:
        raise ValueError("the matrix is not positive definite in this precision")
    return np.asarray(inverse(factors, lower=lower, overwrite_c=1)[0])


def run(name: str, model: str, dtype: str) -> Found:
    """Times and memory of one model in one precision."""
    data, (build, matrix_of) = load_dataset(name), MODELS[model]
    for size in SMALL:
        build(dtype=dtype).fit(synthetic(*size, seed=0))
    array = data.shape[1] ** 2 * np.dtype(dtype).itemsize / 1e6
    counting = peak_of(lambda: build(dtype=dtype).fit(data)) / array
    overlaps = Overlaps.of(data)
    given = peak_of(lambda: build(dtype=dtype).fit(data, overlaps)) / array

    matrix = np.asfortranarray(matrix_of(data), dtype=dtype)
    seconds = dict.fromkeys(("fit", "with counting", "lower", "upper"), float("inf"))
    for _ in range(ROUNDS):
        calls: dict[str, Callable[[], object]] = {
            "fit": lambda: build(dtype=dtype).fit(data, overlaps),
            "with counting": lambda: build(dtype=dtype).fit(data),
        }
        for what, call in calls.items():
            seconds[what] = min(seconds[what], after_a_pause(call))
        for lower, what in enumerate(("upper", "lower")):
            copy = matrix.copy(order="F")
            seconds[what] = min(seconds[what], after_a_pause(by_lapack, copy, lower))
    alone = min(seconds.pop("lower"), seconds.pop("upper"))
    return {
        "LAPACK": alone,
        **seconds,
        "ratio": seconds["fit"] / alone,
        "arrays": given,
        "arrays with counting": counting,
        "difference": difference(build(dtype=dtype).fit(data, overlaps), data, matrix),
    }


def after_a_pause(call: Callable[..., object], *arguments: object) -> float:
    """How long a call takes, with nothing else at work."""
    time.sleep(PAUSE)
    return seconds_of(call, *arguments)


def peak_of(call: Callable[[], object]) -> float:
    """Most memory over what was held before, in MB."""
    before = memory("VmRSS")
    forget_peak()
    call()
    return memory() - before


def difference(model: Any, data: Interactions, matrix: Matrix) -> float:
    """Largest difference of scores from those by LAPACK, against the largest score."""
    half = by_lapack(matrix, lower=1)
    whole = np.tril(half) + np.tril(half, -1).T
    weights = -whole / np.diag(whole)
    np.fill_diagonal(weights, 0.0)
    users = min(SOME, data.shape[0])
    expected = data.matrix()[:users] @ weights
    found = model.score(list(data.users)[:users])
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> None:
    """Print the table, and write it to a JSON file."""
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--set", default=SETS["movielens"].name, help="a data set by name")
    name: str = parser.parse_args().set
    try:
        data = load_dataset(name)
    except DatasetNotFoundError as error:
        print(f"\ninverse: left out, {error}")
        return
    distinct = len(ItemGroups.of(data).sizes)
    print(f"\n{name}: {data!r}, {distinct:,} items distinct, {KERNEL}")
    print("seconds, beside LAPACK's potrf and potri, and arrays of items x items")
    found: dict[str, Found] = {}
    for model in MODELS:
        for dtype in LAPACK:
            row = in_own_process(__file__, "--run", name, model, dtype)
            if not found:
                print(f"{'':<22}" + "".join(f"{column:>22}" for column in row))
            found[f"{model}, {dtype}"] = row
            figures = "".join(f"{value:>22.3g}" for value in row.values())
            print(f"{f'{model}, {dtype}':<22}{figures}", flush=True)
    OUT.mkdir(exist_ok=True)
    about = {"set": name, "items": data.shape[1], "distinct": distinct}
    (OUT / "inverse.json").write_text(json.dumps(about | found, indent=2) + "\n")


if __name__ == "__main__":
    main()
