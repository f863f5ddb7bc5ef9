"""Array folders: replaced atomically, never mixed, never over foreign files, verified when read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from boolrank import InputError, ModelFileError
from boolrank.storage import folder as module
from boolrank.storage.folder import held, read_about, read_folder, write_folder
from folder_fuzz import seal

ARRAYS = {"a": np.arange(6.0), "b": np.arange(4, dtype=np.int32)}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    write_folder(path, {"x": 1}, ARRAYS)
    return path


def test_arrays_of_every_type_come_back_and_files_never_change(tmp_path):
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
        found[name][...] = 0
    _, again = read_folder(tmp_path / "deep" / "folder")
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)


def test_a_folder_has_a_header_with_checksums_and_plain_arrays(saved):
    header = json.loads((saved / "header.json").read_text())["content"]
    files = {entry["file"] for entry in header["arrays"].values()} | {"header.json"}
    assert {file.name for file in saved.iterdir()} == files
    for entry in header["arrays"].values():
        assert entry["sha256"] == hashlib.sha256((saved / entry["file"]).read_bytes()).hexdigest()


def test_the_hash_depends_on_content_and_not_on_the_date(tmp_path):
    hashes = []
    for about, value in ([{"created": "1"}, 0], [{"created": "2"}, 0], [{"created": "1"}, 1]):
        write_folder(tmp_path / "model", about, {"a": np.full(3, value)})
        hashes.append(read_about(tmp_path / "model")["hash"])
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("part", ["header.json", "a", "b"])
def test_every_flipped_byte_is_refused_or_changes_nothing(saved, part):
    name = next(
        f.name for f in saved.iterdir() if f.name.partition(".")[0] == part.partition(".")[0]
    )
    whole = (saved / name).read_bytes()
    expected = read_folder(saved)
    rng = np.random.default_rng(2)
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(0, 8))
        (saved / name).write_bytes(flipped)
        with contextlib.suppress(ModelFileError):
            about, arrays = read_folder(saved)
            assert about == expected[0]
            assert all(np.array_equal(arrays[key], expected[1][key]) for key in ARRAYS)


def test_a_missing_file_is_named(saved):
    for file in sorted(saved.iterdir()):
        kept = file.read_bytes()
        file.unlink()
        with pytest.raises(ModelFileError, match=file.name.partition(".")[0]):
            read_folder(saved)
        file.write_bytes(kept)


def test_a_foreign_header_is_refused(tmp_path):
    contents = ["", "{}", "[]", "null", '{"content": 5, "sha256": 1}', "\xff", "[" * 10**5]
    for content in [*contents, " " * (1 << 23)]:
        (tmp_path / "header.json").write_text(content, encoding="latin-1")
        with pytest.raises(ModelFileError, match=r"header\.json"):
            read_folder(tmp_path)
    (tmp_path / "header.json").unlink()
    with pytest.raises(ModelFileError, match=r"no header\.json"):
        read_folder(tmp_path)
    with pytest.raises(ModelFileError, match=r"no folder .*nothing; name the folder"):
        read_folder(tmp_path / "nothing")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(version=1),
        lambda c: c.update(format="other"),
        lambda c: c.pop("arrays"),
        lambda c: c.update(arrays=None),
        lambda c: c.update(arrays=[]),
        lambda c: c["arrays"]["a"].pop("sha256"),
        lambda c: c["arrays"].update(a=None),
        lambda c: c.update(about=7),
        lambda c: c["arrays"]["a"].update(type="object"),
        lambda c: c["arrays"]["a"].update(shape=7),
        lambda c: c["arrays"]["a"].update(shape=[2]),
        lambda c: c["arrays"]["a"].update(shape=[-6]),
        lambda c: c["arrays"]["a"].update(shape=[1 << 50]),
        lambda c: c["arrays"]["a"].update(shape=[1, 2, 3]),
        lambda c: c["arrays"]["a"].update(file="../model/header.json"),
        lambda c: c["arrays"].update({"../a": c["arrays"]["a"]}),
    ],
)
def test_a_resealed_header_with_another_meaning_is_refused(saved, change):
    header = json.loads((saved / "header.json").read_text())
    change(header["content"])
    text = json.dumps(header["content"], sort_keys=True).encode()
    header["sha256"] = hashlib.sha256(text).hexdigest()
    (saved / "header.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError):
        read_folder(saved)


def test_links_pipes_and_folders_are_not_followed(saved, tmp_path):
    other = tmp_path / "elsewhere"
    for file in sorted(saved.iterdir()):
        kept = file.read_bytes()
        other.write_bytes(kept)
        for put in (lambda f: f.symlink_to(other), os.mkfifo, lambda f: f.mkdir()):
            file.unlink()
            put(file)
            with pytest.raises(ModelFileError):
                read_folder(saved)
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
            file.write_bytes(kept)


def test_without_verifying_sizes_are_checked_and_contents_are_not(saved):
    file = next(f for f in saved.iterdir() if f.name.startswith("a."))
    raw = bytearray(file.read_bytes())
    raw[0] ^= 1
    file.write_bytes(raw)
    read_folder(saved, verify=False)
    with pytest.raises(ModelFileError, match="not what was written"):
        read_folder(saved)
    file.write_bytes(raw[:-1])
    with pytest.raises(ModelFileError, match="truncated"):
        read_folder(saved, verify=False)


@pytest.mark.parametrize("failing", ["write_file", "_sync"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_content_and_nothing_else(saved, monkeypatch, failing, error):
    before = sorted(file.name for file in saved.iterdir())
    calls = []

    def fail(path, *_):
        calls.append(1)
        raise error(28, "disk full", str(path)) if error is OSError else error

    monkeypatch.setattr(module, failing, fail)
    with pytest.raises((InputError, KeyboardInterrupt), match=r"disk full; .* make room|^$"):
        write_folder(saved, {"x": 2}, ARRAYS)
    monkeypatch.undo()
    assert calls
    assert sorted(file.name for file in saved.iterdir()) == before
    assert read_folder(saved)[0] == {"x": 1}


def test_only_a_folder_of_ours_is_replaced(saved, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "header.json").write_text("mine")
    (other / "values.bin").write_text("mine too")
    (saved / "notes.txt").write_text("mine")
    file = tmp_path / "file"
    file.write_text("mine")
    for path in (other, saved, file, tmp_path):
        with pytest.raises((InputError, ModelFileError), match=r"not a model folder|is a file"):
            write_folder(path, {}, ARRAYS)
    assert (other / "values.bin").read_text() == "mine too"
    assert read_folder(saved)[0] == {"x": 1}


def test_leftovers_of_a_killed_writer_are_removed_by_the_next(saved, tmp_path):
    for folder in (saved, tmp_path / "fresh"):
        folder.mkdir(exist_ok=True)
        (folder / f"a.{'0' * 32}.bin").write_bytes(b"part")
        (folder / f"header.{'0' * 32}.json").write_bytes(b"part")
        write_folder(folder, {"x": 3}, ARRAYS)
        assert len(list(folder.iterdir())) == 3
        assert read_folder(folder)[0] == {"x": 3}


def test_an_unwritable_target_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file is a file, not a folder"):
        write_folder(tmp_path / "file" / "below" / "model", {}, ARRAYS)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(ModelFileError, match="current folder"):
        write_folder(".", {}, ARRAYS)
    monkeypatch.setattr(module.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="no permission to write"):
        write_folder(tmp_path / "model", {}, ARRAYS)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "here"]


def test_only_errors_about_the_folder_say_that_it_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), held(tmp_path / "model"):
        (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(BlockingIOError, match="busy"), held(tmp_path / "model"):
        raise BlockingIOError(11, "busy")
    with pytest.raises(OSError, match="unplugged"), held(tmp_path / "model"):
        raise OSError(5, "unplugged")
    wrong = pytest.raises(InputError, match=r"shown cannot be written: No such file.*make room")
    with wrong, held(tmp_path / "model", shown=tmp_path / "shown") as folder:
        (folder / "no" / "file").touch()


def test_a_link_to_a_folder_stays_a_link_and_modes_stay(saved, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(saved, target_is_directory=True)
    saved.chmod(0o750)
    write_folder(link, {"x": 5}, ARRAYS)
    assert link.is_symlink()
    assert read_folder(saved)[0] == {"x": 5}
    assert saved.stat().st_mode & 0o777 == 0o750


def test_readers_beside_two_writers_always_find_one_whole_version(tmp_path):
    path = tmp_path / "model"
    write_folder(path, {"x": 0}, {"a": np.zeros(500), "b": np.zeros(500)})
    stop, wrong, loads = threading.Event(), [], []

    def write(first):
        value = first
        while not stop.is_set():
            value += 2
            write_folder(path, {"x": value}, {n: np.full(500, float(value)) for n in "ab"})

    def read():
        while not stop.is_set():
            try:
                about, arrays = read_folder(path)
                whole = all((arrays[n] == about["x"]).all() for n in "ab")
                (loads if whole else wrong).append(about["x"])
            except ModelFileError as error:
                wrong.append(str(error))

    workers = [threading.Thread(target=write, args=(k,)) for k in (0, 1)]
    workers += [threading.Thread(target=read) for _ in range(4)]
    for each in workers:
        each.start()
    time.sleep(2)
    stop.set()
    for each in workers:
        each.join()
    assert not wrong
    assert len(set(loads)) > 5


_WRITER = """
import sys
import numpy as np
from boolrank.storage.folder import write_folder
value = 0
while True:
    value += 1
    arrays = {n: np.full(2000, float(value)) for n in "abcd"}
    write_folder(sys.argv[1], {"x": value}, arrays)
    print(value, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_writer_leaves_a_whole_version_and_the_next_cleans_up(tmp_path):
    path = tmp_path / "model"
    rng = np.random.default_rng(4)
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        writer.stdout.readline()
        time.sleep(float(rng.uniform(0, 0.02)))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        about, arrays = read_folder(path)
        assert all((array == about["x"]).all() for array in arrays.values())
    write_folder(path, {"x": 0}, ARRAYS)
    assert len(list(path.iterdir())) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_sealing_a_folder_anew_makes_its_content_valid(saved):
    file = next(f for f in saved.iterdir() if f.name.startswith("a."))
    file.write_bytes(np.full(6, 7.0).tobytes())
    with pytest.raises(ModelFileError):
        read_folder(saved)
    seal(saved)
    assert read_folder(saved)[1]["a"][0] == 7
