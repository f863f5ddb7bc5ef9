"""Models on disk: whole or not at all, checked when loaded, and nothing in them is ever run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pytest

from boolrank import Interactions, Kernel, KernelRanker, Linear, ModelFileError, NotFittedError
from boolrank import store as store_module
from boolrank.matrix import compiled_arrays
from boolrank.storage.folder import read_folder, write_folder


@pytest.fixture(scope="module")
def ranker():
    rng = np.random.default_rng(5)
    users = [f"u{k}" for k in range(12)]
    items = [UUID(int=int(k) ** 7) for k in range(1, 9)]
    matrix = rng.random((12, 8)) < 0.4
    matrix[3] = False
    data = Interactions.from_matrix(matrix, users, items)
    return KernelRanker("disjunctive(2)", storage="compressed", n_threads=1).fit(data)


@pytest.fixture(scope="module")
def saved(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "model"
    ranker.save(path)
    return path


def _answers(ranker: KernelRanker) -> tuple[object, ...]:
    found = ranker.recommend(n=5)
    return found.users, found.lists(), found.scores.tobytes(), ranker.score().tobytes()


@pytest.mark.parametrize("storage", ["dense", "compressed"])
@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    "ids", [lambda k: k, lambda k: f"é{k}", lambda k: UUID(int=k), lambda k: 2**70 + k]
)
def test_a_loaded_model_gives_the_same_bits(tmp_path, storage, verify, ids):
    matrix = np.random.default_rng(1).random((9, 7)) < 0.4
    data = Interactions.from_matrix(matrix, [ids(k) for k in range(9)], [ids(k) for k in range(7)])
    model = KernelRanker("linear", 0.2, 0.5, storage, n_threads=1).fit(data)
    model.save(tmp_path / "model")
    loaded = KernelRanker.load(tmp_path / "model", verify=verify, n_threads=1)
    assert _answers(loaded) == _answers(model)
    assert str(loaded.kernel) == "linear"
    assert (loaded.reg, loaded.negative_weight) == (0.2, 0.5)
    assert loaded.matrix.storage == model.matrix.storage
    assert list(loaded.interactions.users) == list(data.users)


def test_a_loaded_model_can_be_updated_and_saved_again(ranker, saved, tmp_path):
    more = Interactions.from_pairs(["new", "u1"], [UUID(int=5), UUID(int=1)])
    loaded = KernelRanker.load(saved, n_threads=1).update(more)
    fresh = KernelRanker("disjunctive(2)", storage="compressed", n_threads=1)
    fresh.fit(ranker.interactions.updated(more))
    assert _answers(loaded)[:2] == _answers(fresh)[:2]
    loaded.save(tmp_path / "again")
    assert _answers(KernelRanker.load(tmp_path / "again"))[:2] == _answers(fresh)[:2]


def test_500_truncations_and_flipped_bytes_are_refused_or_change_nothing(ranker, saved, tmp_path):
    expected = _answers(ranker)
    rng = np.random.default_rng(0)
    files = sorted(file.name for file in saved.iterdir())
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    refused = 0
    for trial in range(500):
        # The header is text with a meaning everywhere: a fifth of the trials are on it.
        name = "header.json" if trial % 5 == 0 else files[trial % len(files)]
        whole = (saved / name).read_bytes()
        broken = bytearray(whole)
        if trial % 3 == 0 or not whole:
            del broken[int(rng.integers(0, max(len(whole), 1))) :]
            broken += b"x" if not whole else b""
        else:
            for at in rng.integers(0, len(whole), rng.integers(1, 4)):
                broken[at] ^= 1 << int(rng.integers(0, 8))
        (folder / name).write_bytes(bytes(broken))
        try:
            loaded = KernelRanker.load(folder, n_threads=1)
        except ModelFileError as error:
            refused += str(folder) in str(error)
        else:
            assert _answers(loaded) == expected
        (folder / name).write_bytes(whole)
    assert refused > 480  # those that change nothing are, say, flips back


def test_no_flipped_bit_of_the_header_says_something_else(saved, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    whole = (saved / "header.json").read_bytes()
    content = store_module._header(saved)
    rng = np.random.default_rng(2)
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(0, 8))
        (folder / "header.json").write_bytes(flipped)
        with contextlib.suppress(ModelFileError):
            assert store_module._header(folder) == content


def test_a_missing_file_is_named(saved, tmp_path):
    for file in saved.iterdir():
        folder = tmp_path / file.stem
        shutil.copytree(saved, folder)
        (folder / file.name).unlink()
        with pytest.raises(ModelFileError, match=file.name):
            KernelRanker.load(folder)


def test_a_foreign_folder_is_no_model(tmp_path):
    for content in ["", "{}", "[]", "null", '{"content": 5, "sha256": 1}', "\xff", "[" * 10**5]:
        (tmp_path / "header.json").write_text(content, encoding="latin-1")
        with pytest.raises(ModelFileError, match=r"header\.json"):
            KernelRanker.load(tmp_path)
    (tmp_path / "header.json").unlink()
    with pytest.raises(ModelFileError, match=r"no header\.json"):
        KernelRanker.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"there is no folder .*nothing; name the folder"):
        KernelRanker.load(tmp_path / "nothing")


def _with_header(folder, change):
    """Change the header's content and sign it anew, as another program might."""
    header = json.loads((folder / "header.json").read_text())
    change(header["content"])
    text = json.dumps(header["content"], sort_keys=True).encode()
    header["sha256"] = hashlib.sha256(text).hexdigest()
    (folder / "header.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version=2), "format version 2; this boolrank reads version 1"),
        (lambda c: c.update(format="other"), "not of a boolrank model"),
        (lambda c: c["about"].update(model="Other"), "has a Other, not a KernelRanker"),
        (lambda c: c.pop("files"), "not as boolrank writes it"),
        (lambda c: c.update(about=7), "not as boolrank writes it"),
        (lambda c: c["files"]["indptr"].update(type="object"), "not as boolrank writes it"),
        (lambda c: c["files"]["indptr"].update(shape=7), "not as boolrank writes it"),
        (lambda c: c["files"]["indptr"].update(shape=[2]), "bytes instead of"),
        (lambda c: c["files"].pop("indptr"), "write the model again"),
        (lambda c: c["about"].update(storage="paper"), "write the model again"),
        (lambda c: c["about"]["parameters"].update(mood=3), "write the model again"),
        (lambda c: c["about"]["parameters"].update(reg=-5), "impossible parameters .reg of"),
        (lambda c: c["about"]["parameters"].update(kernel="x"), "impossible parameters"),
        (lambda c: c["about"]["ids"].update(users="pickle"), "write the model again"),
    ],
)
def test_a_header_that_says_something_else_is_refused(saved, tmp_path, change, message):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    _with_header(folder, change)
    with pytest.raises(ModelFileError, match=message):
        KernelRanker.load(folder)


def test_without_verifying_sizes_are_checked_and_contents_are_not(saved, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    name = next(file for file in folder.iterdir() if file.name == "matrix-values.bin")
    raw = bytearray(name.read_bytes())
    raw[0] ^= 1
    name.write_bytes(raw)
    KernelRanker.load(folder, verify=False)
    name.write_bytes(raw[:-1])
    with pytest.raises(ModelFileError, match="cut off"):
        KernelRanker.load(folder, verify=False)


@pytest.mark.parametrize("failing", ["_write", "_replace", "_digest"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "^C"])
def test_a_write_that_fails_leaves_the_old_model_and_nothing_else(
    ranker, tmp_path, monkeypatch, failing, error
):
    path = tmp_path / "model"
    ranker.save(path)
    calls = []

    def fail(*_):
        calls.append(1)
        raise error

    monkeypatch.setattr(store_module, failing, fail)
    with pytest.raises((ModelFileError, KeyboardInterrupt), match=r"disk full|^$"):
        ranker.save(path)
    monkeypatch.undo()
    assert calls
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert _answers(KernelRanker.load(path, n_threads=1)) == _answers(ranker)


@pytest.mark.parametrize("error", [OSError("no"), KeyboardInterrupt()], ids=["system", "^C"])
def test_the_old_model_comes_back_if_the_new_one_cannot_take_its_place(
    ranker, tmp_path, monkeypatch, error
):
    path = tmp_path / "model"
    ranker.save(path)
    rename = type(path).rename

    def rename_but_once(self, target):
        if target == path and "-old-" not in self.name:
            raise error
        return rename(self, target)

    monkeypatch.setattr(type(path), "rename", rename_but_once)
    with pytest.raises((ModelFileError, KeyboardInterrupt)):
        ranker.save(path)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert _answers(KernelRanker.load(path, n_threads=1)) == _answers(ranker)


def test_an_older_model_is_replaced_whole(ranker, tmp_path):
    path = tmp_path / "model"
    other = KernelRanker("linear", storage="dense", n_threads=1)
    other.fit(Interactions.from_pairs([1, 1, 2], [1, 2, 1])).save(path)
    ranker.save(path)
    assert _answers(KernelRanker.load(path, n_threads=1)) == _answers(ranker)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_only_a_model_is_ever_replaced(ranker, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "header.json").write_text("mine too")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(ModelFileError, match="no model folder"):
            ranker.save(path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_where_nothing_can_be_written_is_said_before_the_work(ranker, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ModelFileError, match="file is a file, not a folder"):
        ranker.save(tmp_path / "file" / "below" / "model")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(ModelFileError, match="the folder you are in"):
        ranker.save(".")
    monkeypatch.setattr(store_module.os, "access", lambda *_: False)
    with pytest.raises(ModelFileError, match="you may not write in"):
        ranker.save(tmp_path / "model")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "here"]


def test_a_link_stays_a_link_to_the_new_model(ranker, tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    ranker.save(target)
    link.symlink_to(target, target_is_directory=True)
    other = KernelRanker("linear", n_threads=1).fit(ranker.interactions)
    other.save(link)
    assert link.is_symlink()
    assert _answers(KernelRanker.load(target, n_threads=1)) == _answers(other)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "target"]


def _rewritten(folder, name, change):
    """Change an array and sign the folder anew, as somebody who knows how might."""
    about, arrays = read_folder(folder)
    arrays[name] = change(np.array(arrays[name]))
    write_folder(folder, about, arrays)


def _put(at, value):
    def change(array):
        array.reshape(-1)[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indptr", _put(0, 1)),
        ("indptr", _put(2, 10**9)),
        ("indptr", _put(-1, 10**9)),
        ("indptr", lambda a: a[:-1]),
        ("indptr", lambda a: a.astype(np.float64)),
        ("indices", _put(3, 8)),
        ("indices", _put(3, -1)),
        ("indices", lambda a: a.reshape(1, -1)),
        ("sizes", lambda a: a[:-1]),
        ("matrix-distance", lambda _: np.zeros(3)),
        ("matrix-distance", lambda _: np.array(1.0)),
        ("matrix-pull", lambda a: a[:-1]),
        ("matrix-values", lambda a: a[:-1]),
        ("dense:matrix-values", lambda a: a[:-1]),
        ("matrix-columns", _put(0, 10**9)),
        ("matrix-indptr", _put(1, -5)),
        ("matrix-classes", _put(0, 10**6)),
        ("matrix-background", lambda a: a[:, :-1]),
        ("overlaps-columns", _put(0, -2)),
        ("overlaps-counts", lambda a: a[:-1]),
        ("overlaps-dense", lambda a: a[:-1]),
        ("users-ends", _put(-1, 10**6)),
        ("items-ends", _put(0, -4)),
        ("scale-nearest", lambda _: np.full(8, 8, np.int32)),
        ("scale-exponents", lambda _: np.zeros(8)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(ranker, tmp_path, name, change):
    folder, overlaps = tmp_path / "model", ranker.overlaps
    storage = "dense" if "dense" in name else "compressed"
    if storage == "compressed":
        overlaps = overlaps.sparse()
    model = KernelRanker("linear", storage=storage, n_threads=1)
    model.fit(ranker.interactions, overlaps).save(folder)
    KernelRanker.load(folder)
    name = name.removeprefix("dense:")
    _rewritten(folder, name, change)
    with pytest.raises(ModelFileError, match=f"do not fit together .*{name.split('-')[0]}"):
        KernelRanker.load(folder)


def test_a_folder_has_a_header_and_plain_arrays_and_nothing_to_run(saved):
    assert {file.suffix for file in saved.iterdir()} == {".json", ".bin"}
    header = json.loads((saved / "header.json").read_text())["content"]
    assert header["about"]["parameters"]["kernel"] == "disjunctive(2)"
    for name, file in header["files"].items():
        assert file["sha256"] == hashlib.sha256((saved / f"{name}.bin").read_bytes()).hexdigest()
    for part in ("store", "persistence"):
        source = store_module.__file__.replace("store.py", f"{part}.py")
        with open(source, encoding="utf-8") as text:  # noqa: PTH123 - a name, not a path
            assert "pickle" not in text.read()


def test_arrays_of_every_kind_come_back(tmp_path):
    arrays = {
        name: np.arange(6).reshape(2, 3).astype(name)
        for name in ("float64", "float32", "int64", "int32", "uint8")
    } | {"empty": np.empty((0, 4)), "fortran": np.asfortranarray(np.eye(3))}
    write_folder(tmp_path / "deep" / "folder", {"x": [1, "é"]}, arrays)
    about, found = read_folder(tmp_path / "deep" / "folder")
    assert about == {"x": [1, "é"]}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        found[name][...] = 0  # changes memory, never the file
    _, again = read_folder(tmp_path / "deep" / "folder")
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)


def test_loaded_arrays_have_the_types_of_fitted_ones_so_that_loops_are_compiled_once(ranker, saved):
    numba = pytest.importorskip("numba")
    loaded = KernelRanker.load(saved, n_threads=1)
    kinds = [[numba.typeof(array) for array in compiled_arrays(m.matrix)] for m in (ranker, loaded)]
    assert kinds[0] == kinds[1]


def test_what_cannot_be_saved_is_said_before_anything_is_written(tmp_path):
    @dataclass(frozen=True, repr=False)
    class Own(Kernel):
        name = "own"
        formula = "c"

        def value(self, k):
            return Linear().value(k)

    data = Interactions.from_pairs([1, 2, 2], [1, 1, 2])
    with pytest.raises(ModelFileError, match="parse_kernel does not know it"):
        KernelRanker(Own()).fit(data).save(tmp_path / "model")
    odd = Interactions.from_pairs([(1, 2), (3, 4)], [1, 2])
    with pytest.raises(ModelFileError, match="users of type tuple cannot be saved"):
        KernelRanker("linear").fit(odd).save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        KernelRanker("linear").save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
