"""Splits: roles of interactions, independence of the order of rows, and saved splits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import InputError, Interactions, KernelRanker, ModelFileError, ParameterError
from boolrank.data.protocols import (
    SPLITS,
    hold_out,
    leave_one_out,
    make_split,
    paper_protocol,
    published_folds,
    strong_generalization,
    temporal_cut,
)
from boolrank.data.splits import Fold, Split, content_hash, packed_fold, read_fold
from boolrank.models import load_model
from boolrank.storage.folder import read_folder, write_folder


def _data(seed: int = 0, users: int = 40, items: int = 25, size: int = 500) -> Interactions:
    rng = np.random.default_rng(seed)
    return Interactions.from_pairs(
        [f"u{i}" for i in rng.integers(0, users, size)],
        rng.integers(0, items, size),
        rng.integers(0, 100, size),
    )


def _pairs(data: Interactions) -> dict[tuple[object, object], object]:
    """Return the time of each (user, item), by id."""
    assert data.time is not None
    return {
        (data.users[u], data.items[int(i)]): t
        for u in range(len(data.users))
        for i, t in zip(
            data.rows.row(u), data.time[data.indptr[u] : data.indptr[u + 1]], strict=True
        )
    }


def _sides(fold: Fold) -> tuple[set[tuple[object, object]], ...]:
    """Return the pairs of ids that train, that are known, and that are relevant."""
    train = fold.train
    named = [
        (train.users, train.rows),
        (fold.users, fold.known),
        (fold.users, fold.relevant),
    ]
    return tuple(
        {(users[u], train.items[int(i)]) for u in range(len(users)) for i in rows.row(u)}
        for users, rows in named
    )


@pytest.mark.parametrize("name", SPLITS)
@given(seed=st.integers(0, 50))
def test_training_and_test_are_the_data_and_share_nothing(name: str, seed: int) -> None:
    data = _data(seed)
    everything = _pairs(data)
    for fold in make_split(data, name):
        train, known, relevant = _sides(fold)
        assert not train & relevant
        assert not known & relevant
        assert train | known | relevant <= set(everything)
        if fold.folded_in:
            assert not {user for user, _ in train} & {user for user, _ in known | relevant}
        else:
            assert known == {(u, i) for u, i in train if u in set(fold.users)}
        assert (fold.train.popularity() > 0).all()
        assert (np.diff(fold.train.indptr) > 0).all()
        assert (np.diff(fold.known.indptr) > 0).all()
        if not fold.folded_in and not fold.cold_users:
            assert len(train) + len(relevant) + fold.unseen_items == data.size


def test_each_user_is_tested_once_by_the_later_half_of_at_least_five() -> None:
    data = _data(size=260)
    times = _pairs(data)
    counts = dict(zip(data.users, np.diff(data.indptr).tolist(), strict=True))
    split = paper_protocol(data, folds=4)
    tested = [user for fold in split for user in fold.users]
    assert sorted(tested) == sorted(user for user, count in counts.items() if count >= 5)
    assert len(tested) < len(counts), "otherwise no user has too few interactions"
    sizes = [len(fold.users) for fold in split]
    assert max(sizes) - min(sizes) <= 1
    for fold in split:
        _, known, relevant = _sides(fold)
        for user in fold.users:
            earlier = [times[pair] for pair in known if pair[0] == user]
            later = [times[pair] for pair in relevant if pair[0] == user]
            assert len(earlier) == counts[user] // 2
            assert max(earlier) <= min(later, default=np.inf)


def test_halves_follow_the_order_of_the_file_if_that_is_the_time() -> None:
    items = ["c", "a", "e", "b", "d"]
    data = Interactions.from_pairs(["x"] * 5 + ["y"] * 5, items + sorted(items), time=np.arange(10))
    halves = {}
    for fold in paper_protocol(data, folds=2):
        halves[fold.users[0]] = "".join(fold.train.items[int(i)] for i in fold.known.indices)
    assert halves == {"x": "ac", "y": "ab"}


def test_random_halves_differ_by_seed_and_not_by_run() -> None:
    data = _data()
    one, again, other = (paper_protocol(data, order="random", seed=s).hash for s in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize("name", SPLITS)
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 30, 400), rng.integers(0, 20, 400)
    time = rng.integers(0, 5, 400)  # many ties
    _, first = np.unique(users * 20 + items, return_index=True)
    shuffled = rng.permutation(first)
    a, b = (
        make_split(Interactions.from_pairs(users[rows], items[rows], time[rows]), name)
        for rows in (first, shuffled)
    )
    assert a.hash == b.hash


def test_leave_one_out_takes_the_last_of_each_user() -> None:
    data = _data(2)
    times = _pairs(data)
    (fold,) = leave_one_out(data)
    _, known, relevant = _sides(fold)
    for user, item in relevant:
        assert times[user, item] == max(t for (u, _), t in times.items() if u == user)
    assert all(len(fold.relevant.row(u)) <= 1 for u in range(len(fold.users)))
    assert known


@pytest.mark.parametrize(("share", "held"), [(0.1, 1), (0.2, 2), (0.25, 3), (0.99, 9)])
def test_a_share_is_rounded_and_leaves_one(share: float, held: int) -> None:
    data = Interactions.from_matrix(np.ones((30, 10), int))
    (fold,) = hold_out(data, share=share)
    assert (np.diff(fold.known.indptr) == 10 - held).all()
    assert len(fold.relevant.indices) + fold.unseen_items == 30 * held


def test_a_temporal_cut_knows_nothing_of_what_comes_later() -> None:
    data = _data(5)
    times = _pairs(data)
    (fold,) = temporal_cut(data, share=0.3)
    train, _, relevant = _sides(fold)
    assert max(times[pair] for pair in train) < min(times[pair] for pair in relevant)
    assert 0.2 < 1 - len(train) / data.size < 0.4


def test_a_temporal_cut_takes_dates() -> None:
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "datetime64[D]")
    data = Interactions.from_pairs([1, 2, 1, 2], list("abba"), days)
    (fold,) = temporal_cut(data, at="2020-01-03")
    assert fold.relevant.indices.tolist() == [1, 0]
    with pytest.raises(ParameterError, match="must be a time as the data have it"):
        temporal_cut(data, at="some day")


def test_a_temporal_cut_between_whole_numbers_is_between_them() -> None:
    data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.array([1, 4, 2, 5]))
    (fold,) = temporal_cut(data, at=4.5)
    assert (len(fold.relevant.indices), fold.train.size) == (1, 3)


def test_unseen_users_differ_between_folds() -> None:
    data = _data(size=800)
    split = strong_generalization(data, share=0.25, folds=4, known=0.8)
    tested = [user for fold in split for user in fold.users]
    assert len(tested) == len(set(tested)) == len(data.users)
    counts = np.diff(split[0].known.indptr) / (
        np.diff(split[0].known.indptr) + np.diff(split[0].relevant.indptr)
    )
    assert 0.7 < counts.mean() < 0.9


def test_published_folds_keep_their_sides() -> None:
    train = Interactions.from_pairs(["b", "b", "c", "d"], ["x", "y", "y", "z"])
    test = Interactions.from_pairs(["b", "b", "a", "c", "c"], ["z", "y", "x", "x", "new"])
    second = Interactions.from_pairs(["a", "b"], ["x", "z"]), Interactions.from_pairs("a", "z")
    split = published_folds((train, test), second)
    assert _sides(split[0]) == (
        {("b", "x"), ("b", "y"), ("c", "y"), ("d", "z")},
        {("b", "x"), ("b", "y"), ("c", "y")},
        {("b", "z"), ("c", "x")},  # what trains already is not asked for
    )
    assert (split[0].unseen_items, split[0].cold_users) == (1, 1)
    assert _sides(split[1]) == ({("a", "x"), ("b", "z")}, {("a", "x")}, {("a", "z")})


@pytest.mark.parametrize(
    "ids",
    [
        *(int, str, lambda i: UUID(int=i), lambda i: chr(0xD7F0 + i) * (i % 3)),
        *(lambda i: 2**64 + i, lambda i: i / 7),
    ],
    ids=["int", "str", "UUID", "odd text", "large", "fraction"],
)
def test_a_saved_split_is_the_same_again(ids, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = Interactions.from_pairs(
        [ids(int(i)) for i in rng.integers(0, 30, 400)],
        [ids(int(i)) for i in rng.integers(0, 20, 400)],
    )
    split = hold_out(data)
    split.save(tmp_path / "split")
    loaded = Split.load(tmp_path / "split")
    assert loaded.hash == split.hash
    assert repr(loaded) == repr(split)
    assert _sides(loaded[0]) == _sides(split[0])
    assert {p.suffix for p in (tmp_path / "split").iterdir()} == {".bin", ".json"}


@pytest.mark.parametrize("kind", ["int32", "float32", "datetime64[s]", "datetime64[ns]"])
def test_a_saved_split_keeps_its_times(kind: str, tmp_path: Path) -> None:
    data = _data()
    when = np.arange(data.size)[::-1].astype(kind)
    data = Interactions(data.users, data.items, data.indptr, data.indices, when)
    split = hold_out(data, order="time")
    split.save(tmp_path / "split")
    loaded = Split.load(tmp_path / "split")
    assert loaded.hash == split.hash
    assert np.array_equal(loaded.data.time, when)
    assert loaded.data.time.dtype.kind == when.dtype.kind
    write_folder(tmp_path / "fold", *packed_fold(split[0]))
    again = read_fold(tmp_path / "fold")
    assert again.hash == split[0].hash
    assert np.array_equal(again.train.time, split[0].train.time)


def test_missing_times_are_not_saved(tmp_path: Path) -> None:
    data = _data()
    when = np.where(np.arange(data.size) == 3, np.nan, 1.0)
    gaps = Interactions(data.users, data.items, data.indptr, data.indices, when)
    hold_out(gaps).save(tmp_path / "split")
    assert Split.load(tmp_path / "split").data.time is None


def test_the_hash_of_a_fold_depends_on_times() -> None:
    data = _data()
    late = Interactions(data.users, data.items, data.indptr, data.indices, data.time + 1)
    one, other = (hold_out(each)[0] for each in (data, late))
    assert one.hash != other.hash


def test_a_hash_is_the_same_in_every_process_and_version() -> None:
    """The hash must not change between machines or versions."""
    program = (
        "import numpy as np; from boolrank import Interactions;"
        "from boolrank.data.protocols import paper_protocol;"
        "a = np.arange(60); d = Interactions.from_pairs(a % 6, a * 7 % 10, a);"
        "print(paper_protocol(d, folds=3).hash)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        "9c36b0e4fcd29c1564e0290f41accd350397b8e7250e60d71681ea0a21c5d4e7"
    )


def test_a_hash_tells_names_parameters_and_roles_apart() -> None:
    data = _data()
    split = paper_protocol(data)
    named = Interactions.from_numbers(
        data.users,
        type(data.items)(data.items.ids + 1, "item"),
        np.repeat(np.arange(len(data.users)), np.diff(data.indptr)),
        data.indices.astype(np.int64),
    )
    roles = split.roles.copy()
    roles[0, 0] = 2 - roles[0, 0]
    others = [
        Split("other", split.parameters, data, split.roles),
        Split(split.name, {**split.parameters, "seed": 9}, data, split.roles),
        Split(split.name, split.parameters, named, split.roles),
        Split(split.name, split.parameters, data, roles),
    ]
    assert len({split.hash, *(other.hash for other in others)}) == 5


def test_a_model_or_an_altered_folder_is_not_a_split(tmp_path: Path) -> None:
    data = _data()
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="not a split"):
        Split.load(tmp_path / "model")
    hold_out(data).save(tmp_path / "split")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "split")
    (roles,) = (tmp_path / "split").glob("roles*.bin")
    roles.write_bytes(roles.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ModelFileError, match="not what was written"):
        Split.load(tmp_path / "split")


def _forge(path: Path, change: dict[str, np.ndarray]) -> None:
    """Replace arrays of a saved split, with matching checksums and hash."""
    about, arrays = read_folder(path)
    arrays = {name: np.array(array) for name, array in arrays.items()} | change
    named = {name: about[name] for name in ("split", "parameters", "ids")}
    named["ids"] = {name: kind for name, kind in about["ids"].items() if name != "time"}
    hashed = {name: array for name, array in arrays.items() if name != "time"}
    write_folder(path, about | {"hash": content_hash(named, hashed)}, arrays)


FORGED = {
    "items out of range": ("indices", lambda a: np.where(a == a.max(), 10**6, a).astype(np.int32)),
    "items below zero": ("indices", lambda a: a - 1),
    "items out of order": ("indices", lambda a: a[::-1]),
    "items of another type": ("indices", lambda a: a.astype(np.float64)),
    "rows that fall": ("indptr", lambda a: a[::-1]),
    "rows beyond the end": ("indptr", lambda a: np.append(a[:-1], a[-1] + 5)),
    "rows of another shape": ("indptr", lambda a: a[None]),
    "fewer rows": ("indptr", lambda a: a[:-1]),
    "unknown roles": ("roles", lambda a: a + 9),
    "roles for others": ("roles", lambda a: a[:, :-1]),
    "roles of another type": ("roles", lambda a: a.astype(np.int64)),
    "an array too many": ("extra", lambda _: np.zeros(3)),
    "repeated ids": ("items-ids", np.zeros_like),
    "text that is not UTF-8": ("users-text", lambda a: np.full_like(a, 0xFF)),
    "text out of order": ("users-text", lambda a: a[::-1]),
    "ends beyond the text": ("users-ends", lambda a: a + 1),
    "times for others": ("time", lambda a: a[:-1]),
    "times that are not numbers": ("time", lambda a: np.full(len(a), np.nan)),
    "ends that fall": ("users-ends", lambda a: np.append(a[-2::-1], a[-1])),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_split_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "split"
    hold_out(_data()).save(path)
    _, arrays = read_folder(path)
    _forge(path, {})
    assert len(Split.load(path)) == 1, "otherwise forgeries are refused for another reason"
    key, change = FORGED[name]
    _forge(path, {key: np.ascontiguousarray(change(np.array(arrays.get(key, 0))))})
    with pytest.raises(ModelFileError):
        Split.load(path)


@pytest.mark.parametrize(
    "change", [{"ids": None}, {"ids": {"users": [], "items": "str"}}, {"split": 3}, {"hash": "x"}]
)
def test_a_forged_header_of_a_split_is_refused(change, tmp_path: Path) -> None:
    path = tmp_path / "split"
    hold_out(_data()).save(path)
    about, arrays = read_folder(path)
    write_folder(path, about | change, {name: np.array(a) for name, a in arrays.items()})
    with pytest.raises(ModelFileError):
        Split.load(path)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda d: paper_protocol(d, folds=41),
            ParameterError,
            "need 41 users with at least 5 interactions, and there are 40; take fewer folds",
        ),
        (
            lambda d: paper_protocol(d, folds=2, least=10**6),
            ParameterError,
            "and there are 0; take fewer folds, lower least, or give more data",
        ),
        (
            lambda d: paper_protocol(d, folds=0),
            ParameterError,
            "folds of paper_protocol must be a whole number, 1 or more, not 0",
        ),
        (lambda d: paper_protocol(d, order="last"), ParameterError, "'time' or 'random'"),
        (
            lambda d: paper_protocol(d, seed=-1),
            ParameterError,
            "seed of paper_protocol must be a whole number",
        ),
        (
            lambda d: hold_out(d, share=1.5),
            ParameterError,
            "share of hold_out must be a number, more than 0, at most 1, not 1.5",
        ),
        (lambda d: strong_generalization(d, folds=6), ParameterError, "somebody must train"),
        (
            lambda d: leave_one_out(d, least=1),
            ParameterError,
            "least of leave_one_out must be a whole number, 2 or more",
        ),
        (lambda d: make_split(d, "papr"), ParameterError, "did you mean 'paper'?"),
        (lambda d: make_split(d, "paper", fold=3), ParameterError, "did you mean 'folds'?"),
        (lambda d: make_split(d, "paper", x=3), ParameterError, "there are folds, order, seed"),
        (lambda d: temporal_cut(d, at=10**9), InputError, "has nothing to test"),
        (lambda _: published_folds(), ParameterError, "needs a pair"),
    ],
)
def test_errors_name_the_wrong_parameter(make, error, message) -> None:
    with pytest.raises(error) as caught:
        make(_data(size=900))
    assert message in str(caught.value)


@pytest.mark.parametrize("make", [paper_protocol, leave_one_out, temporal_cut])
def test_without_time_there_is_no_chronological_split(make) -> None:
    data = Interactions.from_pairs([1, 1, 2, 2], list("abab"))
    with pytest.raises(InputError, match="the data have no time; name a column of times") as e:
        make(data)
    assert e.value.parameter == "time"
    other = "take another split" if make is temporal_cut else "split in random order"
    assert e.value.hint.endswith(f", or {other}")


def test_missing_times_are_counted_with_a_hint_of_their_own() -> None:
    for missing in (np.array([1.0, np.nan, 2, 3]), np.array([1, "NaT", 2, 3], "datetime64[D]")):
        data = Interactions.from_pairs([1, 1, 2, 2], list("abab"), missing)
        with pytest.raises(InputError, match="1 interaction has no time; leave them out") as e:
            leave_one_out(data)
        assert e.value.parameter == "order"


@pytest.mark.parametrize("make", [leave_one_out, hold_out, strong_generalization, temporal_cut])
def test_a_frame_is_not_split(make) -> None:
    frame = _data().to_frame()
    with pytest.raises(TypeError, match=f"{make.__name__} splits Interactions, not DataFrame"):
        make(frame)


@pytest.mark.parametrize("make", [paper_protocol, leave_one_out, hold_out, strong_generalization])
def test_a_single_user_cannot_be_split(make) -> None:
    data = Interactions.from_pairs([1] * 6, list("abcdef"), np.arange(6))
    with pytest.raises(InputError, match="a split needs two or more"):
        make(data)


def test_items_of_one_user_each_leave_nothing_to_test() -> None:
    data = Interactions.from_pairs([1] * 6 + [2] * 6, list("abcdefghijkl"), np.arange(12))
    with pytest.raises(InputError, match="has nothing to test: 3 held-out interactions"):
        paper_protocol(data, folds=2)
    with pytest.raises(InputError, match="nothing to test: no user has enough interactions; use"):
        hold_out(Interactions.from_pairs([1, 2], ["a", "a"]))


def test_parameters_can_be_written_as_json() -> None:
    for name in SPLITS:
        split = make_split(_data(), name)
        assert json.loads(json.dumps(split.parameters)) == split.parameters
