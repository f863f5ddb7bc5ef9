"""Tuning: search spaces, studies that can be resumed, and arities."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from inspect import signature

import numpy as np
import optuna
import pytest

from boolrank import (
    InputError,
    Interactions,
    KernelRanker,
    ParameterError,
    make_split,
    paper_protocol,
    parse_kernel,
    synthetic,
)
from boolrank.counts.overlaps import Overlaps
from boolrank.engines.worker import Worker
from boolrank.errors import MatrixTooLargeError, MissingExtraError, ParameterTypeError
from boolrank.evaluation import evaluate_fold
from boolrank.evaluation.folds import fit_and_rank, measure_fold
from boolrank.evaluation.metrics import METRICS, Metric, parse_metric
from boolrank.evaluation.result import FoldResult
from boolrank.kernels.expressiveness import PairSpectrum
from boolrank.models import MODELS, ModelSpec, make_model
from boolrank.models.search import Arity
from boolrank.studies import (
    Study,
    Trial,
    arity_from_spectrum,
    best_arity,
    best_spec,
    tune_model,
    validation_fold,
)
from boolrank.studies.cache import Task, read_json, write_json
from boolrank.studies.executor import Executor, reason
from worker_here import WorkerHere

DATA = (200, 100, 3_000, 3)


@pytest.fixture(scope="module")
def fold():
    return validation_fold(synthetic(*DATA))


@pytest.fixture
def here(monkeypatch):
    """Run trials in this process, where they can be made to fail or be counted."""
    monkeypatch.setattr(
        "boolrank.studies.tune.Executor",
        lambda folder, n_threads, apart: Executor(folder, n_threads),  # noqa: ARG005
    )


def _undisturbed(*args, **options):
    """Tune in this process, which takes less time to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boolrank.studies.executor.Worker", WorkerHere)
        return tune_model(*args, **options)


def _task(model, fold, metrics=("auc",), **params):
    return Task(fold, ModelSpec(model, params), tuple(map(parse_metric, metrics)))


def _summary(folder):
    (path,) = (folder / "studies").glob("*.json")  # a killed writer may leave a temporary file
    return path


def _tried(study):
    return [(dict(t.params), dict(t.metrics), t.error) for t in study.trials]


# Spaces.


@pytest.mark.parametrize("name", MODELS)
def test_every_search_space_draws_valid_parameters(name, fold):
    try:
        kind = MODELS[name].load()
    except MissingExtraError as error:
        pytest.skip(str(error))
    space = MODELS[name].space
    assert bool(space) == (name != "popularity")
    assert set(space) <= set(signature(kind).parameters)
    rng = np.random.default_rng(0)
    sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31)))
    study = optuna.create_study(sampler=sampler)
    for _ in range(30):
        asked = study.ask()
        params = {key: each.draw(asked, key, fold.train) for key, each in space.items()}
        assert json.loads(json.dumps(params)) == params
        model = make_model(name, **params)
        if "kernel" in params:
            parse_kernel(params["kernel"])
    assert model.fit(fold.train).score().shape == fold.train.shape


def test_the_largest_arity_is_the_inverse_of_the_density(fold):
    users, items = fold.train.shape
    assert Arity(1).most(fold.train) == max(8, round(users * items / fold.train.size))
    few = synthetic(5, 40, 20)
    assert Arity(1).most(few) <= 5


# Studies.


@pytest.mark.usefixtures("worker_here")
def test_the_first_trial_has_the_defaults_and_all_trials_equal_evaluate_fold(fold):
    study = tune_model("kernel-ranker", fold, ["auc", "recall@5"], trials=6)
    assert study.trials[0].params == {}
    for trial in study.trials:
        assert trial.worked
        metrics = ["auc", "recall@5", "coverage@10", "top10_share@10"]
        expected = evaluate_fold(KernelRanker(**trial.params), fold, metrics)
        assert trial.metrics == expected.means
        assert trial.seconds > 0
    assert len({json.dumps(trial.params) for trial in study.trials}) == 6
    for metric in ("auc", "recall@5"):
        best = study.best(metric)
        assert best.metrics[metric] == max(t.metrics[metric] for t in study.trials)
    made = study.spec("auc").make()
    assert made.get_params() == KernelRanker(**study.best("auc").params).get_params()


@pytest.mark.usefixtures("worker_here")
def test_the_seed_determines_the_trials(fold):
    first = tune_model("kernel-ranker", fold, trials=14, seed=1)
    again = tune_model("kernel-ranker", fold, trials=14, seed=1, n_threads=1)
    assert _tried(first) == _tried(again)
    other = tune_model("kernel-ranker", fold, trials=3, seed=2)
    assert _tried(other)[1:] != _tried(first)[1:3]


@pytest.mark.usefixtures("here")
def test_later_draws_depend_on_earlier_results(fold, monkeypatch):
    """After ten random trials the draws follow what was measured: by chance they would not."""
    plain = tune_model("kernel-ranker", fold, "auc", trials=13)

    def reversed_means(*args):
        found = measure_fold(*args)
        found.means["auc"] *= -1
        return found

    monkeypatch.setattr("boolrank.studies.executor.measure_fold", reversed_means)
    other = tune_model("kernel-ranker", fold, "auc", trials=13)
    assert [t.params for t in plain.trials[:10]] == [t.params for t in other.trials[:10]]
    assert [t.params for t in plain.trials[10:]] != [t.params for t in other.trials[10:]]


@pytest.mark.usefixtures("here")
def test_a_longer_study_extends_a_shorter_one_and_computes_only_new_trials(
    fold, tmp_path, monkeypatch
):
    whole = tune_model("kernel-ranker", fold, trials=14)
    tune_model("kernel-ranker", fold, trials=3, folder=tmp_path)
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return fit_and_rank(*args, **kwargs)

    monkeypatch.setattr("boolrank.studies.executor.fit_and_rank", counted)
    longer = tune_model("kernel-ranker", fold, trials=14, folder=tmp_path)
    assert len(calls) == 11
    assert _tried(longer) == _tried(whole)
    assert _tried(tune_model("kernel-ranker", fold, trials=2, folder=tmp_path)) == _tried(whole)[:2]
    assert _tried(tune_model("kernel-ranker", fold, trials=14, folder=tmp_path)) == _tried(whole)
    assert len(calls) == 11
    assert _summary(tmp_path).name.startswith("kernel-ranker-")
    tune_model("kernel-ranker", fold, trials=1, folder=tmp_path, seed=5)
    tune_model("kernel-ranker", fold, "auc", trials=1, folder=tmp_path)
    tune_model("popularity", fold, trials=1, folder=tmp_path)
    assert len(list((tmp_path / "studies").iterdir())) == 4, "one summary for each"
    assert len(calls) == 13, "the seed is not part of the result of the default parameters"


def test_a_killed_and_resumed_study_equals_an_undisturbed_one(fold, tmp_path):
    program = (
        "from boolrank import synthetic\n"
        "from boolrank.studies import tune_model, validation_fold\n"
        f"fold = validation_fold(synthetic(*{DATA}))\n"
        f"tune_model('kernel-ranker', fold, trials=500, folder={str(tmp_path)!r})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.time() + 60
    while len(list(tmp_path.glob("cells/*/*.json"))) < 4:
        assert process.poll() is None, "it has ended by itself"
        assert time.time() < deadline
        time.sleep(0.02)
    process.kill()
    assert process.wait() != 0
    before = len(list(tmp_path.glob("cells/*/*.json")))
    assert 4 <= before < 500
    more = before + 9
    resumed = tune_model("kernel-ranker", fold, trials=more, folder=tmp_path)
    assert _tried(resumed) == _tried(_undisturbed("kernel-ranker", fold, trials=more))
    assert _tried(Study.from_dict(read_json(_summary(tmp_path)))) == _tried(resumed)


@pytest.mark.usefixtures("here")
def test_damaged_files_are_written_again(fold, tmp_path, monkeypatch):
    first = tune_model("kernel-ranker", fold, trials=3, folder=tmp_path)
    summary, cell = _summary(tmp_path), next(tmp_path.glob("cells/*/*.json"))
    texts = {path: path.read_text() for path in (summary, cell)}
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return fit_and_rank(*args, **kwargs)

    monkeypatch.setattr("boolrank.studies.executor.fit_and_rank", counted)
    rng = np.random.default_rng(0)
    for path, text in texts.items():
        for at in rng.integers(0, len(text), 10):
            path.write_text(f"{text[:at]}{chr(ord(text[at]) ^ 1)}{text[at + 1 :]}")
            again = tune_model("kernel-ranker", fold, trials=3, folder=tmp_path)
            assert _tried(again) == _tried(first)
            assert read_json(path)
    assert len(calls) == 10, "a damaged summary costs nothing, a damaged result one trial"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "error",
    [
        MatrixTooLargeError("this would take 80 GB"),
        MemoryError(),
        ParameterError("reg is odd"),
        FloatingPointError("overflow"),
        RuntimeWarning("weights are not exact"),
        np.linalg.LinAlgError("singular"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failed_trial_is_recorded_and_the_study_continues(error, fold, tmp_path, monkeypatch):
    plain = tune_model("kernel-ranker", fold, trials=5)
    bad = plain.trials[2].params

    def failing(model, *args, **kwargs):
        if model.get_params()["reg"] == bad["reg"]:
            raise error
        return fit_and_rank(model, *args, **kwargs)

    monkeypatch.setattr("boolrank.studies.executor.fit_and_rank", failing)
    study = tune_model("kernel-ranker", fold, trials=5, folder=tmp_path)
    assert (len(study.trials), study.failed) == (5, 1)
    trial = study.trials[2]
    assert trial.params == bad
    assert not trial.worked
    assert trial.error == reason(error)
    assert trial not in study.ranked()
    again = tune_model("kernel-ranker", fold, trials=7, folder=tmp_path)
    assert again.trials[:5] == study.trials, "what has failed is not tried again"


@pytest.mark.usefixtures("here")
def test_a_study_without_enough_memory_is_an_error(fold, tmp_path, monkeypatch):
    monkeypatch.setattr("boolrank._memory.free_memory", lambda: 1_000)
    with pytest.raises(InputError, match=r"none of 3 trials of kernel-ranker worked: a dense"):
        tune_model("kernel-ranker", fold, trials=3, folder=tmp_path)
    errors = [trial["error"] for trial in read_json(_summary(tmp_path))["trials"]]
    assert ["of 100 items" in error for error in errors] == [True] * 3, errors


@pytest.mark.usefixtures("here")
def test_a_trial_with_an_undefined_metric_fails(fold, monkeypatch):
    def undefined(*args):
        found = measure_fold(*args)
        found.means["auc"] = float("nan")
        return found

    monkeypatch.setattr("boolrank.studies.executor.measure_fold", undefined)
    with pytest.raises(InputError, match=r"ranker worked: no user has a value of auc"):
        tune_model("kernel-ranker", fold, trials=2)


@pytest.mark.usefixtures("worker_here")
def test_time_of_cached_trials_counts_towards_the_limit(fold, tmp_path):
    kept = tune_model("kernel-ranker", fold, trials=6, folder=tmp_path)
    limit = sum(trial.seconds for trial in kept.trials[:3])
    again = tune_model("kernel-ranker", fold, trials=6, seconds=limit, folder=tmp_path)
    assert len(again.trials) == 3
    assert _tried(tune_model("kernel-ranker", fold, trials=6, folder=tmp_path)) == _tried(kept)


@pytest.mark.usefixtures("worker_here")
def test_an_infinite_time_limit_is_none(fold):
    assert not tune_model("popularity", fold, "auc", seconds=float("inf")).failed


def test_a_trial_that_ran_out_of_time_is_retried_with_more_time(fold, tmp_path):
    with pytest.raises(
        InputError, match=r"none of 1 trial .* it was ended after 0.01 seconds; give it more"
    ):
        tune_model("kernel-ranker", fold, trials=50, seconds=0.01, folder=tmp_path)
    path = _summary(tmp_path)
    (ended,) = Study.from_dict(read_json(path)).trials
    assert (ended.ended_after, ended.metrics, ended.worked) == (0.01, {}, False)
    with pytest.raises(InputError, match="none of 1 trial"):
        tune_model("kernel-ranker", fold, trials=50, seconds=0.01, folder=tmp_path)
    assert Study.from_dict(read_json(path)).trials == (ended,), "no other one was run"
    whole = tune_model("kernel-ranker", fold, trials=3, folder=tmp_path)
    assert (len(whole.trials), whole.failed) == (3, 0)
    assert _tried(whole) == _tried(_undisturbed("kernel-ranker", fold, trials=3))


@pytest.mark.skipif(sys.platform == "win32", reason="there no signal ends a process")
def test_a_trial_whose_process_was_killed_is_recorded_and_retried(fold, tmp_path, monkeypatch):
    """As when the system is out of memory: nothing is raised, the process is gone."""
    plain = _undisturbed("kernel-ranker", fold, trials=5)
    running, told = Worker.begin, []

    def killed(worker):
        process = running(worker)
        told.append(process.pid)
        if len(told) == 3:  # it stops, so that it cannot answer the third question before it ends
            os.kill(process.pid, signal.SIGSTOP)
            threading.Timer(0.2, os.kill, (process.pid, signal.SIGKILL)).start()
        return process

    monkeypatch.setattr(Worker, "begin", killed)
    study = tune_model("kernel-ranker", fold, trials=5, folder=tmp_path)
    assert [trial.worked for trial in study.trials] == [True, True, False, True, True]
    assert study.trials[2].error == ("its process was ended by signal 9, maybe out of memory")
    assert len(set(told)) == 2, "another process took over"
    again = tune_model("kernel-ranker", fold, trials=5, folder=tmp_path)
    assert len(told) == 6, "the others were not measured again"
    assert _tried(again) == _tried(plain)
    assert _tried(tune_model("kernel-ranker", fold, trials=5, folder=tmp_path)) == _tried(plain)
    assert len(told) == 6


def test_an_idle_worker_that_dies_is_replaced(fold, monkeypatch):
    running, processes = Worker.begin, []
    monkeypatch.setattr(
        Worker, "begin", lambda worker: processes.append(running(worker)) or processes[-1]
    )
    task = _task("popularity", fold)
    with Executor(apart=True) as executor:
        assert executor.attempt(task).result is not None
        processes[0].kill()
        processes[0].wait()
        assert executor.attempt(task).result is not None
    assert len({process.pid for process in processes}) == 2


def test_running_out_of_memory_is_a_failed_trial(fold):
    """A petabyte of factors is more than any machine has."""
    with Executor(apart=True) as executor:
        failed = executor.attempt(_task("als", fold, factors=10**13))
        assert "memory" in failed.error or "allocate" in failed.error
        assert executor.attempt(_task("als", fold, factors=4, iterations=2)).result is not None


@pytest.mark.parametrize("protocol", ["paper", "strong"])
def test_a_worker_process_gives_the_same_values_for_any_type_of_ids(protocol):
    data = synthetic(*DATA)
    users, items = (np.repeat(np.arange(200), np.diff(data.indptr)), data.indices)
    dates = np.datetime64("2020-01-01") + items.astype("timedelta64[D]")
    names, when = [f"u{u:03}" for u in users], np.arange(len(users))
    named = Interactions.from_pairs(names, dates.tolist(), when)
    fold = make_split(named, protocol)[0]
    metrics = tuple(name if each.cut == "none" else f"{name}@10" for name, each in METRICS.items())
    task = _task("kernel-ranker", fold, metrics, kernel="disjunctive(3)")
    with Executor(apart=True) as there, Executor() as here:
        apart, own = there.run(task), here.run(task)
    assert apart.users == own.users
    for name in metrics:
        np.testing.assert_array_equal(apart.values[name], own.values[name])


@pytest.mark.skipif(sys.platform == "win32", reason="there files cannot be locked like this")
def test_scratch_folders_of_killed_processes_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = (
        "import os, tempfile, boolrank.studies.executor as e\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "executor = e.Executor(apart=True)\n"
        "print(flush=True)\n"
        "input()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", program], **pipes)
    process.stdout.readline()
    (left,) = tmp_path.iterdir()
    for age, killed in ((0, False), (1000, False), (0, True), (1000, True)):
        os.utime(left, (time.time() - age,) * 2)
        if killed:
            process.kill()
            process.communicate()
        with Executor(apart=True):
            assert left.exists() == (not killed or age == 0)
    assert not list(tmp_path.iterdir())


def first_rank(rankings):
    """The best rank of a relevant item."""
    return np.array([r.min() for r in np.split(rankings.ranks, rankings.indptr[1:-1])], float)


@pytest.mark.usefixtures("worker_here")
def test_a_function_is_minimised_if_lower_is_better(fold, tmp_path):
    metric = Metric.of(first_rank, higher_is_better=False)
    study = tune_model("kernel-ranker", fold, [metric, "gini@5"][:1], trials=6, folder=tmp_path)
    values = [trial.metrics["first_rank"] for trial in study.trials]
    assert len(set(values)) > 1
    assert study.best().metrics["first_rank"] == min(values)
    assert study.ranked()[-1].metrics["first_rank"] == max(values)
    assert not list(tmp_path.glob("cells")), "the function may change"
    assert best_spec(tmp_path).params == study.spec().params


@pytest.mark.usefixtures("worker_here")
def test_best_spec_finds_the_best_of_several_studies(fold, tmp_path):
    studies = [tune_model(name, fold, folder=tmp_path, trials=3) for name in ("ease", "popularity")]
    for metric in ("auc", "ndcg@10"):
        best = max(studies, key=lambda study: study.best(metric).metrics[metric])
        assert best_spec(tmp_path, metric) == best.spec(metric)
    assert best_spec(tmp_path) == best_spec(tmp_path, "ndcg@10")
    file = next((tmp_path / "studies").glob("popularity-*"))
    assert best_spec(file) == ModelSpec("popularity")
    with pytest.raises(ParameterError, match="'mrr' was not measured; there are ndcg@10, auc"):
        best_spec(tmp_path, "mrr")
    with pytest.raises(InputError, match="has no study and no comparison; run boolrank tune"):
        best_spec(tmp_path / "none")
    tune_model("popularity", validation_fold(synthetic(*DATA), seed=1), folder=tmp_path)
    with pytest.raises(InputError, match=r"studies of different data or metrics; name one file"):
        best_spec(tmp_path)
    write_json(tmp_path / "run" / "results.json", {"results": []})
    for wrong in (tmp_path / "run", tmp_path / "run" / "results.json"):
        with pytest.raises(InputError, match=r"results.json is not of a comparison; name a folder"):
            best_spec(wrong)
    file.write_text(file.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(InputError, match=r"is damaged; run the same command again"):
        best_spec(file)


@pytest.mark.usefixtures("here")
def test_results_of_a_function_are_cached_by_its_version(fold, tmp_path, monkeypatch):
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return fit_and_rank(*args, **kwargs)

    monkeypatch.setattr("boolrank.studies.executor.fit_and_rank", counted)
    for version, expected in (("1", 1), ("1", 1), ("2", 2), ("", 3), ("", 4)):
        tune_model("popularity", fold, Metric.of(first_rank, version=version), folder=tmp_path)
        assert len(calls) == expected, version


@pytest.mark.usefixtures("worker_here")
def test_a_cached_study_starts_no_worker(fold, tmp_path, monkeypatch):
    whole = tune_model("popularity", fold, folder=tmp_path)
    written = []
    monkeypatch.setattr(
        "boolrank.studies.executor.write_folder", lambda *args: written.append(args)
    )
    assert tune_model("popularity", fold, folder=tmp_path).trials == whole.trials
    assert not written


def test_results_do_not_go_into_a_saved_model(fold, tmp_path):
    """`fit` would not replace the folder of a model with other files in it."""
    make_model("popularity").fit(fold.train).save(tmp_path / "model")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="model has a saved model or split; choose another folder"):
        tune_model("popularity", fold, trials=1, folder=tmp_path / "model")
    assert sorted(tmp_path.rglob("*")) == before
    make_model("popularity").fit(fold.train).save(tmp_path / "model")


def test_an_unwritable_folder_is_an_error_before_any_work(fold, tmp_path, monkeypatch):
    monkeypatch.setattr("boolrank.studies.tune.Executor", None)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file, not a folder; choose another"):
        tune_model("popularity", fold, folder=tmp_path / "file" / "below")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="new cannot be written: no permission to write in"):
        tune_model("popularity", fold, folder=tmp_path / "new")


@pytest.mark.usefixtures("worker_here")
def test_models_without_parameters_have_one_trial(fold):
    study = tune_model("popularity", fold, trials=20)
    assert len(study.trials) == 1
    metrics = "ndcg@10,auc,coverage@10,top10_share@10"
    expected = evaluate_fold(make_model("popularity"), fold, metrics).means
    assert study.best("auc").metrics == expected


@pytest.mark.usefixtures("here")
def test_overlaps_are_counted_once_for_all_trials_with_the_same_weights(fold, monkeypatch):
    counted = []
    plain = Overlaps.of

    def of(*args):
        counted.append(args)
        return plain(*args)

    monkeypatch.setattr(Overlaps, "of", staticmethod(of))
    tune_model("mean-ranker", fold, trials=5)  # which does not weigh users
    assert len(counted) == 1


@pytest.mark.usefixtures("worker_here")
def test_progress_is_reported_and_optunas_log_level_is_restored(fold, capfd):
    told = []
    before = optuna.logging.get_verbosity()
    tune_model("kernel-ranker", fold, "auc", trials=3, progress=lambda *it: told.append(it))
    assert [it[:2] for it in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[0][2].startswith("kernel-ranker: auc 0.")
    assert optuna.logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")


def test_invalid_arguments_are_errors(fold):
    with pytest.raises(ParameterError, match="no model 'magic'; there are"):
        tune_model("magic", fold)
    with pytest.raises(ParameterTypeError, match="a study takes a Fold, not Split; take one of"):
        tune_model("popularity", paper_protocol(synthetic(*DATA)))
    for wrong in ({"trials": 0}, {"trials": 2.5}, {"seed": -1}, {"seconds": 0}, {"seconds": "1"}):
        with pytest.raises(
            (ParameterError, ParameterTypeError), match=f"^{next(iter(wrong))} must be"
        ):
            tune_model("popularity", fold, **wrong)
    study = Study("ease", ("auc",), 0, "", (Trial({}, {"auc": 0.5}, 1.0),))
    with pytest.raises(ParameterError, match="'mrr' was not measured; there are auc"):
        study.best("mrr")


@pytest.mark.usefixtures("worker_here")
def test_a_study_survives_a_round_trip_through_json(fold):
    study = tune_model("kernel-ranker", fold, trials=3)
    back = Study.from_dict(json.loads(json.dumps(study.to_dict())))
    assert back.to_dict() == study.to_dict()
    assert back.trials == study.trials
    assert repr(back).startswith("Study of kernel-ranker: 3 trials, 0 failed\n  ndcg@10 0.")


def test_a_missing_extra_is_an_error_with_the_install_command(fold, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'boolrank\[tune\]'"):
        tune_model("kernel-ranker", fold)


def test_the_validation_fold_is_the_first_of_six_with_its_own_users():
    data = synthetic(*DATA)
    split = make_split(data, "paper", folds=6, seed=4)
    fold = validation_fold(data, seed=4)
    assert fold.hash == split[0].hash
    assert list(fold.users) == list(split[0].users)
    others = {user for each in split[1:] for user in each.users}
    assert others
    assert not others & set(fold.users)
    assert split[1].hash != split[0].hash


# Arities.


def test_the_search_finds_the_best_arity(fold):
    found = best_arity(fold, most=24)
    every = {
        arity: evaluate_fold(KernelRanker(f"disjunctive({arity})"), fold, ["auc"]).means["auc"]
        for arity in range(1, 25)
    }
    assert all(every[arity] == value for arity, value in found.measured.items())
    assert found.measured[found.arity] == max(found.measured.values())
    assert every[found.arity] > max(every.values()) - 0.001
    assert len(found.measured) < 14
    assert found.kernel == f"disjunctive({found.arity})"


@pytest.mark.parametrize("peak", [1, 2, 3, 5, 17, 90, 399, 400])
def test_a_single_peak_is_found_wherever_it_is(peak, fold, monkeypatch):
    def pointed(_executor, task):
        kernel = task.model.params["kernel"]
        arity = int(kernel.removeprefix("disjunctive(").removesuffix(")"))
        return FoldResult([0], {"auc": np.array([-abs(np.log(arity / peak))])}, 0.0, 0.0)

    monkeypatch.setattr(Executor, "run", pointed)
    found = best_arity(fold, most=400)
    assert abs(np.log(found.arity / peak)) < 0.15
    assert found.arity == peak or peak > 5
    assert len(found.measured) <= 20


def test_any_family_metric_and_range_of_arities_can_be_searched(fold):
    assert best_arity(fold, most=8) == best_arity(fold, most=8, n_threads=1)
    other = best_arity(fold, "threshold(2, {})", "ndcg@10", least=2, most=8, reg=1.0)
    assert other.kernel == f"threshold(2, {other.arity})"
    assert other.measure == "ndcg@10"


def test_the_arity_from_the_spectrum_is_the_last_above_the_share():
    data = synthetic(300, 100, 1_000)
    pairs = PairSpectrum.of(data.T.matrix())
    ratios = [pairs.ratio(parse_kernel(f"disjunctive({d})").normalized()) for d in range(1, 30)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < 0.5 * ratios[0]
    for share in (0.95, 0.8, 0.5):
        found = arity_from_spectrum(data, share=share)
        above = [d for d, ratio in enumerate(ratios, 1) if ratio >= share * ratios[0]]
        assert found.arity == above[-1]


def test_invalid_choices_of_arity_are_errors(fold):
    data = synthetic(*DATA)
    with pytest.raises(ParameterError, match=r"conjunctive does not fall .*; use best_arity"):
        arity_from_spectrum(data, "conjunctive")
    with pytest.raises(ParameterError, match="share must be between 0 and 1"):
        arity_from_spectrum(data, share=1.5)
    with pytest.raises(ParameterError, match="there are none from 9 to 3"):
        best_arity(fold, least=9, most=3)


def test_the_spectrum_alone_is_close_to_the_best_arity_on_real_data(data_dir):
    from boolrank.data.inputs import load_inputs

    fold = validation_fold(load_inputs(["filmtrust"], data_dir, file_order=True))
    quick, searched = arity_from_spectrum(fold.train), best_arity(fold)
    auc = evaluate_fold(KernelRanker(quick.kernel), fold, ["auc"]).means["auc"]
    assert 10 < quick.arity < 60
    assert searched.measured[searched.arity] > 0.973
    assert auc > searched.measured[searched.arity] - 0.001
