"""Bad input raises an error that says what is wrong and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse

from boolrank import (
    BoolrankError,
    Conjunctive,
    Disjunctive,
    InputError,
    Kernel,
    Linear,
    MonotoneDNF,
    ParameterError,
    Tanimoto,
    Threshold,
    _memory,
)
from boolrank.errors import (
    CountsError,
    KernelOverflowError,
    MatrixTooLargeError,
    ParameterTypeError,
)
from boolrank.kernels import (
    DNF,
    ComposedCNF,
    ComposedDNF,
    LiteralConjunctive,
    LiteralDisjunctive,
    Polynomial,
)
from strategies import binary_matrices

# Builders of a kernel from one whole number, and the name of that parameter.
WHOLE: dict[str, tuple[Callable[[Any], Kernel], str]] = {
    "conjunctive": (Conjunctive, "arity"),
    "disjunctive": (Disjunctive, "arity"),
    "literal_conjunctive": (LiteralConjunctive, "arity"),
    "literal_disjunctive": (LiteralDisjunctive, "arity"),
    "threshold arity": (lambda d: Threshold(1, d), "arity"),
    "threshold satisfied": (lambda t: Threshold(t, 3), "satisfied"),
    "polynomial": (Polynomial, "degree"),
    "dnf": (lambda d: DNF(max_arity=d), "max_arity"),
    "monotone_dnf": (lambda d: MonotoneDNF(max_arity=d), "max_arity"),
    "composed_dnf clauses": (lambda d: ComposedDNF(d, 2), "clauses"),
    "composed_dnf literals": (lambda d: ComposedDNF(2, d), "literals"),
    "composed_cnf clauses": (lambda d: ComposedCNF(d, 2), "clauses"),
    "composed_cnf literals": (lambda d: ComposedCNF(2, d), "literals"),
    "power": (lambda p: Linear() ** p, "exponent"),
}
POSITIVE: dict[str, tuple[Callable[[Any], Kernel], str]] = {
    "dnf": (DNF, "weight"),
    "monotone_dnf": (MonotoneDNF, "weight"),
    "polynomial": (lambda s: Polynomial(2, scale=s), "scale"),
}
X = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])


def kind(value: float) -> str:
    """Name numbers that Python refuses to print."""
    return f"{value.bit_length()}-bits" if isinstance(value, int) else str(value)


@pytest.mark.parametrize("value", [0, -1, 2.5, float("nan"), float("inf"), -3.0])
@pytest.mark.parametrize("name", WHOLE)
def test_a_number_that_is_not_whole_and_positive_raises(name: str, value: float) -> None:
    build, parameter = WHOLE[name]
    with pytest.raises(ParameterError) as caught:
        build(value)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert parameter in message
    assert str(value) in message
    assert "whole number" in message


@pytest.mark.parametrize("value", [True, "3", [3], 3j, np.bool_(True), np.array([3])])
@pytest.mark.parametrize("name", WHOLE)
def test_a_parameter_of_another_type_raises(name: str, value: object) -> None:
    build, parameter = WHOLE[name]
    with pytest.raises(ParameterTypeError) as caught:
        build(value)
    assert isinstance(caught.value, TypeError)
    assert parameter in str(caught.value)
    assert type(value).__name__ in str(caught.value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", POSITIVE)
def test_a_weight_out_of_range_raises(name: str, value: float) -> None:
    build, parameter = POSITIVE[name]
    with pytest.raises(ParameterError, match=parameter):
        build(value)
    with pytest.raises(ParameterTypeError, match=parameter):
        build("1")


@pytest.mark.parametrize("value", [2**53, 2**62, 10**30, 10**400, 10**5000, 1e300], ids=kind)
@pytest.mark.parametrize("name", WHOLE)
def test_a_number_too_large_raises(name: str, value: float) -> None:
    build, parameter = WHOLE[name]
    with pytest.raises(ParameterError, match=f"{parameter} of .* from 1 to") as caught:
        build(value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=kind)
@pytest.mark.parametrize("name", POSITIVE)
def test_a_weight_beyond_doubles_raises(name: str, value: int) -> None:
    build, parameter = POSITIVE[name]
    with pytest.raises(ParameterError, match=f"{parameter} of .* bits"):
        build(value)


@pytest.mark.parametrize("value", ["no", "False", 1, 0, None])
def test_a_flag_must_be_a_bool(value: Any) -> None:
    for build in (lambda v: Conjunctive(2, up_to=v), lambda v: ComposedDNF(2, 2, monotone=v)):
        with pytest.raises(ParameterTypeError, match="must be True or False"):
            build(value)
    assert Conjunctive(2, up_to=np.bool_(True)) == Conjunctive(2, up_to=True)


def test_the_highest_degree_is_exact() -> None:
    kernel = Polynomial(1 << 20)
    assert kernel.on_counts(9, 1, 1, 1) == 1
    with pytest.raises(KernelOverflowError, match=r"\.normalized\(\)"):
        kernel.on_counts(9, 2, 2, 2)
    value = kernel.normalized().on_counts(2 * 10**6, 10**6, 10**6, 10**6 - 100)
    exact = Context(prec=40).power(Decimal("0.9999"), 1 << 20)
    assert abs(Decimal(float(value)) / exact - 1) < Decimal("1e-12")
    tower = (kernel ** (1 << 20)) ** (1 << 20)
    with pytest.raises(KernelOverflowError, match="smaller power"):
        tower.on_counts(9, 9, 9, 9)
    assert tower.on_counts(9, 4, 4, [0, 1]).tolist() == [0, 1]


def test_an_offset_can_be_zero_but_not_negative() -> None:
    assert Polynomial(2, offset=0) == Polynomial(2)
    with pytest.raises(ParameterError, match="offset"):
        Polynomial(2, offset=-0.5)


def test_satisfied_above_the_arity_raises() -> None:
    with pytest.raises(ParameterError, match="satisfied"):
        Threshold(4, 3)


@pytest.mark.parametrize(
    "build",
    [
        *(Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive),
        lambda d: Conjunctive(d, up_to=True),
        lambda d: Threshold(2, d),
        lambda d: DNF(max_arity=d),
        lambda d: MonotoneDNF(max_arity=d),
        lambda d: ComposedDNF(1, d),
        lambda d: ComposedCNF(1, d),
    ],
)
def test_an_arity_above_the_number_of_variables_raises(build: Callable[[int], Kernel]) -> None:
    kernel = build(5)
    for use in (
        lambda: kernel(X),
        lambda: kernel.diag(X),
        lambda: kernel.normalized()(X),
        lambda: kernel.on_counts(4, 2, 2, 1),
        lambda: kernel.on_counts([9, 4], 2, 2, 1),
    ):
        with pytest.raises(ParameterError, match="is 5, but there are only 4 variables"):
            use()
    kernel.on_counts(5, 2, 2, 1)


def test_more_clauses_than_exist_raise() -> None:
    assert ComposedDNF(6, 2)(X).shape == (3, 3)
    for kernel, said in (
        (ComposedDNF(7, 2), r"arity of disjunctive\(7\) is 7, .* only 6 features"),
        (ComposedCNF(7, 2), r"arity of conjunctive\(7\) is 7, .* only 6 features"),
        (Disjunctive(7) @ Conjunctive(2), r"arity of disjunctive\(7\) is 7, .* only 6 features"),
    ):
        for use in (kernel, kernel.diag, kernel.normalized()):
            with pytest.raises(ParameterError, match=said):
                use(X)


def test_an_arity_that_is_too_high_raises_with_the_highest_one() -> None:
    with pytest.raises(ParameterError) as caught:
        (Linear() + Disjunctive(40)).normalized().on_counts(12, 3, 4, 2)
    assert caught.value.message == "arity of disjunctive(40) is 40, but there are only 12 variables"
    assert caught.value.hint == "use arity <= 12"
    assert caught.value.parameter == "arity"
    with pytest.raises(ParameterError, match=r"there is only 1 variable; use arity <= 1$"):
        Disjunctive(2).on_counts(1, 1, 1, 1)
    with pytest.raises(ParameterError, match=r"there are only 0 variables$"):
        Disjunctive(2).on_counts(0, 0, 0, 0)
    with pytest.raises(ParameterError, match=r"max_arity .* only 2 variables; use max_arity <= 2$"):
        DNF(max_arity=3).on_counts(2, 1, 1, 1)


def test_a_gram_matrix_too_large_for_memory_raises_before_it_is_computed() -> None:
    """Six million rows of one variable take 432,000 GB."""
    many = np.ones((6_000_000, 1), dtype=bool)
    for kernel in (Linear(), Threshold(1, 1)):
        with pytest.raises(MatrixTooLargeError, match=r" 432,000\.0 GB") as caught:
            kernel.normalized()(many)
        assert "blocks" in str(caught.value)
        assert "spectral_ratio" in str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert Linear()(many[:2], many).shape == (2, 6_000_000)


def test_free_memory_is_that_of_the_machine_and_the_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_GROUP", tmp_path)
    pages = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 1
    assert _memory.free_memory() > pages, "neither file is there"
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:    500 kB\n")
    assert _memory.free_memory() == 512_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert _memory.free_memory() == 512_000
    (tmp_path / "memory.max").write_text("3000\n")
    assert _memory.free_memory() == 2000
    (tmp_path / "memory.stat").write_text("active_file 900\ninactive_file 700\n")
    assert _memory.free_memory() == 2700, "files that are only cached are given back"
    (tmp_path / "memory.current").write_text("5000\n")
    assert _memory.free_memory() == 0


@pytest.mark.parametrize(
    ("line", "root", "names"),
    [
        ("0::/a/b", "", ("memory.max", "memory.current", "inactive_file")),
        (
            "9:cpu,memory:/a/b",
            "memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_every_control_group_around_the_process_limits_its_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, root: str, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(_memory, "_GROUP", tmp_path)
    monkeypatch.setattr(_memory, "_OWN_GROUPS", tmp_path / "own")
    (tmp_path / "own").write_text(f"2:cpuset:/elsewhere\n{line}\n")
    limit, use, cached = names
    for folder, most in ((root, 9000), (f"{root}/a", 5000), (f"{root}/a/b", 1 << 60)):
        place = tmp_path / folder.strip("/")
        place.mkdir(parents=True, exist_ok=True)
        (place / limit).write_text(f"{most}\n")
        (place / use).write_text("1000\n")
        (place / "memory.stat").write_text(f"{cached} 100\n")
    assert _memory.free_memory() == 4100


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_limit_of_addresses_is_respected_and_the_error_is_ours() -> None:
    """A dense matrix of 20,000 items takes 3.2 GB; it is refused before anything is allocated."""
    script = """
import resource
import numpy as np
from boolrank import Interactions, KernelRanker
from boolrank.errors import MatrixTooLargeError
items = np.arange(20_000)
data = Interactions.from_pairs(items // 2, items)
KernelRanker("linear").fit(data)  # threads and compiled code have their addresses
held = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (1024 * held + 2 * 10**9,) * 2)
KernelRanker("linear").fit(data)
try:
    KernelRanker("linear", storage="dense").fit(data)
except MatrixTooLargeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "items takes 3.2 GB, and" in done.stdout, done.stdout


@pytest.mark.parametrize("value", [2, -1, 0.5, 255])
@pytest.mark.parametrize(
    "convert", [np.asarray, sparse.csr_array, sparse.coo_array, np.ndarray.tolist]
)
def test_a_matrix_that_is_not_binary_raises_with_the_cell(
    convert: Callable[[Any], Any], value: float
) -> None:
    bad = X.astype(float)
    bad[1, 2] = value
    for use in (Linear(), Linear().diag, lambda Z: Linear()(X, Z)):
        with pytest.raises(InputError, match=r"\[1, 2\]") as caught:
            use(convert(bad))
        assert isinstance(caught.value, ValueError)
        assert "> 0" in str(caught.value), "offers a threshold"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_missing_and_infinite_values_raise(convert: Callable[[Any], Any], value: float) -> None:
    bad = X.astype(float)
    bad[0, 3] = value
    with pytest.raises(InputError, match=r"\[0, 3\]"):
        Linear()(convert(bad))


def test_matrices_of_different_width_raise() -> None:
    with pytest.raises(InputError, match=r"4.*3|3.*4"):
        Linear()(X, X[:, :3])
    with pytest.raises(InputError, match=r"columns|variables"):
        Linear()(sparse.csr_array(X), X[:, :3])


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_an_empty_matrix_raises(shape: tuple[int, int]) -> None:
    for convert in (np.asarray, sparse.csr_array):
        with pytest.raises(InputError, match="empty"):
            Linear()(convert(np.zeros(shape)))


@pytest.mark.parametrize("bad", [[1, 0, 1], np.zeros((2, 2, 2)), np.array(1)])
def test_arrays_without_two_dimensions_raise(bad: Any) -> None:
    with pytest.raises(InputError, match="dimension"):
        Linear()(bad)


def test_a_single_vector_raises_and_names_reshape() -> None:
    with pytest.raises(InputError, match=r"reshape\(1, -1\)"):
        Linear()(np.array([1, 0, 1]))


@pytest.mark.parametrize(
    "bad", [[["a", "b"]], [[None, 1]], [[1, 0], [1]], [[10**400]], "text", None, {"a": 1}]
)
def test_input_without_numbers_raises(bad: Any) -> None:
    with pytest.raises(BoolrankError):
        Linear()(bad)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "mixed", "float"])
def test_frames_of_any_number_type_work(kind: str) -> None:
    frame = pd.DataFrame(X)
    if kind == "mixed":
        frame[0] = frame[0].astype(bool)
    else:
        frame = frame.astype(kind)
    assert (Disjunctive(2)(frame) == Disjunctive(2)(X)).all()


class Unwilling:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("not today")

    def __repr__(self):
        return "Unwilling()"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "is nan; choose"),
        (pd.DataFrame({"a": ["x", "y"], "b": [0, 1]}), "not a matrix of numbers.*'x'"),
        (np.ma.array([[1, 0]], mask=[[1, 0]]), r"X\.filled\(0\)"),
        ([], "is empty"),
        ("abc", "it has 0 dimension"),
        (Unwilling(), "not today"),
    ],
    ids=str,
)
def test_unusable_matrices_raise_with_a_hint(bad: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Linear()(bad)


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((5, 2, 2, 3), "c is more than x or z"),
        ((5, 3, 2, 3), "c is more than x or z"),
        ((5, 3, 3, 0), r"x \+ z - c is more than n"),
        ((5, 6, 1, 1), "more than n"),
        ((-1, 0, 0, 0), "n is negative"),
        ((5, -1, 2, 0), "x is negative"),
        ((5, 2, -1, 0), "z is negative"),
        ((5, 2, 2, -1), "c is negative"),
        ((5, 2.5, 2, 1), "x is not a whole number"),
        ((5, 2, 2, 0.5), "c is not a whole number"),
        ((5.5, 2, 2, 1), "n is not a whole number"),
        ((5, float("nan"), 2, 1), "x is not a whole number"),
        ((float("inf"), 2, 2, 1), "n"),
    ],
)
@pytest.mark.parametrize(
    "kernel", [Linear(), Tanimoto(), Disjunctive(2).normalized(), Linear() + DNF()]
)
def test_impossible_counts_raise(kernel: Kernel, pair: tuple[float, ...], said: str) -> None:
    with pytest.raises(CountsError, match=said) as caught:
        kernel.on_counts(*pair)
    assert isinstance(caught.value, ValueError)
    if all(isinstance(count, int) for count in pair):
        many = np.tile(np.array([[5], [2], [2], [1]]), 10_000)
        many[:, 1234] = pair
        with pytest.raises(CountsError, match="1234"):
            kernel.on_counts(*many)


@pytest.mark.parametrize("bad", ["two", None, [None], [True]])
def test_counts_that_are_not_numbers_raise(bad: Any) -> None:
    with pytest.raises(CountsError):
        Linear().on_counts(5, bad, 2, 1)


def test_counts_must_broadcast() -> None:
    assert Linear().on_counts(9, [[1], [2]], [3, 4, 5], 1).shape == (2, 3)
    with pytest.raises(CountsError, match="broadcast"):
        Linear().on_counts(9, [1, 2], [3, 4, 5], 1)
    with pytest.raises(CountsError, match="arrays that broadcast"):
        Linear().on_counts(9, [[1], [2, 3]], 3, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int64, np.float32, np.float64])
def test_counts_of_any_number_type_give_the_same_values(dtype: type) -> None:
    x, z, c = (np.array(a, dtype=dtype) for a in ([0, 3, 7, 9], [5, 3, 8, 9], [0, 3, 6, 9]))
    for kernel in (Linear(), Disjunctive(3), DNF(), Tanimoto(), Threshold(2, 3)):
        values = kernel.on_counts(dtype(9), x, z, c)
        plain = kernel.on_counts(9, x.astype(int), z.astype(int), c.astype(int))
        assert values.dtype == np.float64
        assert (values == plain).all()


def test_no_counts_give_no_values() -> None:
    assert Disjunctive(2).on_counts(9, [], [], []).shape == (0,)


SPARSE = [
    *(getattr(sparse, f"{form}_array") for form in ("csr", "csc", "coo", "bsr", "lil", "dok")),
    *(getattr(sparse, f"{form}_matrix") for form in ("csr", "csc", "coo", "bsr")),
]


@given(binary_matrices(max_columns=6))
def test_every_form_of_a_binary_matrix_gives_the_same_values(matrix: np.ndarray) -> None:
    for kernel in (Linear(), Disjunctive(1).normalized(), DNF()):
        values = kernel(matrix.astype(np.int64))
        for dtype in (bool, np.int8, np.uint8, np.int32, np.float32, np.float64):
            assert (kernel(matrix.astype(dtype)) == values).all()
        assert (kernel(matrix.tolist()) == values).all()
        assert (kernel(np.asfortranarray(matrix)) == values).all()
        for form in SPARSE:
            assert (kernel(form(matrix)) == values).all()
            assert (kernel(form(matrix), matrix[:1]) == kernel(matrix, matrix[:1])).all()
            assert (kernel.diag(form(matrix)) == np.diagonal(values)).all()


def test_stored_zeros_of_a_sparse_matrix_are_zeros() -> None:
    data = np.array([1, 0, 1, 0])
    stored = sparse.csr_array((data, [0, 1, 2, 3], [0, 2, 4]), shape=(2, 4))
    for kernel in (Linear(), Disjunctive(2), Tanimoto().normalized(), DNF()):
        assert (kernel(stored) == kernel(stored.toarray())).all()
    assert stored.nnz == 4, "the caller's matrix is left alone"


def test_entries_that_add_up_to_two_are_not_binary() -> None:
    twice = sparse.coo_array(([1, 1, 1], ([0, 0, 1], [2, 2, 0])), shape=(2, 4))
    with pytest.raises(InputError, match=r"\[0, 2\] is 2"):
        Linear()(twice)
    # Compressed rows keep duplicate entries until they are summed.
    within = sparse.csr_array(([1, 1, 1], [2, 2, 0], [0, 2, 3]), shape=(2, 4))
    with pytest.raises(InputError, match=r"\[0, 2\] is 2"):
        Linear()(within)
    cancelling = sparse.coo_array(([1, 1, -1, 1], ([0, 0, 0, 1], [2, 2, 2, 0])), shape=(2, 4))
    assert (Linear()(cancelling) == [[1, 0], [0, 1]]).all()


def test_sparse_entries_can_be_unsorted() -> None:
    shuffled = sparse.csr_array(([1, 1, 1], [3, 0, 2], [0, 2, 3]), shape=(2, 4))
    assert (Disjunctive(2)(shuffled) == Disjunctive(2)(shuffled.toarray())).all()


def test_input_is_not_modified() -> None:
    dense, compressed = X.copy(), sparse.csr_array(X)
    Disjunctive(2)(dense, compressed)
    assert (dense == X).all()
    assert (compressed.toarray() == X).all()


def test_null_vectors_have_1_on_the_diagonal_of_a_normalised_gram_matrix() -> None:
    kernel = Conjunctive(2).normalized()
    assert np.diagonal(kernel(X)).tolist() == [1, 1, 1]
    assert np.diagonal(kernel(X, X)).tolist() == [1, 1, 1]
    assert np.diagonal(kernel(X, X.copy())).tolist() == [1, 1, 0]
    assert kernel.diag(X).tolist() == [1, 1, 1]
    assert Conjunctive(2).diag(X).tolist() == [1, 1, 0]
