"""The kernel matrix is the same dense and compressed, and exact where doubles end."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from boolrank import Interactions, KernelRanker, Overlaps, parse_kernel
from boolrank.errors import MatrixTooLargeError
from boolrank.matrix import CompressedMatrix, DenseMatrix, kernel_matrix
from boolrank.matrix.pairs import CHUNK
from effort import tries

KERNELS = (
    "linear",
    "polynomial(2, offset=1)",
    "all_subset",
    "tanimoto",
    "conjunctive(2)",
    "conjunctive(3, up_to=True)",
    "disjunctive(2)",
    "disjunctive(8)",
    "threshold(2, 4)",
    "literal_conjunctive(2)",
    "literal_disjunctive(2)",
    "monotone_dnf",
    "dnf(weight=0.3)",
    "dnf(max_arity=2)",
    "composed_dnf(2, 2)",
    "composed_cnf(2, 2)",
    "linear + tanimoto",
    "disjunctive(3)**2",
    "linear*disjunctive(2)",
)


def draw(seed: int, users: int, items: int) -> NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < rng.beta(0.5, 3, items)
    X[:, 0] = True
    X[:, -1] = False
    return X


@pytest.mark.parametrize("text", KERNELS)
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(2, 25))
def test_both_storages_hold_the_gram_matrix_of_the_items(
    text: str, seed: int, users: int, items: int
) -> None:
    X = draw(seed, users, items)
    kernel, overlaps = parse_kernel(text), Overlaps.of(Interactions.from_matrix(X))
    gram = kernel.normalized()(X.T)
    dense, compressed = DenseMatrix.of(kernel, overlaps), CompressedMatrix.of(kernel, overlaps)
    for matrix in (dense, compressed):
        rows = np.array([matrix.row(i) for i in range(items)])
        assert np.allclose(rows, gram, rtol=1e-13, atol=1e-15)
        means = (gram.sum(axis=0) - 1) / items
        assert np.allclose(matrix.means, means, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("text", KERNELS)
@given(st.integers(0, 10**6), st.integers(8, 120), st.integers(2, 60))
@settings(max_examples=tries(15))
def test_both_storages_rank_alike(text: str, seed: int, users: int, items: int) -> None:
    data = Interactions.from_matrix(draw(seed, users, items))
    dense, compressed = (KernelRanker(text, storage=s).fit(data) for s in ("dense", "compressed"))
    assert np.array_equal(dense.recommend(n=20).items, compressed.recommend(n=20).items)
    assert np.nanmax(np.abs(dense.score() - compressed.score())) < 1e-10


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_values_below_all_doubles_still_rank_exactly(storage: str) -> None:
    """Items with thousands of users under the monotone DNF kernel, against 3,000 digits."""
    rng = np.random.default_rng(2)
    taste = rng.random((6000, 3)) < 0.4
    X = (taste @ rng.random((3, 14))) * rng.random((6000, 14)) > 0.25
    model = KernelRanker("monotone_dnf", storage=storage).fit(Interactions.from_matrix(X))
    counts = X.T.astype(int) @ X.astype(int)
    sizes, m = np.diag(counts), X.shape[1]
    assert (sizes > 1200).sum() > 4
    with localcontext() as context:
        context.prec = 3000
        own = [1 / (Decimal(2) ** int(s) - 1).sqrt() for s in sizes]
        K = [
            [(Decimal(2) ** int(counts[i, j]) - 1) * own[i] * own[j] for j in range(m)]
            for i in range(m)
        ]
        q = [sum(K[i][j] for i in range(m) if i != j) / m for j in range(m)]
        for user in range(0, 6000, 600):
            items = np.flatnonzero(X[user])
            others = [j for j in range(m) if not X[user, j]]
            if not len(items) or not others:
                continue
            # The matrix is the identity to a thousand digits, so the weights are all alike.
            exact = {j: sum(K[i][j] for i in items) / len(items) - q[j] for j in others}
            expected = sorted(others, key=lambda j: -exact[j])
            assert model.recommend([user], n=m).lists()[0] == expected
            assert len(set(model.score([user], others)[0])) == len(others)


def test_a_matrix_over_the_limit_is_refused_before_it_is_made(monkeypatch) -> None:
    overlaps = Overlaps.of(Interactions.from_matrix(draw(0, 50, 30)))
    monkeypatch.setattr("boolrank._memory.free_memory", lambda: 1000)
    with pytest.raises(MatrixTooLargeError, match=r"takes .* are free") as caught:
        kernel_matrix(parse_kernel("linear"), overlaps)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(ValueError, match="storage is one of"):
        kernel_matrix(parse_kernel("linear"), overlaps, storage="sparse")


BOTH = pytest.mark.parametrize("storage", ["dense", "compressed"])


@BOTH
def test_reasons_and_similar_items_hold_where_doubles_end(storage: str) -> None:
    X = np.random.default_rng(0).random((6000, 30)) < 0.45
    data = Interactions.from_matrix(X)
    model = KernelRanker("monotone_dnf", storage=storage).fit(data)
    for user in range(5):
        new = int(np.flatnonzero(~X[user])[0])
        parts = model.explain(user, new)
        assert sum(part for _, part in parts) == pytest.approx(model.score([user], [new])[0, 0])
    counts = X.T.astype(int) @ X
    # (2^c - 1)/√((2^x - 1)(2^z - 1)): with such counts, the order of 2c - x - z.
    order = 2 * counts - np.diag(counts)[:, None] - np.diag(counts)
    for item in range(30):
        others = [j for j in np.argsort(-order[item], kind="stable") if j != item]
        assert model.similar_items([item], n=29).lists()[0] == others


@BOTH
def test_items_that_share_nobody_do_not_hide_that_doubles_end(storage: str) -> None:
    rng = np.random.default_rng(1)
    alone = [(3000 * i + k, i) for i in range(70) for k in range(2900)]
    X = rng.random((5200, 12)) < 0.5
    pairs = [*alone, *((10**6 + u, 1000 + i) for u, i in np.argwhere(X).tolist())]
    users, items = zip(*pairs, strict=True)
    model = KernelRanker("monotone_dnf", storage=storage).fit(Interactions.from_pairs(users, items))
    user = 10**6 + int(np.flatnonzero(X.sum(axis=1) == 6)[0])
    assert model.matrix.scale
    assert min(model.recommend([user], n=2).lists()[0]) >= 1000


def test_items_of_which_no_two_can_be_disjoint() -> None:
    data = Interactions.from_matrix(np.random.default_rng(0).random((4000, 30)) < 0.6)
    a, b = (KernelRanker("monotone_dnf", storage=s).fit(data) for s in ("dense", "compressed"))
    assert np.array_equal(a.recommend().items, b.recommend().items)


@pytest.mark.parametrize(
    "text", ["linear", "disjunctive(8)", "literal_disjunctive(20)", "tanimoto"]
)
def test_a_pair_and_its_mirror_image_have_equal_bits(text: str) -> None:
    """Values are computed in chunks; a short last one would be computed in another way."""
    X = np.random.default_rng(0).random((40, 1026)) < 0.6
    matrix = CompressedMatrix.of(parse_kernel(text), Overlaps.of(Interactions.from_matrix(X)))
    assert 0 < len(matrix.values) - CHUNK < 10_000
    K = csr_array((matrix.values, matrix.columns, matrix.indptr))
    assert (K != K.T).nnz == 0


def test_means_do_not_depend_on_threads_of_blas() -> None:
    sizes = 1 + np.arange(2_601) % 926  # threads share 926 classes unevenly
    overlaps = Overlaps.of(Interactions.from_matrix(np.arange(1_001)[:, None] < sizes))
    found = []
    for count in (1, 2):
        with threadpool_limits(limits=count, user_api="blas"):
            found.append(CompressedMatrix.of(parse_kernel("disjunctive(8)"), overlaps).pull)
    assert np.array_equal(*found)
