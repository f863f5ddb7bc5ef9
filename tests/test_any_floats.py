"""Compiled loops end and stay in bounds for any floats: NaN, infinity, huge and tiny numbers.

Run with NUMBA_BOUNDSCHECK=1, and a cache folder of its own, to see every index checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank._compiled.batches import rank_batches
from boolrank._compiled.matrix import Arrays
from boolrank._compiled.negatives import margin_scores, mean_scores
from boolrank._compiled.profiles import rank, score, weights
from boolrank._compiled.ranking import best
from boolrank._compiled.reach import Layout
from boolrank._compiled.scores import base_scores
from boolrank._compiled.sketch import Sketch
from boolrank._compiled.weights import add_up_sparse
from boolrank.models import Profiles
from boolrank.models.sparse_scorer import SparseScorer

Floats = NDArray[np.float64]

# Seeds of a generator draw more numbers, and faster, than lists of floats would.
SEEDS = st.integers(0, 2**32 - 1)
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, -1.0]


def floats(rng: np.random.Generator, *shape: int) -> Floats:
    """Draw numbers of any size, some or all of them odd ones."""
    plain = rng.normal(size=shape) * 10.0 ** rng.choice([0, 0, -300, 300])
    return np.where(rng.random(shape) < rng.choice([0.0, 0.05, 1.0]), rng.choice(ODD, shape), plain)


def sparse_rows(rng: np.random.Generator, m: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    linked = rng.random((m, m)) < 0.3
    return np.concatenate(([0], np.cumsum(linked.sum(axis=1)))), np.nonzero(linked)[1].astype("i4")


def draw_matrix(rng: np.random.Generator, m: int, storage: str, form: str) -> Arrays:
    parts: dict[str, Any] = {"pull": floats(rng, m)}
    if storage == "dense":
        parts["dense"] = floats(rng, m, m)
    else:
        indptr, columns = sparse_rows(rng, m)
        values = floats(rng, len(columns))
        if rng.random() < 0.5:  # batches need finite values from 0 on
            values = np.nan_to_num(abs(values))
        parts |= {"indptr": indptr, "columns": columns, "values": values}
        parts |= {"background": floats(rng, 3, 3), "share": floats(rng, m)}
        parts["classes"] = rng.integers(0, 3, m).astype(np.int32)
    if form == "centred":
        parts["distance"] = floats(rng, m)
    if form == "scaled":
        parts |= {name: floats(rng, m) for name in ("exponents", "lead", "lead_exp")}
        parts |= {
            "nearest": rng.integers(-1, m, m).astype(np.int32),
            "floor": float(floats(rng, 1)[0]),
        }
    return Arrays.of(**parts)


def draw_profiles(rng: np.random.Generator, m: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    own = rng.random((4, m)) < rng.random((4, 1))
    return np.concatenate(([0], np.cumsum(own.sum(axis=1)))), np.nonzero(own)[1].astype(np.int32)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
@pytest.mark.parametrize("form", ["plain", "centred", "scaled"])
@given(seed=SEEDS, m=st.integers(1, 70), reg=st.sampled_from([0.0, 0.1, 1e300]))
def test_profiles_have_lists_of_known_items(
    storage: str, form: str, seed: int, m: int, reg: float
) -> None:
    rng = np.random.default_rng(seed)
    matrix, profiles = draw_matrix(rng, m, storage, form), Profiles(*draw_profiles(rng, m))
    start, items, _ = profiles
    for against_others in (False, True):
        alpha, gaps = weights(matrix, *profiles, reg, against_others, 1e-13)
        assert len(alpha) == len(items)
        assert not np.isnan(gaps[np.diff(start) > 0]).any()
    allowed = rng.random(m) < 0.9
    base, hidden = base_scores(matrix, 1.0), np.flatnonzero(~allowed)
    request = profiles, hidden, True, 5, np.arange(4)
    layout = None
    if matrix.background is not None and matrix.exponents is None:
        layout = Layout.of(base, matrix.classes.astype(np.int32), len(matrix.background))
    model, scoring = (matrix, base, layout), (1.0, reg, 1e-13)
    found = [rank(*model, scoring, *request)]
    if layout is not None and (sketch := Sketch.of(matrix, layout)) is not None:
        found.append(rank_batches(*model, sketch, scoring, *request))
    for chosen, _, gaps in found:
        assert not np.isnan(gaps).any()
        for k, row in enumerate(chosen):
            listed = row[row >= 0]
            assert len(set(listed)) == len(listed)
            assert not set(listed) & set(items[start[k] : start[k + 1]])
            assert allowed[listed].all()
    out = np.empty((4, m))
    score(out, matrix, base, 0.5, start, items, alpha)
    if form == "plain":
        mean_scores(out, matrix, start, items, alpha)


@given(seed=SEEDS, m=st.integers(1, 300), n=st.integers(0, 40))
def test_the_best_scores_are_listed_and_nan_is_not(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores, base = floats(rng, m), floats(rng, m)
    items, values = np.full(n, -1, np.int32), np.full(n, np.nan)
    for noise in (0.0, 2.0**-50):
        best(scores.copy(), base, noise, n, items, values)
        listed = items[items >= 0]
        assert len(listed) == min(n, int((scores > -np.inf).sum()))
        assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("storage", ["dense", "compressed", "linear"])
@given(seed=SEEDS, m=st.integers(1, 60))
def test_steps_against_all_others_end(storage: str, seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    form = "dense" if storage == "linear" else storage
    matrix, (start, items) = draw_matrix(rng, m, form, "plain"), draw_profiles(rng, m)
    factor = None
    if storage == "linear":
        ptr, columns = sparse_rows(rng, m)
        factor = (ptr, columns, ptr, columns, floats(rng, m))
    out = np.empty((4, m)), np.empty(len(items)), np.empty(4)
    largest = float(floats(rng, 1)[0])
    regs, exact = floats(rng, 2), np.full(4, 1e-10)
    margin_scores(out, matrix, factor, start, items, regs, exact, largest, 20)


@given(seed=SEEDS, m=st.integers(1, 60))
def test_sums_of_sparse_rows_take_any_floats(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    indptr, columns = sparse_rows(rng, m)
    values, profiles = floats(rng, len(columns)), draw_profiles(rng, m)
    add_up_sparse(np.empty((4, m)), floats(rng, m), indptr, columns, values, *Profiles(*profiles))
    scorer, hidden = SparseScorer(indptr, columns, values), np.flatnonzero(rng.random(m) < 0.1)
    chosen, _ = scorer.top(Profiles(*profiles), min(5, m), hidden, True)
    for found in chosen:
        listed = found[found >= 0]
        assert len(set(listed)) == len(listed)
        assert (listed < m).all()
        assert not set(listed) & set(hidden)
