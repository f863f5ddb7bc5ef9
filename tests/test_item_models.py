"""Models with weights of items for items: each beside its definition, in the plainest way."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from boolrank import (
    MODELS,
    Ease,
    Interactions,
    ItemKNN,
    KernelEase,
    KernelRanker,
    LRec,
    Overlaps,
    ParameterError,
    Recommendations,
    Slim,
    SpectralRanker,
    make_model,
    parse_kernel,
    synthetic,
)
from boolrank._memory import require_memory
from boolrank.engines.threads import threads
from boolrank.errors import MatrixTooLargeError, ParameterTypeError
from boolrank.models import ease, inverse, item_knn
from boolrank.models.block_inverse import invert_in_place
from boolrank.models.sparse_scorer import SparseScorer
from boolrank.testing import check_recommender

# How far scores may be from the definition, relative to the largest: they are rounded to 2^-36 of
# their terms in double precision.
CLOSE = {"float64": 1e-10, "float32": 2e-4}


@pytest.fixture(scope="module")
def data():
    return synthetic(150, 70, 1_800, 3)


@pytest.fixture(scope="module")
def seen(data):
    return data.matrix().toarray().astype(float)


def _furthest(model, data, expected):
    """The largest difference of scores, relative to the largest score."""
    return np.abs(model.fit(data).score() - expected).max() / np.abs(expected).max()


def _autoencoder(matrix, reg):
    inverted = np.linalg.inv(matrix + reg * np.eye(len(matrix)))
    weights = np.eye(len(matrix)) - inverted @ np.diag(1 / np.diag(inverted))
    np.fill_diagonal(weights, 0.0)
    return weights


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"popularity", "kernel-ranker"}))
def test_every_model_keeps_the_contract(name):
    if MODELS[name].extra:
        pytest.skip(f"{name} is tested with what it needs")
    check_recommender(make_model(name, n_threads=1), n_users=15, n_items=9)


@pytest.mark.parametrize(
    "model",
    [
        Ease(0.5, "float32", n_threads=1),
        LRec(3.0, "float32", n_threads=1),
        KernelEase("monotone_dnf", 0.01, 0.5, -0.2, n_threads=1),
        KernelEase("linear", 0.2, 0.1, 0.3, "float32", n_threads=1),
        ItemKNN(0.2, 3.0, 4, n_threads=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_keep_the_contract_with_other_parameters(model):
    check_recommender(model, 1, n_users=14, n_items=10)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("reg", [0.5, 20.0, 500.0])
def test_ease_is_the_inverse_of_the_counts(data, seen, reg, dtype):
    expected = seen @ _autoencoder(seen.T @ seen, reg)
    assert _furthest(Ease(reg, dtype), data, expected) < CLOSE[dtype]


def _weighted(seen, exponent):
    """Shared users, where a user weighs activity^-exponent."""
    return (seen.T * seen.sum(axis=1) ** -exponent) @ seen


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("exponents", [(0.5, 0.0, 0.0), (1.0, -0.4, 0.3), (0.0, 0.2, -0.1)])
def test_ease_and_lrec_weigh_users_and_items(data, seen, exponents, dtype):
    users, given, scored = exponents
    gram, sizes = _weighted(seen, users), seen.sum(axis=0)
    params = {"user_exponent": users, "input_exponent": given, "output_exponent": scored}
    expected = (seen * sizes**-given) @ _autoencoder(gram, 3.0) * sizes**-scored
    assert _furthest(Ease(3.0, dtype, **params), data, expected) < CLOSE[dtype]
    weights = np.linalg.solve(gram + 3.0 * np.eye(len(gram)), gram)
    expected = (seen * sizes**-given) @ weights * sizes**-scored
    assert _furthest(LRec(3.0, dtype, **params), data, expected) < CLOSE[dtype]


def test_ease_predicts_an_item_from_the_others_by_least_squares(data, seen):
    reg, scores = 7.0, Ease(7.0).fit(data).score()
    for item in (0, 13, 69):
        others = np.delete(seen, item, axis=1)
        rows = np.vstack([others, np.sqrt(reg) * np.eye(others.shape[1])])
        wanted = np.concatenate([seen[:, item], np.zeros(others.shape[1])])
        weights, *_ = np.linalg.lstsq(rows, wanted, rcond=None)
        assert scores[:, item] == pytest.approx(others @ weights, abs=1e-10)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("reg", [0.5, 20.0, 500.0])
def test_lrec_is_a_ridge_regression_for_each_user(data, seen, reg, dtype):
    """Features of an item are its users; a user's own items are what is to be found."""
    weights = np.linalg.inv(seen @ seen.T + reg * np.eye(len(seen))) @ seen @ seen.T
    assert _furthest(LRec(reg, dtype), data, weights.T @ seen) < CLOSE[dtype]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("kernel", ["linear", "disjunctive(2)", "disjunctive(8)**3", "tanimoto"])
def test_kernel_ease_is_the_inverse_of_the_kernel_matrix(data, seen, kernel, dtype):
    gram = parse_kernel(kernel).normalized()(seen.T.astype(np.int8))
    sizes = seen.sum(axis=0)
    plain = seen @ _autoencoder(gram, 3.0)
    assert _furthest(KernelEase(kernel, 3.0, dtype=dtype), data, plain) < CLOSE[dtype]
    damped = (seen * sizes**-0.7) @ _autoencoder(gram, 3.0) * sizes**-0.2
    assert _furthest(KernelEase(kernel, 3.0, 0.7, 0.2, dtype), data, damped) < CLOSE[dtype]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("arity", [1, 3])
def test_kernel_ease_weighs_users(data, seen, arity, dtype):
    """On masses, a disjunction is of independent draws of users."""
    common = _weighted(seen, 0.6) / (seen.sum(axis=1) ** -0.6).sum()
    own = np.diag(common)
    union = own[:, None] + own - common
    gram = 1 - (1 - own[:, None]) ** arity - (1 - own) ** arity + (1 - union) ** arity
    gram /= np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    sizes = seen.sum(axis=0)
    expected = (seen * sizes**-0.1) @ _autoencoder(gram, 2.0) * sizes**0.2
    model = KernelEase(f"disjunctive({arity})", 2.0, 0.1, -0.2, dtype, user_exponent=0.6)
    assert _furthest(model, data, expected) < CLOSE[dtype]


def test_kernel_ease_with_a_large_reg_is_item_knn(data):
    """It leaves the kernel itself, here the cosine."""
    near, kernel = ItemKNN().fit(data).score(), KernelEase("linear", 1e9).fit(data).score()
    assert np.abs(1e9 * kernel - near).max() < 1e-6 * near.max()


def test_positive_exponents_damp_popular_items(data):
    sizes = data.popularity()

    def popularity_of_lists(**exponents):
        found = KernelEase("linear", 3.0, **exponents).fit(data).recommend(n=5)
        return np.mean([sizes[data.items.number(item)] for row in found.lists() for item in row])

    plain = popularity_of_lists()
    assert (
        popularity_of_lists(output_exponent=1.0) < plain < popularity_of_lists(output_exponent=-1.0)
    )


def test_kernel_ease_takes_values_below_all_doubles_as_they_are():
    """Two thousand users of each item: with the monotone DNF kernel only its diagonal is left."""
    rng = np.random.default_rng(0)
    data = Interactions.from_matrix(rng.random((4000, 6)) < 0.5)
    model = KernelEase("monotone_dnf", 1.0).fit(data)
    assert KernelRanker("monotone_dnf").fit(data).matrix.scale is not None
    assert np.isfinite(model.score()[data.matrix().toarray().any(axis=1)]).all()


@pytest.mark.parametrize("locality", [1.0, 2.5])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_item_knn_is_the_asymmetric_cosine_to_a_power(data, seen, alpha, locality):
    expected = np.zeros(seen.shape)
    users = [set(np.flatnonzero(column)) for column in seen.T]
    near = np.zeros((len(users), len(users)))
    for i, of_i in enumerate(users):
        for j, of_j in enumerate(users):
            if i != j:
                near[i, j] = len(of_i & of_j) / (len(of_i) ** alpha * len(of_j) ** (1 - alpha))
    expected = seen @ near**locality
    assert _furthest(ItemKNN(alpha, locality), data, expected) < 1e-12


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_item_knn_weighs_users(data, seen, exponent):
    counts = _weighted(seen, exponent)
    masses = np.diag(counts)
    near = (counts / (masses[:, None] ** 0.2 * masses**0.8)) ** 1.5
    np.fill_diagonal(near, 0.0)
    model = ItemKNN(0.2, 1.5, user_exponent=exponent)
    assert _furthest(model, data, seen @ near) < 1e-10
    damped = seen @ near * seen.sum(axis=0) ** -0.4
    assert _furthest(model.set_params(output_exponent=0.4), data, damped) < 1e-10


@pytest.mark.parametrize(
    "model",
    [
        ItemKNN(),
        ItemKNN(neighbours=1),
        Ease(1.0, storage="sparse", density=1.0),
        KernelEase("linear", 1.0, storage="sparse", density=1.0),
        Slim(),
    ],
    ids=str,
)
def test_items_that_nothing_reaches_come_by_popularity(model):
    pairs = [(1, "tea"), (1, "jam"), (2, "tea"), (2, "jam"), (3, "tea"), (3, "jam")]
    pairs += [(4, "bun"), (5, "egg"), (6, "egg"), (7, "oat"), (8, "egg"), (8, "oat")]
    model.fit(Interactions.from_pairs(*zip(*pairs, strict=True)))
    assert model.recommend_profile(["tea"], 5).lists() == [["jam", "egg", "oat", "bun"]]
    assert model.recommend_profile(["bun"], 5, exclude=["tea"]).lists() == [["egg", "jam", "oat"]]
    assert (model.score_profiles([["bun"]])[0] * 2.0**1000).tolist() == [1, 3, 3, 2, 3]


def test_the_output_exponent_changes_scores_but_no_neighbours(data):
    plain, damped = (ItemKNN(neighbours=5, output_exponent=e).fit(data) for e in (0.0, -0.3))
    expected = plain.score() * data.popularity() ** 0.3
    assert damped.score() == pytest.approx(expected, rel=1e-10)


WEIGHTED = [
    Ease(1.0, user_exponent=0.7, input_exponent=0.3, output_exponent=-0.2),
    LRec(1.0, user_exponent=1.0),
    KernelEase("disjunctive(3)", 1.0, user_exponent=0.8),
    KernelEase("conjunctive(2)", 1.0, user_exponent=0.5),
    ItemKNN(user_exponent=0.5, neighbours=6, output_exponent=0.2),
]


@pytest.mark.parametrize("model", WEIGHTED, ids=lambda model: type(model).__name__)
def test_weighted_users_keep_the_contract(model):
    check_recommender(model, n_users=15, n_items=9)


@pytest.mark.parametrize("model", WEIGHTED, ids=lambda model: type(model).__name__)
def test_overlaps_of_other_weights_are_ignored(data, model):
    scores = copy.deepcopy(model).fit(data).score()
    assert np.array_equal(copy.deepcopy(model).fit(data, Overlaps.of(data)).score(), scores)
    own = Overlaps.of(data, user_exponent=model.user_exponent)
    for shared in (own, own.sparse()):
        assert np.array_equal(copy.deepcopy(model).fit(data, shared).score(), scores)


def test_item_knn_keeps_the_nearest_of_each_item(data, seen):
    sizes = seen.sum(axis=0)
    near = (seen.T @ seen) / np.sqrt(np.outer(sizes, sizes))
    np.fill_diagonal(near, 0.0)
    for i, row in enumerate(near):
        left = sorted(range(len(row)), key=lambda j: (-row[j], j))[5:]
        near[i, left] = 0.0
    assert _furthest(ItemKNN(neighbours=5), data, seen @ near) < 1e-12
    everything = ItemKNN(neighbours=10**6).fit(data).score()
    assert np.array_equal(everything, ItemKNN().fit(data).score())


SMALL = [Ease(1.0), LRec(1.0), KernelEase("linear", 1.0), ItemKNN()]


@pytest.mark.parametrize("model", SMALL, ids=lambda model: type(model).__name__)
def test_small_and_full_data_do(model):
    one = copy.deepcopy(model).fit(Interactions.from_pairs([1], ["a"]))
    assert one.recommend(n=3).lists() == [[]]
    assert one.recommend(n=3, exclude_seen=False).lists() == [["a"]]
    row = copy.deepcopy(model).fit(Interactions.from_pairs([1, 1, 1], ["a", "b", "c"]))
    assert row.recommend_profile(["b"]).lists() == [["a", "c"]]
    full = copy.deepcopy(model).fit(Interactions.from_matrix(np.ones((4, 5), bool)))
    assert full.recommend_profile([3]).lists() == [[0, 1, 2, 4]]
    lonely = np.eye(4, 5, dtype=bool) | (np.arange(5) == 0)
    lonely[:, 4] = False  # an item that nobody has
    found = copy.deepcopy(model).fit(Interactions.from_matrix(lonely)).score()
    assert np.isfinite(found).all()
    assert (found[:, 4] == 0).all()


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("kind", [Ease, LRec, KernelEase])
def test_a_singular_matrix_is_said_with_what_to_do(kind, dtype):
    full = Interactions.from_matrix(np.ones((4, 5), bool))
    for reg in (0.0, 1e-20):
        with pytest.raises(ParameterError, match=rf"reg={reg:g} of {kind.__name__} leaves .* sing"):
            kind(reg=reg, dtype=dtype).fit(full)
    nobody = Interactions.from_matrix(np.array([[True, False], [True, False]]))
    if kind is not KernelEase:  # where an item that nobody has stands for itself
        with pytest.raises(ParameterError, match="use a larger reg"):
            kind(reg=0.0, dtype=dtype).fit(nobody)


def test_independent_items_need_no_regularisation():
    data = Interactions.from_matrix(np.eye(3, dtype=bool))
    assert np.array_equal(Ease(reg=0.0).fit(data).score(), np.zeros((3, 3)))
    assert np.array_equal(LRec(reg=0.0).fit(data).score(), np.eye(3))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Ease(reg=-1.0), "reg of Ease must be a number from 0 to 1e.12, not -1.0"),
        (Ease(reg=float("nan")), "reg of Ease must be .* not nan"),
        (Ease(reg="5"), "reg of Ease must be .* not '5'"),
        (Ease(dtype="float16"), "dtype of Ease must be one of float64, float32, not 'float16'"),
        (LRec(reg=None), "reg of LRec must be .* not None"),
        (LRec(dtype=np.float32), "dtype of LRec must be one of"),
        (KernelEase(reg=-2), "reg of KernelEase must be .* not -2"),
        (
            KernelEase(input_exponent=float("inf")),
            "input_exponent of KernelEase must be a number",
        ),
        (KernelEase(output_exponent="1"), "output_exponent of KernelEase must be .* not '1'"),
        (KernelEase("disjunctive(0)"), "arity"),
        (KernelEase("disjunctive(9999)"), "arity .* 150"),
        (ItemKNN(alpha=1.5), "alpha of ItemKNN must be a number from 0 to 1, not 1.5"),
        (ItemKNN(locality=-1), "locality of ItemKNN must be a number from 0"),
        (ItemKNN(neighbours=0), "neighbours of ItemKNN must be a whole number, 1 or more, not 0"),
        (
            ItemKNN(neighbours=2.5),
            "neighbours of ItemKNN must be a whole number, 1 or more",
        ),
        (Ease(n_threads=0), "n_threads of Ease must be a whole number"),
    ],
)
def test_impossible_parameters_are_said(data, model, said):
    with pytest.raises((ParameterError, ParameterTypeError), match=said):
        model.fit(data)


@pytest.mark.parametrize("model", SMALL, ids=lambda model: type(model).__name__)
def test_threads_and_given_overlaps_change_no_bit(data, model):
    one = copy.deepcopy(model).set_params(n_threads=1).fit(data)
    two = copy.deepcopy(model).set_params(n_threads=2).fit(data, Overlaps.of(data))
    assert np.array_equal(one.score(), two.score())
    _same_lists(one.recommend(n=9), two.recommend(n=9))
    sparse = copy.deepcopy(model).fit(data, Overlaps.of(data).sparse())
    assert np.array_equal(one.score(), sparse.score())


def _same_lists(left: Recommendations, right: Recommendations) -> None:
    assert left.lists() == right.lists()
    assert np.array_equal(left.scores, right.scores, equal_nan=True)


LISTS = """
from boolrank import Ease, KernelEase, LRec, synthetic
import numpy as np
data = synthetic(400, 700, 8_000, 3)
for model in (Ease(50.0), LRec(5.0), KernelEase("disjunctive(2)", 5.0)):
    found = model.fit(data).recommend(n=20)
    for row, scores in zip(found.lists(), found.scores):
        print(*row, *scores)
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverses_of_many_blocks_equal_lapack_and_leave_what_is_below_the_diagonal(
    dtype, monkeypatch
):
    monkeypatch.setattr("boolrank.models.block_inverse._ROWS", 16)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 201))
    whole = (rows.T @ rows + 30 * np.eye(201)).astype(dtype)
    below = np.tril(np.full(whole.shape, np.nan, dtype), -1)
    found = []
    for n_threads in (1, 2):
        matrix = np.where(np.tri(201, k=-1), below, whole)
        with threads(n_threads), threadpool_limits(n_threads, "blas"):
            pivots = invert_in_place(matrix)
        found.append((matrix.tobytes(), pivots.tobytes()))
    assert found[0] == found[1]
    exact = whole.astype(np.float64)
    error = 20 * np.finfo(dtype).eps
    assert np.array_equal(np.tril(matrix, -1), below, equal_nan=True)
    assert np.allclose(np.triu(matrix), np.triu(np.linalg.inv(exact)), rtol=0, atol=error)
    assert np.allclose(pivots, np.diag(np.linalg.cholesky(exact)), rtol=error)


def test_the_error_of_an_inverse_grows_with_the_condition_and_not_with_its_square(monkeypatch):
    monkeypatch.setattr("boolrank.models.block_inverse._ROWS", 16)
    seen = np.random.default_rng(0).random((60, 201)) < 0.1
    reg, (_, sizes, vectors) = 1e-6, np.linalg.svd(seen.astype(float), full_matrices=False)
    kept = (vectors.T * (sizes**2 / (sizes**2 + reg))) @ vectors
    matrix = seen.T @ seen.astype(float) + reg * np.eye(201)
    invert_in_place(matrix)
    error = abs(np.triu(reg * matrix - (np.eye(201) - kept))).max()
    assert error < np.finfo(float).eps * sizes[0] ** 2 / reg


def test_a_matrix_that_is_not_positive_definite_has_no_inverse_whichever_block_shows_it(
    monkeypatch,
):
    monkeypatch.setattr("boolrank.models.block_inverse._ROWS", 2)
    for place in range(9):
        matrix = np.eye(9)
        matrix[place, place] = 0.0
        assert invert_in_place(matrix) is None


def test_scores_and_lists_do_not_depend_on_the_threads_of_blas():
    lists = [
        subprocess.run(
            [sys.executable, "-c", LISTS],
            env=os.environ | {"OPENBLAS_NUM_THREADS": count},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for count in ("1", "2")
    ]
    assert lists[0].count("\n") == 1200
    assert lists[0] == lists[1]


def test_items_that_everybody_treats_alike_tie(seen):
    """But for one in hundreds whose scores are rounded apart: they fall on both sides of a step."""
    twins = np.hstack([seen, seen[:, :30]]).astype(bool)
    data = Interactions.from_matrix(twins)
    for model in SMALL:
        scores = copy.deepcopy(model).fit(data).score()
        alone = ~twins[:, :30]  # who has both has them speak for each other
        left, right = scores[:, 70:][alone], scores[:, :30][alone]
        assert np.mean(left == right) > 0.995
        assert np.abs(left - right).max() < 1e-10 * np.abs(scores).max()


def test_shuffled_rows_give_the_same_bits(data):
    rows = np.repeat(np.arange(150), np.diff(data.indptr))
    users = np.array(list(data.users))[rows]
    items = np.array(list(data.items))[data.indices]
    order = np.random.default_rng(4).permutation(len(rows))
    mixed = Interactions.from_pairs(users[order].tolist(), items[order].tolist())
    straight = Interactions.from_pairs(users.tolist(), items.tolist())
    for model in SMALL:
        first, second = (copy.deepcopy(model).fit(each) for each in (straight, mixed))
        _same_lists(first.recommend(n=8), second.recommend(n=8))


@pytest.mark.parametrize("kind", [Ease, LRec, KernelEase])
def test_what_does_not_fit_is_said_before_it_is_tried(data, monkeypatch, kind):
    monkeypatch.setattr(ease, "free_memory", lambda: 50_000)
    monkeypatch.setattr(inverse, "require_memory", partial(require_memory, free=50_000))
    needed = r"70 items takes 0.1 MB, and 0.1 MB are free"
    dense = {} if kind is LRec else {"storage": "dense"}
    with pytest.raises(MatrixTooLargeError, match=rf"{kind.__name__} on .*{needed}.*rarest items"):
        kind(reg=1.0, dtype="float64", **dense).fit(data)
    if dense:
        assert isinstance(kind(reg=1.0, storage="auto").fit(data).scorer, SparseScorer)
    if kind is not KernelEase:  # whose values are computed in double precision
        kind(reg=1.0, dtype="float32").fit(data)


def test_similarities_that_do_not_fit_are_said(data, monkeypatch):
    monkeypatch.setattr(item_knn, "require_memory", partial(require_memory, free=1000))
    with pytest.raises(MatrixTooLargeError, match="pairs of items take"):
        ItemKNN().fit(data)


def test_a_fit_that_fails_leaves_the_model_as_it_was(data):
    model = Ease(5.0).fit(data)
    before = model.score()
    with pytest.raises(ParameterError):
        model.set_params(reg=-1.0).fit(data)
    assert np.array_equal(model.score(), before)


PEAK = """
import sys
import numpy as np
from boolrank import Ease, Interactions, KernelEase, LRec, MeanRanker

def memory(name):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(name))

kind, dtype, copies = sys.argv[1:]
models = {"ease": Ease, "lrec": LRec, "kernel": KernelEase, "mean": MeanRanker}
model = models[kind](reg=5.0, **({} if kind == "mean" else {"dtype": dtype}))
rng = np.random.default_rng(0)
model.fit(Interactions.from_matrix(rng.random((300, 150)) < 0.2))  # whatever is loaded, is
data = Interactions.from_matrix(np.tile(rng.random((300, 3000)) < 0.08, int(copies)))
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")  # the peak so far does not count
before = memory("VmRSS")
model.fit(data)
print((memory("VmHWM") - before) / 3000**2 / np.dtype(dtype).itemsize)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is asked of Linux")
@pytest.mark.parametrize(
    ("kind", "dtype", "copies"),
    [
        ("ease", "float64", "1"),
        ("ease", "float32", "1"),
        ("lrec", "float64", "1"),
        ("kernel", "float64", "1"),
        ("kernel", "float64", "2"),
        ("mean", "float64", "1"),
    ],
)
def test_no_more_than_two_matrices_of_distinct_items_are_held_at_once(kind, dtype, copies):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, kind, dtype, copies],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0.9 < float(done.stdout) < 2.2  # a tenth for the data and for LAPACK's own


@pytest.mark.parametrize(
    "model",
    [Ease(reg=1.0, dtype="float32"), LRec(reg=1.0, dtype="float32"), SpectralRanker(recency=2.0)],
)
def test_reasons_add_up_to_rounded_scores(model) -> None:
    seen = np.random.default_rng(0).random((200, 60)) < 0.2
    users, items = np.nonzero(seen)
    data = Interactions.from_pairs(users, items, time=np.arange(len(users)))
    model, wanted = copy.deepcopy(model).fit(data), range(0, 60, 5)
    for user, scores in zip(wanted, model.score(wanted, wanted), strict=True):
        sums = [sum(part for _, part in model.explain(user, item)) for item in wanted]
        assert np.allclose(sums, scores, rtol=1e-9, atol=0)
    assert model.scorer.parts(model.fitted.profiles(np.array([0])), []) == []
