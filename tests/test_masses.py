"""Kernels on masses: exact against rationals and enumerated draws, dense and compressed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank import Interactions, KernelRanker, Overlaps, parse_kernel
from boolrank.errors import InputError
from boolrank.kernels.counts import Pairs
from boolrank.kernels.masses import Masses, mass_cosine, mass_values
from boolrank.kernels.values import centred_values
from boolrank.kernels.wide import Wide
from boolrank.matrix import CompressedMatrix, DenseMatrix, kernel_matrix
from boolrank.models import load_model
from effort import tries

Share = Fraction


def disjunctive(d: int, x: Share, z: Share, c: Share) -> Share:
    return 1 - (1 - x) ** d - (1 - z) ** d + (1 - x - z + c) ** d


def threshold(t: int, d: int, x: Share, z: Share, c: Share) -> Share:
    """Sum over the numbers of draws from both, x alone and z alone."""
    total = Fraction(0)
    for i, j, k in product(range(d + 1), repeat=3):
        rest = d - i - j - k
        if rest >= 0 and i + j >= t and i + k >= t:
            ways = comb(d, i) * comb(d - i, j) * comb(d - i - j, k)
            total += ways * c**i * (x - c) ** j * (z - c) ** k * (1 - x - z + c) ** rest
    return total


EXACT: dict[str, Callable[[Share, Share, Share], Share]] = {
    "linear": lambda _x, _z, c: c,
    "tanimoto": lambda x, z, c: c / (x + z - c),
    "conjunctive(2)": lambda _x, _z, c: c**2,
    "conjunctive(20)": lambda _x, _z, c: c**20,
    "polynomial(3, scale=2, offset=1)": lambda _x, _z, c: (2 * 1000 * c + 1) ** 3,
    **{f"disjunctive({d})": partial(disjunctive, d) for d in (1, 2, 3, 8, 60, 1000)},
    **{
        f"threshold({t}, {d})": partial(threshold, t, d)
        for t, d in ((1, 3), (2, 4), (2, 9), (3, 5))
    },
    "0.5*linear + disjunctive(4)": lambda x, z, c: c / 2 + disjunctive(4, x, z, c),
    "disjunctive(2)*tanimoto": lambda x, z, c: disjunctive(2, x, z, c) * c / (x + z - c),
    "disjunctive(3)**2": lambda x, z, c: disjunctive(3, x, z, c) ** 2,
}


def draw_masses(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Draw a total and two masses of any size, nearly all among them, and any overlap."""
    total = int(rng.integers(2**40, 2**62))
    x, z = (int(total * Fraction(10 ** -rng.uniform(0, 8))) for _ in range(2))
    if rng.random() < 0.15:
        x = total - int(rng.integers(0, 3))
    if rng.random() < 0.15:
        z = total - int(rng.integers(0, 10**6))
    low, high = max(0, x + z - total), min(x, z)
    independent = min(max(x * z // total, low), high)
    between = low + int((high - low) * Fraction(10 ** -rng.uniform(0, 6)))
    return total, x, z, int(rng.choice(np.array([low, high, independent, between], object)))


@pytest.mark.parametrize("text", EXACT)
def test_values_are_right_to_1e_14(text: str) -> None:
    rng, kernel = np.random.default_rng(0), parse_kernel(text)
    for _ in range(tries(150)):
        total, x, z, c = draw_masses(rng)
        exact = EXACT[text](*(Fraction(mass, total) for mass in (x, z, c)))
        found = Fraction(float(kernel.on_masses(total, x, z, c, users=1000)))
        assert abs(found - exact) <= Fraction(1, 10**14) * exact, (total, x, z, c)


@pytest.mark.parametrize("weight", [1.0, 0.01])
def test_monotone_dnf_counts_effective_users(weight: float) -> None:
    rng, kernel = np.random.default_rng(1), parse_kernel(f"monotone_dnf({weight})")
    with localcontext() as context:
        context.prec = 60
        for _ in range(tries(100)):
            total, x, z, c = draw_masses(rng)
            shared = Decimal(c) * 300 / total
            exact = (1 + Decimal(weight)) ** shared - 1
            found = Decimal(float(kernel.on_masses(total, x, z, c, users=300)))
            assert abs(found - exact) <= exact * Decimal("2e-13")
            count = int(rng.integers(0, 60))  # of users that weigh the same
            assert kernel.on_masses(300, count, count, count, users=300) == pytest.approx(
                float(kernel.on_counts(300, count, count, count)), rel=1e-13
            )


SEQUENCES: dict[str, tuple[int, Callable[[tuple[bool, ...]], bool]]] = {
    "linear": (1, all),
    "conjunctive(3)": (3, all),
    "disjunctive(3)": (3, any),
    "threshold(2, 3)": (3, lambda hits: sum(hits) >= 2),
    "threshold(1, 2)": (2, any),
}


@pytest.mark.parametrize("text", SEQUENCES)
def test_values_are_those_of_enumerated_draws(text: str) -> None:
    """A feature is a sequence of users, with the product of their weights."""
    weights, kernel = [5, 1, 3, 2], parse_kernel(text)
    length, holds = SEQUENCES[text]
    for x, z in product(product((False, True), repeat=4), repeat=2):
        exact = sum(
            prod(weights[user] for user in users)
            for users in product(range(4), repeat=length)
            if holds(tuple(x[u] for u in users)) and holds(tuple(z[u] for u in users))
        )
        a, b, both = (
            sum(w for w, *held in zip(weights, *sets, strict=True) if all(held))
            for sets in ((x,), (z,), (x, z))
        )
        found = kernel.on_masses(sum(weights), a, b, both, users=4)
        assert found == pytest.approx(exact / 11**length, rel=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "linear",
        "conjunctive(3)",
        "disjunctive(4)",
        "threshold(2, 5)",
        "tanimoto",
        "monotone_dnf(0.01)",
    ],
)
def test_equal_weights_converge_to_counts(text: str) -> None:
    kernel, errors = parse_kernel(text).normalized(), []
    for n in (100, 1000, 10_000, 100_000):
        x, z, c = n // 10, n // 5, np.array([0, n // 50, n // 20])
        with np.errstate(all="ignore"):
            counted = kernel.on_counts(n, x, z, c)
        errors.append(np.abs(kernel.on_masses(n, x, z, c, users=n) - counted).max())
    assert all(after <= before / 5 + 1e-14 for before, after in pairwise(errors))
    assert errors[-1] < 1e-4


@pytest.mark.parametrize(
    "text",
    ["dnf", "all_subset", "literal_conjunctive(2)", "composed_dnf(2, 2)", "linear @ conjunctive(2)",
     "conjunctive(2, up_to=True)", "monotone_dnf(max_arity=2)", "linear + dnf"],
)  # fmt: skip
def test_kernels_without_a_meaning_on_masses_raise(text: str) -> None:
    data = Interactions.from_matrix(np.random.default_rng(0).random((30, 9)) < 0.3)
    with pytest.raises(InputError, match=r"no meaning for weighted users; use user_exponent=0"):
        KernelRanker(text, user_exponent=0.5).fit(data)


def test_doubles_and_wide_numbers_agree() -> None:
    rng = np.random.default_rng(2)
    total, x, z, c = (
        np.array(each) for each in zip(*(draw_masses(rng) for _ in range(200)), strict=True)
    )
    for text in ("disjunctive(8)", "threshold(2, 5)", "disjunctive(3) + tanimoto"):
        kernel = parse_kernel(text)
        for at in range(0, 200, 20):
            one = x[[at]], z[[at]], c[[at]]
            pairs = Pairs(total[at], *one, users=1000)
            with np.errstate(all="ignore"):
                wide = mass_cosine(kernel, Masses(pairs, *one, Wide.of))
            assert mass_values(kernel, pairs, normalize=True) == pytest.approx(
                wide.floats(), rel=1e-14
            )


KERNELS = (
    "linear",
    "tanimoto",
    "conjunctive(2)",
    "disjunctive(2)",
    "disjunctive(8)",
    "disjunctive(60)",
    "threshold(2, 5)",
    "monotone_dnf",
    "polynomial(2, offset=1)",
    "linear + 0.5*disjunctive(3)",
    "disjunctive(3)**2",
    "normalized(disjunctive(3)) + tanimoto",
)


def draw(seed: int, users: int, items: int) -> NDArray[np.bool_]:
    """Draw items of all sizes, maybe one that everybody has, and one that nobody has."""
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < rng.beta(0.4, 2, items) * (0.2 if seed % 2 else 1.0)
    X[:, 0] |= rng.random() < 0.4
    X[0, 1:3] = True
    X[:, -1] = False
    return X


@pytest.mark.parametrize("text", KERNELS)
@given(st.integers(0, 10**6), st.integers(8, 150), st.integers(3, 50), st.floats(0.01, 1))
@settings(max_examples=tries(15))
def test_compressed_equals_dense(text: str, seed: int, users: int, items: int, g: float) -> None:
    data = Interactions.from_matrix(draw(seed, users, items))
    overlaps, kernel = Overlaps.of(data, user_exponent=g), parse_kernel(text)
    dense, compressed = DenseMatrix.of(kernel, overlaps), CompressedMatrix.of(kernel, overlaps)
    assert np.allclose(dense.means, compressed.means, rtol=1e-12, atol=1e-14)
    for item in range(items):
        assert np.allclose(dense.row(item), compressed.row(item), rtol=1e-12, atol=1e-15)
    scores = [
        KernelRanker(kernel, user_exponent=g, storage=storage).fit(data, overlaps).score()
        for storage in ("dense", "compressed")
    ]
    assert np.nanmax(np.abs(scores[0] - scores[1])) < 1e-10


def test_a_compressed_matrix_has_the_values_of_the_formula() -> None:
    """Popular items have most of the mass, so that they overlap without a shared user of others."""
    X = draw(3, 400, 60)
    overlaps = Overlaps.of(Interactions.from_matrix(X), user_exponent=0.8)
    for text in ("disjunctive(3)", "disjunctive(40)"):
        matrix = CompressedMatrix.of(parse_kernel(text), overlaps)
        assert matrix.left is not None
        masses = overlaps.filled()
        for i, j in product(np.flatnonzero(overlaps.sizes)[::7], repeat=2):
            x, z, c = (
                Fraction(int(m), overlaps.total) for m in (masses[i, i], masses[j, j], masses[i, j])
            )
            d = int(text[12:-1])
            own = disjunctive(d, x, x, x) * disjunctive(d, z, z, z)
            exact = disjunctive(d, x, z, c) / Fraction(float(own) ** 0.5) if i != j else 1
            assert matrix.row(i)[j] == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("text", "rank"), [("disjunctive(8)", 12), ("disjunctive(300)", 30), ("threshold(2, 5)", 4)]
)
def test_many_items_have_a_background_of_low_rank(text: str, rank: int) -> None:
    rng = np.random.default_rng(4)
    items = (3000 * rng.random(60_000) ** 6).astype(int)
    data = Interactions.from_pairs(rng.integers(0, 4000, 60_000), items)
    overlaps = Overlaps.of(data, user_exponent=0.5)
    kernel = parse_kernel(text)
    matrix = kernel_matrix(kernel, overlaps, "compressed")
    assert matrix.left.shape[1] <= rank
    dense = DenseMatrix.of(kernel, overlaps)
    assert (matrix.distance is not None) == (text == "disjunctive(300)")
    for item in range(0, overlaps.items, 50):
        assert np.allclose(matrix.row(item), dense.row(item), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d", [5, 60, 300])
def test_values_near_1_keep_digits_of_their_own(d: int) -> None:
    rng, kernel = np.random.default_rng(6), parse_kernel(f"disjunctive({d})")
    with localcontext() as context:
        context.prec = 400
        for _ in range(tries(100)):
            total, x, z, c = draw_masses(rng)
            pairs = Pairs(np.array(total), *(np.array([mass]) for mass in (x, z, c)), users=100)
            shares = [Fraction(mass, total) for mass in (x, z, c)]
            own = [disjunctive(d, t, t, t) for t in shares[:2]]
            met = [(Decimal(t.numerator) / Decimal(t.denominator)).sqrt() for t in own]
            value = disjunctive(d, *shares)
            cosine = Decimal(value.numerator) / Decimal(value.denominator) / (met[0] * met[1])
            exact = cosine - met[0] - met[1] + 1
            # What has to be right is small beside the distances of both.
            allowed = (
                Decimal("1e-390") + Decimal("1e-12") * (4 * (1 - met[0]) * (1 - met[1])).sqrt()
            )
            assert abs(Decimal(float(centred_values(kernel, pairs)[0])) - exact) <= allowed


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_values_below_all_doubles_still_rank(storage: str) -> None:
    X = np.random.default_rng(0).random((6000, 30)) < 0.45
    model = KernelRanker("monotone_dnf", user_exponent=0.5, storage=storage).fit(
        Interactions.from_matrix(X)
    )
    assert model.matrix.scale
    masses = model.fitted.overlaps.filled()
    own = np.diag(masses)
    order = 2 * masses - own[:, None] - own
    for item in range(30):
        others = [j for j in np.argsort(-order[item], kind="stable") if j != item]
        assert model.similar_items([item], n=29).lists()[0] == others


@pytest.mark.parametrize("text", ["disjunctive(8)", "tanimoto"])
def test_an_updated_model_equals_a_new_one(text: str, tmp_path: Path) -> None:
    X = draw(5, 80, 40)
    data = Interactions.from_matrix(X)
    rows, columns = np.nonzero(X)
    some = np.random.default_rng(0).random(len(rows)) < 0.8
    first = Interactions.from_pairs(rows[some], columns[some])
    late = Interactions.from_pairs(rows[~some], columns[~some])
    model = KernelRanker(text, user_exponent=0.7, storage="compressed").fit(first)
    model.save(tmp_path / "model")
    for each in (model, load_model(tmp_path / "model")):
        each.update(added=late)
        again = KernelRanker(text, user_exponent=0.7, storage="compressed").fit(each.interactions)
        assert np.array_equal(each.score(), again.score(), equal_nan=True)
        assert each.fitted.overlaps.total == again.fitted.overlaps.total
    assert set(data.users) >= set(model.interactions.users)


def test_a_user_who_likes_everything_says_little() -> None:
    """Two busy users share a with b, and one with few items shares a with c."""
    busy = [(user, item) for user in ("carl", "dora") for item in ("a", "b", *range(50))]
    pairs = [*busy, ("ann", "a"), ("ann", "c"), ("bob", "a")]
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    plain, weighted = (KernelRanker("linear", user_exponent=g).fit(data) for g in (0.0, 1.0))
    assert plain.similar_items(["a"], n=52).lists()[0][-1] == "c"
    assert weighted.similar_items(["a"], n=1).lists() == [["c"]]
