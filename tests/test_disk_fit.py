"""Fits on disk: the same files as in memory, within a limit, and after kills."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from boolrank import (
    Ease,
    Interactions,
    ItemKNN,
    KernelEase,
    KernelRanker,
    SpectralRanker,
    load_dataset,
    load_model,
)
from boolrank.counts import blocks
from boolrank.counts.counting import count_sparse
from boolrank.data.synthetic import synthetic
from boolrank.errors import BoolrankError, InputError, MatrixTooLargeError, ParameterError
from boolrank.matrix import pairs as pairs_module
from boolrank.models import disk_fit, fitted, simplex_scorer
from boolrank.models.disk_fit import fit_on_disk
from boolrank.storage.job import Job

MODELS = {
    "linear": lambda: KernelRanker("linear", storage="compressed"),
    "disjunctive": lambda: KernelRanker("disjunctive(8)", storage="compressed"),
    "tanimoto": lambda: KernelRanker("tanimoto", storage="compressed", user_exponent=0.5),
    "capped": lambda: KernelRanker(storage="compressed", activity_cap=12),
    "knn": lambda: ItemKNN(alpha=0.3, locality=1.5, output_exponent=0.2),
    "spectral": lambda: SpectralRanker(rank=4),
    "spectral, locality": lambda: SpectralRanker(rank=4, locality=1.5),
}


@pytest.fixture
def _small_limit(monkeypatch):
    """Let limits count from 0, without a reserve, and make parts small."""
    monkeypatch.setattr(disk_fit, "held_memory", lambda: 0)
    monkeypatch.setattr(disk_fit, "_RESERVE", 0)
    monkeypatch.setattr(pairs_module, "CHUNK", 1 << 12)
    monkeypatch.setattr(blocks, "_PLACES", 1 << 10)


def content(folder: Path) -> dict[str, bytes]:
    """Return the arrays of a folder by name, and its description without the date."""
    header = json.loads((folder / "header.json").read_text())["content"]
    files = {name: entry["file"] for name, entry in header["arrays"].items()}
    assert {file.name for file in folder.iterdir()} == {"header.json", *files.values()}
    found = {name: (folder / file).read_bytes() for name, file in files.items()}
    about = {name: value for name, value in header["about"].items() if name != "created"}
    return found | {"about": json.dumps(about, sort_keys=True).encode()}


def in_memory(model, data: Interactions, folder: Path) -> dict[str, bytes]:
    counted = data.capped(model.activity_cap)
    fitted = model.fit(data, count_sparse(counted, model.user_exponent))
    fitted.save(folder)
    return content(folder)


@pytest.mark.usefixtures("_small_limit")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("memory", [300_000, 1_500_000])
def test_folders_and_lists_equal_those_in_memory(name, memory, tmp_path) -> None:
    data = synthetic(500, 300, 6_000, seed=3)
    expected = in_memory(MODELS[name](), data, tmp_path / "memory")
    calls = []
    memory += 200_000 if name.startswith("spectral") else 0
    memory = 300_000 if name == "capped" else memory  # there are fewer pairs
    model = fit_on_disk(
        MODELS[name](), data, tmp_path / "disk", memory, progress=lambda *at: calls.append(at)
    )
    assert calls, "it was counted on disk"
    assert calls[-1][0] == calls[-1][1]
    assert content(tmp_path / "disk") == expected
    lists = load_model(tmp_path / "memory").recommend(n=20)
    for found in (model, load_model(tmp_path / "disk")):
        again = found.recommend(n=20)
        assert (again.items == lists.items).all()
        assert np.array_equal(again.scores, lists.scores, equal_nan=True)


@pytest.mark.usefixtures("_small_limit")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("ids", [str, int])
def test_shuffled_and_repeated_events_of_files_give_the_same_folder(
    kind, ids, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("boolrank.data.event_store._ROWS", 1_000)
    data = synthetic(200, 150, 3_000, seed=1)
    rng = np.random.default_rng(0)
    order = np.concatenate((np.arange(data.size), rng.integers(0, data.size, 500)))
    rng.shuffle(order)
    frame = data.to_frame()[order.tolist()].select(pl.col("user", "item").cast(pl.String))
    # In one batch ids are numbers, in others text.
    frame = frame if ids is int else frame.with_columns(pl.col("item").replace("7", "x7"))
    frame = frame if kind == "csv" or ids is str else frame.cast(pl.Int64)
    path = tmp_path / f"events.{kind}"
    (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    expected = in_memory(MODELS["linear"](), Interactions.from_files(path), tmp_path / "memory")
    fit_on_disk(MODELS["linear"](), [path], tmp_path / "disk", 400_000)
    assert content(tmp_path / "disk") == expected


@pytest.mark.usefixtures("_small_limit")
def test_numbers_past_64_bits_in_some_batches_are_those_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("boolrank.data.event_store._ROWS", 100)
    data, path = synthetic(200, 150, 3_000, seed=1).to_frame(), tmp_path / "events.parquet"
    large = pl.col("user").cast(pl.UInt64) + pl.when(pl.col("user") < 3).then(2**63).otherwise(0)
    data.with_columns(large).write_parquet(path)
    expected = in_memory(MODELS["linear"](), Interactions.from_files(path), tmp_path / "memory")
    fit_on_disk(MODELS["linear"](), [path], tmp_path / "disk", 400_000)
    assert content(tmp_path / "disk") == expected


@pytest.mark.parametrize("model", [KernelRanker(), KernelEase(storage="sparse")], ids=str)
def test_what_fits_into_memory_is_fitted_there(model, tmp_path) -> None:
    data = synthetic(200, 150, 3_000)
    fit_on_disk(model, data, tmp_path / "disk", "20GB", progress=pytest.fail)
    model.fit(data).save(tmp_path / "memory")
    assert content(tmp_path / "disk") == content(tmp_path / "memory")


@pytest.mark.usefixtures("_small_limit")
def test_limits_models_and_inputs_that_cannot_be_are_refused(tmp_path) -> None:
    data, target = synthetic(200, 150, 3_000), tmp_path / "model"
    KernelRanker().fit(data).save(target)
    before = content(target)
    bad = tmp_path / "bad.csv"
    bad.write_text("user,item\n" + "ann,\n" * 3)
    missing = tmp_path / "missing.csv"
    missing.write_text("user,price\nann,3\n")
    for wrong, error, said in (
        ((KernelRanker(), data, target, "much"), ParameterError, "memory is a size such as 4GB"),
        ((KernelRanker(), data, target, "4"), ParameterError, "such as 4GB or 500MB, not '4'"),
        ((KernelRanker(), data, target, 10_000), MatrixTooLargeError, "allow .* or more"),
        ((Ease(), data, target, "1GB"), ParameterError, "choose kernel-ranker"),
        ((KernelRanker(recency=3), data, target, "1GB"), ParameterError, "recency"),
        ((KernelRanker("linear[genres]"), data, target, "1GB"), ParameterError, "tags"),
        (
            (SpectralRanker("tanimoto", rank=4), data, target, 300_000),
            MatrixTooLargeError,
            "linear",
        ),
        (
            (KernelEase(storage="sparse"), data, target, 300_000),
            MatrixTooLargeError,
            r"fit of .* takes more than 0\.3 MB; .*sparse.*allow",
        ),
        ((KernelRanker(), [missing], target, "1GB"), InputError, "item"),
        ((KernelRanker(), [bad], target, "1GB"), InputError, "3 without item"),
        ((KernelRanker(), data, tmp_path / "bad.csv", "1GB"), BoolrankError, "is a file"),
    ):
        with pytest.raises(error, match=said):
            fit_on_disk(*wrong, progress=pytest.fail)
        assert content(target) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.csv", "missing.csv", "model"]


@pytest.mark.usefixtures("_small_limit")
def test_a_full_disk_is_an_error_that_loses_nothing(tmp_path, monkeypatch) -> None:
    data, target = synthetic(500, 300, 6_000, seed=3), tmp_path / "model"
    KernelRanker("linear").fit(data).save(target)
    before = content(target)
    free = type("Usage", (), {"free": 1_000})
    monkeypatch.setattr(disk_fit.shutil, "disk_usage", lambda _: free)
    with pytest.raises(MatrixTooLargeError, match=r"on disk, and 0\.0 MB are free"):
        fit_on_disk(MODELS["linear"](), data, target, 600_000)
    monkeypatch.undo()
    # The estimate was wrong: files may not grow.
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n" + _FIT
    )
    command = [sys.executable, "-c", code, target]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "cannot be written" in done.stderr
    assert "make room" in done.stderr
    assert content(target) == before


@pytest.mark.usefixtures("_small_limit")
def test_a_fit_over_its_own_result_leaves_that_alone_until_it_is_done(tmp_path) -> None:
    data = synthetic(500, 300, 6_000, seed=3)
    fit_on_disk(MODELS["linear"](), data, tmp_path / "model", 300_000)
    before, calls = content(tmp_path / "model"), []

    def stop(*at: int) -> None:
        calls.append(at)
        (header,) = (tmp_path / "model").glob("header.json")
        listed = json.loads(header.read_text())["content"]["arrays"]
        for name, entry in listed.items():
            assert (tmp_path / "model" / entry["file"]).read_bytes() == before[name]
        if len(calls) in (3, 5):
            raise KeyboardInterrupt if len(calls) == 3 else ValueError("stop")

    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error):
            fit_on_disk(MODELS["linear"](), data, tmp_path / "model", 300_000, progress=stop)
    assert calls[3][0] > calls[2][0], "it continued"
    assert content(tmp_path / "model") == before
    for _ in range(2):
        fit_on_disk(MODELS["linear"](), data, tmp_path / "model", 300_000)
        assert content(tmp_path / "model") == before


_FIT = """
import sys
from boolrank import KernelRanker
from boolrank.counts import blocks, counting
from boolrank.data.synthetic import synthetic
from boolrank.models import disk_fit, fitted
disk_fit.held_memory, disk_fit._RESERVE = lambda: 0, 0
model = KernelRanker("linear", storage="compressed")
data = synthetic(500, 300, 6_000, seed=3)
disk_fit.fit_on_disk(model, data, sys.argv[1], 300_000)
"""


def test_a_killed_fit_continues_and_gives_the_same_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(disk_fit, "held_memory", lambda: 0)
    monkeypatch.setattr(disk_fit, "_RESERVE", 0)
    data, target = synthetic(500, 300, 6_000, seed=3), tmp_path / "model"
    fit_on_disk(MODELS["linear"](), data, tmp_path / "whole", 300_000)
    expected = content(tmp_path / "whole")
    # Say what is done before and after a range is written, and wait to be killed.
    slow = _FIT.replace(
        "model =",
        "import time; append = counting._append\n"
        "def say(): print(flush=True); time.sleep(0.3)\n"
        "counting._append = lambda *a: (say(), append(*a), say())\nmodel =",
    )
    counted = []
    for lines in (1, 4, 5, 2):
        process = subprocess.Popen([sys.executable, "-c", slow, target], stdout=subprocess.PIPE)
        for _ in range(lines):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert not (target / "header.json").exists()
        state, _ = json.loads(next(target.glob("progress.*")).read_text()[8:])
        counted.append(state.get("counted", [0])[0])
    assert counted == sorted(counted)
    assert 0 < counted[1] < counted[2], "work is kept"
    fit_on_disk(MODELS["linear"](), data, target, 300_000)
    assert content(target) == expected


def test_a_fit_whose_files_were_damaged_starts_again_and_gives_the_same_folder(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(disk_fit, "held_memory", lambda: 0)
    monkeypatch.setattr(disk_fit, "_RESERVE", 0)
    events, stopped, foreign = (tmp_path / name for name in ("events.csv", "stopped", "foreign"))
    synthetic(100, 60, 1_000, seed=3).to_frame().write_csv(events)
    calls = []

    def stop(*at: int) -> None:
        calls.append(at)
        if len(calls) == 3:
            raise KeyboardInterrupt

    def fit(folder: Path) -> None:
        fit_on_disk(MODELS["linear"](), [events], folder, 60_000, progress=stop)

    with pytest.raises(KeyboardInterrupt):
        fit(stopped)
    fit(tmp_path / "whole")
    expected = content(tmp_path / "whole")

    def flip(file: Path) -> None:
        raw = bytearray(file.read_bytes())
        raw[len(raw) // 2] ^= 64
        file.write_bytes(raw)

    def link(file: Path) -> None:
        foreign.write_bytes(file.read_bytes())
        file.unlink()
        file.symlink_to(foreign)

    def cut(file: Path) -> None:
        os.truncate(file, file.stat().st_size // 2)

    def lengthen(file: Path) -> None:
        file.write_bytes(file.read_bytes() + b"x")

    files = sorted(file.name for file in stopped.iterdir())
    assert len(files) == 9
    cases = [(file, flip) for file in files]
    cases += [(files[k], way) for k in (3, 7) for way in (cut, Path.unlink, link, lengthen)]
    for number, (name, damage) in enumerate(cases):
        folder = tmp_path / str(number)
        shutil.copytree(stopped, folder)
        damage(folder / name)
        before, start = foreign.exists() and foreign.read_bytes(), len(calls)
        fit(folder)
        assert content(folder) == expected
        # Bytes behind the last commit are not damage: a killed process leaves them.
        continued = damage is lengthen and "columns" in name
        assert (calls[start] != calls[0]) == continued, (name, damage)
        assert not foreign.exists() or foreign.read_bytes() == before


@pytest.mark.parametrize(
    "content", ["", "null", "[]", "[1, 2]", "[[1], {}]", '[{"n": 1}, {"x": 5}]']
)
def test_progress_of_another_form_counts_as_none(content, tmp_path) -> None:
    with Job.open(tmp_path / "model", "key") as job:
        job.commit(n=1)
    progress = next((tmp_path / "model").glob("progress.*"))
    progress.write_text(f"{zlib.crc32(content.encode()):08x}{content}")
    with Job.open(tmp_path / "model", "key") as job:
        assert job.state == {}


def test_progress_that_names_a_file_elsewhere_leaves_it_alone(tmp_path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"abcdef")
    with Job.open(tmp_path / "model", "key") as job:
        job.commit(n=1)
    progress = next((tmp_path / "model").glob("progress.*"))
    for name in (str(foreign), "../foreign"):
        content = json.dumps([{"n": 1}, {name: [3, zlib.crc32(b"abc")]}])
        progress.write_text(f"{zlib.crc32(content.encode()):08x}{content}")
        with Job.open(tmp_path / "model", "key") as job:
            assert job.state == {}
        assert foreign.read_bytes() == b"abcdef"


def test_parts_of_a_large_model_are_given_back_and_lists_stay(tmp_path, monkeypatch) -> None:
    data = synthetic(300, 200, 3_000)
    expected = ItemKNN().fit(data).recommend(n=5)
    ItemKNN().fit(data).save(tmp_path)
    released = []
    monkeypatch.setattr(fitted, "_LARGE", 100)
    monkeypatch.setattr(fitted, "release_pages", lambda arrays: released.append(len(arrays)))
    found = load_model(tmp_path).recommend(n=5)
    assert released == [4] * 19, "after each 16 of 300 users"
    assert (found.items == expected.items).all()
    assert np.array_equal(found.scores, expected.scores, equal_nan=True)


@pytest.mark.parametrize("name", ["filmtrust", "movielens-1m"])
def test_real_data_give_the_same_folder(name, data_dir, tmp_path, monkeypatch) -> None:
    data = load_dataset(name, data_dir)
    monkeypatch.setattr(disk_fit, "held_memory", lambda: 0)
    monkeypatch.setattr(disk_fit, "_RESERVE", 0)
    for made in list(MODELS.values())[:3] if name == "filmtrust" else [MODELS["disjunctive"]]:
        expected = in_memory(made(), data, tmp_path / "memory")
        memory = 3_000_000 if name == "filmtrust" else 60_000_000
        ranges = []
        count = ranges.append
        fit_on_disk(made(), data, tmp_path / "disk", memory, progress=lambda *at, c=count: c(at))
        assert len(ranges) > 1
        assert content(tmp_path / "disk") == expected


def test_the_command_line_fits_within_a_limit_and_says_what_it_read(run, tmp_path) -> None:
    events, model = tmp_path / "events.csv", tmp_path / "model"
    events.write_text("user,item,rating\nann,tea,5\nbob,tea,4\nbob,jam,5\nann,jam,1\neve,tea,\n")
    args = ("fit", events, "--positive", ">= 4", "--kernel", "linear", "--out")
    code, _, err = run(*args, model, "--memory", "20GB")
    assert code == 0
    assert "dropped 1 row without rating, 1 row with rating not >= 4" in err
    assert "2 users x 2 items, 3 interactions" in err
    run(*args, tmp_path / "memory")
    assert content(model) == content(tmp_path / "memory")
    for wrong, said in (
        (("fit", events, "--out", model, "--memory", "1GB"), "add --model kernel-ranker"),
        ((*args, model, "--memory", "1GB", "--k-core", 2), "--memory and --k-core exclude"),
        ((*args, model, "--memory", "300MB"), r"allow [\d.]+ .B or more"),
        (
            ("fit", events, "--model", "ease", "--out", model, "--memory", "1GB"),
            "choose kernel-ranker",
        ),
    ):
        code, _, err = run(*wrong)
        assert code
        assert re.search(said, err), err
    assert content(model) == content(tmp_path / "memory")


def test_the_estimate_is_near_what_is_counted(run) -> None:
    code, out, _ = run("estimate", "synthetic:3000x2000x30000", "--json")
    assert code == 0
    (found,) = json.loads(out)
    data = synthetic(3000, 2000, 30000)
    assert found["steps"] == (data.rows.lengths**2).sum()
    assert found["pairs"] == pytest.approx(count_sparse(data).pairs, rel=0.1)
    assert found["disk_memory"] < found["memory"]
    assert found["lists"] == min(8 * found["pairs"], 8 * simplex_scorer._MOST_PAIRS)
    said = " ".join(run("estimate", "synthetic:3000x2000x30000")[1].split())
    assert "in memory" in said
    assert "lists for everybody up to 5" in said
    assert "Without --model, fit chooses among models and takes several fits." in said
