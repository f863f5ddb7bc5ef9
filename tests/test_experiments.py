"""Experiments: TOML files, runs, the cache, and errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib import import_module, invalidate_caches

import numpy as np
import pytest

from boolrank import Disjunctive, Experiment, KernelRanker, Popularity, evaluate, run_experiment
from boolrank.counts.overlaps import Overlaps
from boolrank.errors import InputError, KernelSyntaxError, ParameterError, ParameterTypeError
from boolrank.evaluation.metrics import parse_metric
from boolrank.models import ModelSpec, parse_model
from boolrank.studies import executor, family, parse_arities, read_experiment
from boolrank.studies.cache import Cache, Task

DATA = "synthetic:120x60x1500:3"


def _ranker(kernel, **params):
    return ModelSpec("kernel-ranker", {"kernel": kernel} | params)


SMALL = Experiment((DATA,), (_ranker("linear"), _ranker("disjunctive(3)")), split={"folds": 3})

SWEEP = f"""
data = "{DATA}"
metrics = ["auc", "ndcg@5"]
seed = 4

[split]
protocol = "paper"
folds = 4

[[models]]
kernel = "linear"

[[models]]
kernel = "disjunctive"
arities = "2:9"
"""


def _cells(folder):
    return sorted(path for path in folder.rglob("cells/*/*.json") if not path.name.startswith("."))


def test_a_run_equals_evaluate():
    run = run_experiment(SMALL)
    alone = evaluate(KernelRanker("disjunctive(3)"), run.split, SMALL.metrics)
    found = run.evaluations["kernel-ranker(kernel=disjunctive(3))"]
    assert found.means == alone.means
    assert found.deviations == alone.deviations
    assert found.split_hash == run.split.hash


def test_models_with_processes_of_their_own_have_the_same_results_and_their_memory():
    together, apart = (run_experiment(SMALL, alone=alone) for alone in (False, True))
    assert apart.to_dict() == together.to_dict()
    for name, found in apart.evaluations.items():
        assert together.evaluations[name].peak_memory is None
        assert found.peak_memory > 10_000_000


def test_a_second_run_takes_everything_from_the_cache(tmp_path):
    first = run_experiment(SMALL, tmp_path)
    before = (first.folder / "results.json").read_bytes()
    second = run_experiment(SMALL, tmp_path, n_threads=1)
    assert (first.computed, second.computed) == (6, 0)
    assert first.folder == second.folder
    assert (second.folder / "results.json").read_bytes() == before
    np.testing.assert_array_equal(
        first.evaluations["kernel-ranker(kernel=linear)"].per_user("auc"),
        second.evaluations["kernel-ranker(kernel=linear)"].per_user("auc"),
    )


def test_experiments_in_one_folder_share_results_and_keep_their_own_files(tmp_path):
    first = run_experiment(SMALL, tmp_path)
    more = replace(SMALL, models=(*SMALL.models, _ranker("tanimoto")))
    second = run_experiment(more, tmp_path)
    assert second.computed == 3
    assert first.folder != second.folder
    assert len(_cells(tmp_path)) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"metrics": ("auc",)},
        {"split": {"folds": 4}},
        {"data": ("synthetic:120x60x1500:4",)},
        {"models": (_ranker("linear", reg=0.2), _ranker("disjunctive(3)", reg=0.2))},
    ],
)
def test_everything_that_results_depend_on_is_part_of_the_key(tmp_path, change):
    run_experiment(SMALL, tmp_path)
    other = run_experiment(replace(SMALL, **change), tmp_path)
    assert other.computed == len(other.split) * len(other.experiment.models)


@pytest.mark.parametrize("damage", ["cut", "empty", "number", "not json", "of another"])
def test_a_damaged_result_is_computed_again(tmp_path, damage):
    first = run_experiment(SMALL, tmp_path)
    right = (first.folder / "results.json").read_bytes()
    path, other = _cells(tmp_path)[:2]
    text = path.read_text()
    broken = {
        "cut": text[: len(text) // 2],
        "empty": "",
        "number": text.replace("0.", "1.", 1),
        "not json": "\x00" * 100,
        "of another": other.read_text(),
    }[damage]
    path.write_text(broken)
    again = run_experiment(SMALL, tmp_path)
    assert again.computed == 1
    assert json.loads(path.read_text())["result"]["values"]
    assert (again.folder / "results.json").read_bytes() == right


def test_a_killed_and_resumed_run_equals_an_undisturbed_one(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    main = f"from boolrank.cli import main\nmain({['evaluate', str(file), '--out', str(stopped)]})"
    call = [sys.executable, "-c", main]
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(_cells(stopped)) < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = len(_cells(stopped))
    experiment = read_experiment(file)
    total = 4 * len(experiment.models)
    assert 5 <= done < total
    assert not list(stopped.rglob("results.json"))
    _cells(stopped)[0].write_text('{"content": {"key"')  # what a worse file system might leave

    resumed = run_experiment(experiment, stopped)
    undisturbed = run_experiment(experiment, whole)
    assert resumed.computed == total - done + 1
    assert undisturbed.computed == total
    assert resumed.folder.name == undisturbed.folder.name
    a, b = (run.folder / "results.json" for run in (resumed, undisturbed))
    assert a.read_bytes() == b.read_bytes()
    assert len(_cells(stopped)) == total


def test_the_manifest_has_machine_versions_and_counts(tmp_path):
    run = run_experiment(SMALL, tmp_path, n_threads=2)
    manifest = json.loads((run.folder / "manifest.json").read_text())
    assert manifest["split_hash"] == run.split.hash
    assert manifest["seed"] == 0
    assert manifest["threads"] == 2
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["machine"]["cores"] == os.cpu_count()
    assert (manifest["computed_now"], manifest["computed_before"]) == (6, 0)


def test_results_have_no_times(tmp_path):
    run = run_experiment(SMALL, tmp_path)
    text = (run.folder / "results.json").read_text()
    assert "seconds" not in text
    means = json.loads(text)["results"][0]["means"]
    assert means == run.evaluations["kernel-ranker(kernel=linear)"].means


def _task(experiment=SMALL):
    metrics = tuple(map(parse_metric, experiment.metrics))
    return Task(experiment.load_split()[0], experiment.models[0], metrics)


def test_the_version_is_part_of_the_key(monkeypatch, tmp_path):
    before = Cache(tmp_path).path(_task())
    assert Cache(tmp_path).path(_task()) == before
    monkeypatch.setattr("boolrank.studies.cache.__version__", "99.0")
    assert Cache(tmp_path).path(_task()) != before


OWN = """
from dataclasses import dataclass

from boolrank import Kernel


@dataclass(frozen=True, repr=False)
class Own(Kernel):
    name = "own_in_a_file"
    formula = "c"

    def value(self, k):
        return k.common
"""


@pytest.fixture
def own_module(monkeypatch, tmp_path):
    """Write and import a module with a kernel of its name, again if it was imported before."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(name, text=OWN):
        file = tmp_path / f"{name}.py"
        file.write_text(text.replace("own_in_a_file", name))
        monkeypatch.delitem(sys.modules, name, raising=False)
        invalidate_caches()
        import_module(name)
        return file

    return write


def test_results_of_a_kernel_of_a_module_depend_on_its_file(own_module, tmp_path):
    computed = []
    for text in (OWN, OWN, OWN.replace("k.common", "2 * k.common")):
        own_module("own_in_a_file", text)
        own = replace(SMALL, models=(_ranker("0.5*own_in_a_file + linear"),))
        computed.append(run_experiment(own, tmp_path / "results").computed)
    assert computed == [3, 0, 3]
    assert not _task().key["code"]


def test_a_file_that_is_edited_after_its_import_does_not_get_results_of_old_code(
    own_module, tmp_path
):
    file = own_module("edited_own")
    own = replace(SMALL, models=(_ranker("edited_own"),))
    run_experiment(own, tmp_path / "results")
    file.write_text(file.read_text().replace("k.common", "k.common * k.common"))
    assert run_experiment(own, tmp_path / "results").computed == 0, "the code is still the old one"
    own_module("edited_own", file.read_text())
    assert run_experiment(own, tmp_path / "results").computed == 3


def test_results_of_a_kernel_depend_on_the_file_of_its_base_class(own_module, tmp_path):
    derived = "from base_of_own import Own\n\n\nclass Derived(Own):\n    name = 'derived_own'\n"
    for text in (OWN, OWN.replace("k.common", "2 * k.common")):
        own_module("base_of_own", text)
        own_module("derived_own", derived)
        own = replace(SMALL, models=(_ranker("derived_own"),))
        assert run_experiment(own, tmp_path / "results").computed == 3


@pytest.mark.parametrize("how", ["no name", "no file"])
def test_results_of_a_kernel_without_a_file_are_not_kept(own_module, monkeypatch, tmp_path, how):
    name = f"own_{how.replace(' ', '_')}"
    file = own_module(name)
    if how == "no file":
        file.unlink()
    else:
        monkeypatch.delattr(sys.modules[name], "__file__")
    own = replace(SMALL, models=(_ranker(name),))
    assert [run_experiment(own, tmp_path / "results").computed for _ in range(2)] == [3, 3]


def test_results_that_cannot_be_written_are_an_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match=r"cannot be written.*another place"):
        run_experiment(SMALL, blocked)
    assert Cache(blocked).read(_task()) is None


def test_models_that_use_no_overlaps_count_none(monkeypatch):
    def refuse(*_):
        raise MemoryError("the pairs do not fit into memory")

    monkeypatch.setattr(Overlaps, "of", refuse)
    models = (ModelSpec("popularity"),)
    assert run_experiment(replace(SMALL, models=models)).computed == 3
    with pytest.raises(MemoryError, match="the pairs"):
        run_experiment(SMALL)


def test_overlaps_are_counted_once_per_fold_and_charged_to_each_model(monkeypatch, tmp_path):
    counted, count = [], Overlaps.of

    def slowly(*args):
        counted.append(args)
        time.sleep(0.2)
        return count(*args)

    monkeypatch.setattr(Overlaps, "of", slowly)
    run = run_experiment(SMALL, tmp_path)
    assert len(counted) == 3
    for found in run.evaluations.values():
        assert all(fold.fit_seconds > 0.2 for fold in found.folds)
    run_experiment(SMALL, tmp_path)
    assert len(counted) == 3, "cached results need none"


@pytest.mark.skipif(os.name == "nt", reason="locks of folders are another matter there")
def test_scratch_folders_of_killed_runs_are_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead, young = tmp_path / "boolrank-dead", tmp_path / "boolrank-young"
    for each in (dead, young):
        each.mkdir()
        (each / "rankings.npz").write_bytes(b"")
    os.utime(dead, (0, 0))
    with executor._scratch_folder() as living:
        os.utime(living, (0, 0))
        with executor._scratch_folder():
            assert living.is_dir(), "its owner lives"
    assert [path.name for path in tmp_path.iterdir()] == ["boolrank-young"]


def test_any_model_can_be_named_in_toml(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(f"""
data = "{DATA}"
[split]
folds = 3
[[models]]
model = "popularity"
[[models]]
model = "kernel-ranker"
kernel = "disjunctive"
arities = "2,3"
reg = 1
""")
    experiment = read_experiment(path)
    texts = ["popularity", *(f"kernel-ranker(kernel=disjunctive({d}), reg=1)" for d in (2, 3))]
    assert [str(model) for model in experiment.models] == texts
    run = run_experiment(experiment, tmp_path)
    assert Experiment.from_dict(experiment.to_dict()) == experiment
    alone = evaluate(Popularity(), run.split, experiment.metrics)
    assert run.evaluations["popularity"].means == alone.means
    assert run_experiment(experiment, tmp_path).computed == 0


def test_specs_are_equal_if_models_are():
    same = [
        _ranker("disjunctive( 8 )", reg=1),
        ModelSpec("kernel-ranker", {"reg": 1.0}),
        ModelSpec("kernel-ranker", {"reg": np.float64(1), "kernel": Disjunctive(8)}),
        ModelSpec.from_dict({"model": "kernel-ranker", "reg": 1}),
        parse_model(" kernel-ranker( reg = 1, kernel='disjunctive(8)' )"),
    ]
    assert set(same) == {same[0]}
    assert {str(each) for each in same} == {"kernel-ranker(reg=1)"}
    assert all(ModelSpec.from_dict(each.to_dict()) == each for each in same)
    assert ModelSpec("kernel-ranker", {"reg": 0.5}) != same[0]
    model = same[1].make(n_threads=2)
    assert (model.reg, model.n_threads) == (1.0, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a model"),
        ("kernel-ranker(reg)", "name=value"),
        ("kernel-ranker(reg=)", "name=value"),
        ("kernel-ranker(reg=x)", "reg of kernel-ranker must be a"),
        ("kernel-ranker(reg=inf)", "reg of kernel-ranker must be a"),
        ("kernel-ranker(reg=none)", "reg of kernel-ranker must be a"),
        ("kernel-ranker(reg=true)", "reg of kernel-ranker must be a"),
        ("kernel-ranker(storage=dense)", "storage of kernel-ranker changes no result"),
        ("kernel-ranker(lambda=3)", "no parameter 'lambda'"),
        ("kernel-ranker(kernel=linaer)", "linear"),
    ],
)
def test_text_that_is_not_a_model_is_an_error(text, words):
    with pytest.raises((ParameterError, ParameterTypeError, KernelSyntaxError), match=words):
        parse_model(text)


def test_toml_expands_arities_and_resolves_paths_relative_to_itself(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(SWEEP)
    assert len(read_experiment(path).models) == 9
    path.write_text('data = ["sub/ratings.csv"]\n[[models]]\nkernel = "linear"\n')
    assert read_experiment(path).data == (str(tmp_path / "sub" / "ratings.csv"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data = [", "is not TOML"),
        ("data = " + "[" * 9999, "is not TOML"),
        ('data = "a.csv"', "models is missing"),
        ('[[models]]\nkernel = "linear"', "data is missing"),
        ('data = 3\n[[models]]\nkernel = "linear"', "data is written as"),
        ('data = [3]\n[[models]]\nkernel = "linear"', "data is written as"),
        ('data = "a"\nmetric = ["auc"]\n[[models]]\nkernel = "linear"', "did you mean 'metrics'"),
        ('data = "a"\nmetrics = ["auk"]\n[[models]]\nkernel = "linear"', "did you mean 'auc'"),
        ('data = "a"\nseed = true\n[[models]]\nkernel = "linear"', "seed must be a whole"),
        ('data = "a"\nseed = -1\n[[models]]\nkernel = "linear"', "seed must be"),
        ('data = "a"\n[[models]]\nreg = 0.1', "kernel = .* is missing"),
        ('data = "a"\n[[models]]\nkernel = "linaer"', ".*linear"),
        ('data = "a"\n[[models]]\nkernel = "linear"\nreg = "x"', "reg of .*number"),
        ('data = "a"\n[[models]]\nkernel = "linear"\nreg = -1.0', "reg of .* must"),
        ('data = "a"\n[[models]]\nkernel = "linear"\nlambda = 1', ".*no parameter 'lambda'"),
        ('data = "a"\n[[models]]\nkernel = "disjunctive"\narities = "5:1"', "must ascend"),
        ('data = "a"\n[[models]]\nmodel = "popularty"', "no model 'popularty'"),
        ('data = "a"\n[[models]]\nmodel = "popularity"\nkernel = "linear"', "no parameter 'k"),
        ('data = "a"\n[[models]]\nmodel = "kernel-ranker"\nreg = "x"', "reg of .*number"),
        ('data = "a"\nmodels = [3]', "kernel = .* is missing"),
        ('data = "a"\nmodels = 3', "models is written as"),
        ('data = "a"\n[[models]]\nmodel = 3', 'model is written as "ease", not 3'),
        ('data = "a"\n[columns]\nuser = 3\n[[models]]\nkernel = "linear"', "user is written as"),
        (
            'data = "a"\n[columns]\ndatabase = 3\n[[models]]\nkernel = "linear"',
            "database is written",
        ),
        ('data = "a"\n[columns]\nk_core = "x"\n[[models]]\nkernel = "linear"', "k_core is written"),
        ('data = "a"\n[columns]\nwho = "x"\n[[models]]\nkernel = "linear"', "no column option"),
        ('data = "a"\n[split]\nfold = 3\n[[models]]\nkernel = "linear"', "did you mean 'folds'"),
        ('data = "a"\n[split]\nprotocol = "papr"\n[[models]]\nkernel = "linear"', "mean 'paper'"),
        ('data = "a"\n[split]\nprotocol = 3\n[[models]]\nkernel = "linear"', "no split '3'"),
        ('data = "a"\n[split]\nseed = 3\n[[models]]\nkernel = "linear"', "put it beside data"),
        ('data = "a"\n[split]\nleast = [1]\n[[models]]\nkernel = "linear"', "number or text"),
    ],
)
def test_a_malformed_file_is_an_error_with_file_key_and_hint(tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_experiment(path)
    assert "bad.toml" in str(caught.value)


def test_dates_in_toml_are_times(tmp_path):
    (tmp_path / "r.csv").write_text(
        "user,item,date\n1,a,2024-01-01\n1,b,2024-01-02\n2,b,2024-01-01\n2,a,2024-01-03\n"
    )
    path = tmp_path / "e.toml"
    path.write_text(
        'data = "r.csv"\n[columns]\nsince = 2024-01-02\n[split]\nprotocol = "hold_out"\n'
        '[[models]]\nkernel = "linear"\n'
    )
    assert read_experiment(path).columns == {"since": "2024-01-02"}
    for at in ("2024-01-02", "2024-01-02T00:00:00", '"2024-01-02"'):
        path.write_text(
            f'data = "r.csv"\n[split]\nprotocol = "temporal"\nat = {at}\n'
            '[[models]]\nkernel = "linear"\n'
        )
        run = run_experiment(read_experiment(path), tmp_path / "out")
        assert len(run.split[0].relevant.indices) == 2


@pytest.mark.parametrize(("given", "order"), [({}, "time"), ({"order": "random"}, "random")])
def test_a_hold_out_is_by_time_unless_told_otherwise(given, order):
    experiment = replace(SMALL, protocol="hold_out", split=given)
    assert experiment.load_split().parameters["order"] == order


def test_models_that_differ_in_the_last_digit_are_distinct():
    models = (_ranker("linear", reg=0.5), _ranker("linear", reg=0.5 + 1e-12))
    run = run_experiment(replace(SMALL, models=models))
    assert len(run.evaluations) == 2


def test_row_numbers_can_stand_for_time(tmp_path):
    rows = [(u, i) for u in "xyz" for i in "caebd"]
    path = tmp_path / "r.csv"
    path.write_text("who,item,rating,time\n" + "".join(f"{u},{i},4,9\n" for u, i in rows))
    experiment = Experiment(
        (str(path),), SMALL.models, split={"folds": 3, "order": "file"}, columns={"user": "who"}
    )
    for fold in experiment.load_split():
        assert "".join(fold.train.items[int(i)] for i in fold.known.indices) == "ac"
    with pytest.raises(ParameterError, match="leave out one of them"):
        replace(experiment, columns={"user": "who", "time": "time"}).load_split()
    some = replace(experiment, columns={"user": "who", "positive": "> 3"}).load_split()
    assert some.hash == experiment.load_split().hash
    (tmp_path / "ciaodvd").mkdir()
    text = "".join(f"{ord(u)},{ord(i)},1,1,5,2000-01-{31 - k}\n" for k, (u, i) in enumerate(rows))
    (tmp_path / "ciaodvd" / "movie-ratings.txt").write_text(text)
    named = replace(experiment, data=("ciaodvd",), columns={})
    for order, early in (("file", "ac"), ("time", "bd")):
        for fold in replace(named, split={"folds": 3, "order": order}).load_split(tmp_path):
            known = "".join(chr(fold.train.items[int(i)]) for i in fold.known.indices)
            assert known == early


def test_data_may_be_one_string_and_models_must_be_specs():
    assert Experiment(DATA, SMALL.models) == Experiment((DATA,), SMALL.models)
    with pytest.raises(ParameterTypeError, match="models is written as"):
        Experiment((DATA,), ("linear",))


def test_the_manifest_is_kept_if_nothing_was_recomputed(tmp_path):
    first = run_experiment(SMALL, tmp_path)
    manifest = first.folder / "manifest.json"
    before = manifest.read_bytes()
    run_experiment(SMALL, tmp_path)
    assert manifest.read_bytes() == before
    for spoil in (lambda path: path.unlink(), lambda path: path.write_text("{}")):
        before = manifest.read_bytes()
        spoil(_cells(tmp_path)[0])
        run_experiment(SMALL, tmp_path)
        assert json.loads(manifest.read_text())["computed_now"] == 1
        manifest.write_bytes(before)


def test_several_processes_can_share_a_folder(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    out = tmp_path / "out"
    main = f"from boolrank.cli import main\nmain({['evaluate', str(file), '--out', str(out)]})"
    quiet = subprocess.DEVNULL
    calls = [
        subprocess.Popen([sys.executable, "-c", main], stdout=quiet, stderr=quiet) for _ in "ab"
    ]
    assert [call.wait(timeout=120) for call in calls] == [0, 0]
    experiment = read_experiment(file)
    alone = run_experiment(experiment, tmp_path / "alone")
    found = run_experiment(experiment, out)
    assert found.computed == 0
    a, b = (run.folder / "results.json" for run in (alone, found))
    assert a.read_bytes() == b.read_bytes()
    assert not list(out.rglob(".*"))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        read_experiment(tmp_path / "none.toml")


def test_invalid_experiments_are_errors():
    with pytest.raises(ParameterTypeError, match="models is written as"):
        Experiment((DATA,), ("linear",))
    with pytest.raises(ParameterError, match="no model to run"):
        run_experiment(Experiment((DATA,)))
    with pytest.raises(KernelSyntaxError):
        _ranker("linaer")
    with pytest.raises(ParameterError, match="10000 folds need 10000 users"):
        run_experiment(replace(SMALL, split={"folds": 10_000}))
    with pytest.raises(ParameterError, match="no parameter 'fold'"):
        run_experiment(replace(SMALL, split={"fold": 5}))
    with pytest.raises(ParameterError, match="did you mean 'paper'"):
        run_experiment(replace(SMALL, protocol="papers"))
    with pytest.raises(ParameterError, match="has no published split"):
        run_experiment(replace(SMALL, protocol="published", split={}))
    with pytest.raises(ParameterError, match="has no parameter 'folds'"):
        run_experiment(replace(SMALL, protocol="published"))


def test_files_in_pairs_are_a_published_split(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,item\n1,a\n1,b\n2,b\n2,c\n3,a\n3,c\n")
    test.write_text("user,item\n1,c\n2,a\n3,b\n")
    models = (_ranker("linear"),)
    run = run_experiment(Experiment((str(train), str(test)), models, "published"))
    assert len(run.split) == 1
    assert len(run.evaluations["kernel-ranker(kernel=linear)"].folds[0].users) == 3
    with pytest.raises(ParameterError, match="two for each fold"):
        run_experiment(Experiment((str(train),), models, "published"))


def test_ids_of_a_published_split_have_one_type_in_all_files(tmp_path):
    """One file has numbers only, the other has a word among them."""
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,item\n1,5\n1,6\n2,6\n2,7\n10,5\n10,7\n")
    test.write_text("user,item\n1,7\n2,5\n10,6\nnew,tea\n")
    experiment = Experiment((str(train), str(test)), (_ranker("linear"),), "published")
    (fold,) = experiment.load_split()
    assert list(fold.users) == ["1", "10", "2"]
    assert len(fold.relevant.indices) == 3
    assert (fold.unseen_items, fold.cold_users) == (1, 1)


def test_the_seed_determines_the_folds():
    seeds = [replace(SMALL, seed=seed).load_split().hash for seed in (0, 0, 1)]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize("text", ["", "a", "3:1", "0:4", "1:5:0", "1:2:3:4", "-1", "1:999999999"])
def test_malformed_arities_are_errors(text):
    with pytest.raises(ParameterError, match="arities"):
        parse_arities(text)


def test_arities_are_ranges_with_both_ends():
    assert parse_arities("1:150") == tuple(range(1, 151))
    assert parse_arities("5, 1:3, 2") == (1, 2, 3, 5)
    assert family("disjunctive({}) @ conjunctive(2)", [4]) == ("disjunctive(4) @ conjunctive(2)",)
