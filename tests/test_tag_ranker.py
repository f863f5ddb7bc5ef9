"""The kernel ranker with tags: items without users, reasons, updates, saved models, tuning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from boolrank import Interactions, ItemTable, KernelRanker, hold_out, tune_model
from boolrank.data.splits import packed_fold, read_fold
from boolrank.errors import InputError, ModelFileError, ParameterError
from boolrank.kernels import parse_kernel
from boolrank.models import ModelSpec, load_model
from boolrank.models.tag_columns import SharedTags
from boolrank.storage.folder import read_folder, write_folder

GENRES = ("drama", "love", "war", "western")
KERNEL = "0.8*disjunctive(4) + 0.2*linear[genres]"
KERNELS = (
    KERNEL,
    "tanimoto[genres]",
    "linear + tanimoto + conjunctive(2)[genres] + linear['is_*']",
)
COLD = range(40, 46)
STORAGES = pytest.mark.parametrize("storage", ["dense", "compressed"])


def events(seed: int = 0) -> Interactions:
    """Return interactions of 30 users with items below 40."""
    rng = np.random.default_rng(seed)
    return Interactions.from_pairs(np.repeat(np.arange(30), 8), rng.integers(0, 40, 240))


def catalogue() -> pl.DataFrame:
    """Return 46 items, the last six without users; item 7 has no genres."""
    rng = np.random.default_rng(1)
    sets = [sorted(set(rng.choice(GENRES, 3))) for _ in range(46)]
    sets[7] = []
    flags = {f"is_{name}": rng.integers(0, 2, 46) for name in ("new", "old")}
    return pl.DataFrame(
        {"item": range(46), "title": [f"T{k}" for k in range(46)], "genres": sets} | flags
    )


def fitted(kernel: str = KERNEL, **params: object) -> KernelRanker:
    return KernelRanker(kernel, **params).fit(events(), items=catalogue())


@STORAGES
@pytest.mark.parametrize("kernel", KERNELS)
def test_items_without_users_are_ranked_by_their_tags(kernel: str, storage: str) -> None:
    model = fitted(kernel, storage=storage, negative_weight=0.0)
    assert len(model.interactions.items) == 46
    scores = model.score(items=list(COLD))
    assert np.isfinite(scores).all()
    assert np.ptp(scores, axis=1).min() > 0
    lists = model.recommend(n=3, candidates=COLD).lists()
    assert all(len(each) == 3 and set(each) <= set(COLD) for each in lists)
    best = [COLD[k] for k in scores.argmax(axis=1)]
    assert [each[0] for each in lists] == best


@pytest.mark.parametrize("exponent", [0.0, 0.5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_both_storages_rank_alike(kernel: str, exponent: float) -> None:
    dense, compressed = (
        fitted(kernel, storage=storage, user_exponent=exponent)
        for storage in ("dense", "compressed")
    )
    assert np.abs(dense.score() - compressed.score()).max() < 1e-10
    lists = [model.recommend(n=46, exclude_seen=False).items for model in (dense, compressed)]
    assert np.array_equal(*lists)


def test_scores_are_weighted_means_over_users_and_tags() -> None:
    """Against the sum of two dense matrices, with weights that are nearly equal."""
    model = fitted(reg=1e12, negative_weight=0.0)
    data, genres = model.interactions, catalogue()["genres"].to_list()
    of_users = parse_kernel("disjunctive(4)").normalized()(data.matrix().T.toarray())
    G = np.array([[genre in row for genre in GENRES] for row in genres])
    K = 0.8 * of_users + 0.2 * parse_kernel("linear").normalized()(G)
    expected = [K[data.rows.row(user)].mean(axis=0) for user in range(30)]
    assert np.allclose(model.score(), expected, atol=1e-9)


@STORAGES
@pytest.mark.parametrize("kernel", KERNELS)
def test_reasons_cite_shared_tags_and_add_up_to_the_score(kernel: str, storage: str) -> None:
    model = fitted(kernel, storage=storage)
    genres = catalogue()["genres"].to_list()
    for user, item in ((0, 41), (3, 45), (5, 2), (6, 7), (1, 40)):
        reasons = model.explain(user, item)
        assert sum(part for _, part in reasons) == pytest.approx(model.score([user], [item])[0, 0])
        assert [part for _, part in reasons] == sorted((part for _, part in reasons), reverse=True)
        cited = [reason for reason, _ in reasons if isinstance(reason, SharedTags)]
        assert {reason.column for reason in cited} <= {*parse_kernel(kernel).variables}
        assert cited or item == 7
        for reason in cited:
            if reason.column == "genres":
                assert set(reason.tags) <= set(genres[item])
                assert reason.total == len(genres[item])
        if item in COLD:
            assert len(cited) == len(reasons)
    profile = model.explain_profile([0, 1], 41)
    assert sum(part for _, part in profile) == pytest.approx(
        model.score_profiles([[0, 1]], [41])[0, 0]
    )


def test_few_users_lower_the_arity_of_the_default_kernel_beside_tags() -> None:
    few = Interactions.from_pairs([1, 1, 2, 3], [5, 6, 6, 7])
    with pytest.warns(UserWarning, match=r"is disjunctive\(3\) \+ linear\[genres\], not"):
        model = KernelRanker("disjunctive(8) + linear[genres]").fit(few, items=catalogue())
    same = KernelRanker("disjunctive(3) + linear[genres]").fit(few, items=catalogue())
    assert np.array_equal(model.score(), same.score())
    with pytest.raises(ParameterError, match="arity"):
        KernelRanker("disjunctive(9) + linear[genres]").fit(few, items=catalogue())


def test_a_reason_is_a_phrase() -> None:
    assert str(SharedTags("genres", ("western",), 3)) == "genres: western, 1 of 3 shared"
    assert str(SharedTags("genres", (), 3)) == "genres: none of 3 shared"


@STORAGES
@pytest.mark.parametrize("exponent", [0.0, 0.5])
def test_adding_items_equals_a_fit(storage: str, exponent: float) -> None:
    params = {"storage": storage, "user_exponent": exponent}
    rows, whole = catalogue(), fitted(**params)
    grown = KernelRanker(KERNEL, **params).fit(events(), items=rows[:41]).update(items=rows[41:])
    assert np.array_equal(grown.score(), whole.score())
    assert np.array_equal(grown.recommend(n=46).items, whole.recommend(n=46).items)
    # Rows are replaced, and their old tags are forgotten: the number of tags is one less.
    odd = rows.with_columns(genres=pl.Series([["odd"]] * 2 + rows["genres"].to_list()[2:]))
    again = KernelRanker(KERNEL, **params).fit(events(), items=odd).update(items=rows[:2])
    assert np.array_equal(again.score(), whole.score())


def test_events_of_new_and_old_items_update_as_a_fit_does() -> None:
    more = Interactions.from_pairs([0, 99, 99], [44, 44, 3])
    model = fitted().update(more)
    assert np.array_equal(
        model.score(), KernelRanker(KERNEL).fit(events().updated(more), items=catalogue()).score()
    )
    model.update(removed=more)
    assert len(model.interactions.items) == 46
    assert np.array_equal(model.score(), fitted().score())
    alone = Interactions.from_pairs([1, 1, 2], [5, 6, 6])
    model = KernelRanker("linear + linear[genres]").fit(alone, items=catalogue())
    model.update(removed=Interactions.from_pairs([1], [5]))
    fresh = KernelRanker("linear + linear[genres]").fit(
        Interactions.from_pairs([1, 2], [6, 6]), items=catalogue()
    )
    assert np.array_equal(model.score(), fresh.score())


def test_rows_of_another_type_or_column_are_refused() -> None:
    model, new = fitted(), catalogue()[:1]
    with pytest.raises(InputError, match="a column 'colour' that the table"):
        model.update(items=new.with_columns(colour=pl.lit("red")))
    with pytest.raises(InputError, match="the column 'is_new', and the table a number"):
        model.update(items=new.with_columns(is_new=pl.lit("yes")))
    before = model.score()
    model.update(items=pl.DataFrame({"item": ["46"], "genres": ["war|love"]}))  # ids as text
    assert model.score().shape == (30, 47)
    assert model.item_table.columns["genres"].words == list(GENRES)
    assert not np.array_equal(model.score()[:, :46], before)


def test_overlaps_can_be_shared() -> None:
    from boolrank import Overlaps

    model = KernelRanker(KERNEL).fit(events(), Overlaps.of(events()), items=catalogue())
    assert np.array_equal(model.score(), fitted().score())


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("linear[genre]", "no column 'genre'; did you mean 'genres'"),
        ("linear[xyz]", "no column 'xyz'; there are title, genres, is_new, is_old"),
        ("linear['is_?x']", "no column"),
        ("linear[price]", r"'price' \(number\) .* has no tags; .* there are genres"),
    ],
)
def test_columns_without_tags_are_told_with_those_that_have_some(kernel: str, message: str) -> None:
    table = catalogue()
    table = table.with_columns(price=pl.int_range(46)) if "price" in kernel else table
    with pytest.raises(InputError, match=message):
        KernelRanker(kernel).fit(events(), items=table)


def test_a_table_is_needed() -> None:
    with pytest.raises(InputError, match="is over genres, and there is no table"):
        KernelRanker(KERNEL).fit(events())


def test_columns_of_0_and_1_are_tags() -> None:
    table = catalogue()
    names = ["is_new", "is_old"]
    lists = [[name for name in names if row[name]] for row in table.rows(named=True)]
    one = KernelRanker("linear + tanimoto[flags]").fit(
        events(), items=table.with_columns(flags=pl.Series(lists))
    )
    for pattern in ("is_*", "is_new|is_old"):
        many = KernelRanker(f"linear + tanimoto['{pattern}']").fit(events(), items=table)
        assert np.array_equal(one.score(), many.score())


@pytest.mark.parametrize("verify", [True, False])
@STORAGES
def test_a_saved_model_answers_explains_and_grows_alike(
    tmp_path, storage: str, verify: bool
) -> None:
    model = fitted(storage=storage)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", verify=verify)
    assert str(loaded.fitted.params["kernel"]) == KERNEL
    assert np.array_equal(loaded.score(), model.score())
    assert loaded.explain(0, 41) == model.explain(0, 41)
    new = pl.DataFrame({"item": [46], "genres": [["war"]]})
    assert np.array_equal(loaded.update(items=new).score(), model.update(items=new).score())


def test_a_folder_without_the_columns_of_its_kernel_is_refused(tmp_path) -> None:
    fitted().save(tmp_path / "model")
    about, arrays = read_folder(tmp_path / "model")
    about["parameters"]["kernel"] = "linear + linear[other]"
    write_folder(tmp_path / "model", about, {name: np.array(each) for name, each in arrays.items()})
    with pytest.raises(ModelFileError, match="other"):
        load_model(tmp_path / "model")


@pytest.mark.usefixtures("worker_here")
def test_tuning_draws_weights_and_kernels_of_tags(tmp_path) -> None:
    table = ItemTable.from_frame(catalogue())
    fold = hold_out(replace(events(), table=table))[0]
    study = tune_model("kernel-ranker", fold, "auc", trials=12, folder=tmp_path)
    assert not study.failed
    drawn = [str(trial.params.get("kernel", "")) for trial in study.trials]
    assert any("[genres]" in kernel for kernel in drawn)
    assert any("[genres]" not in kernel for kernel in drawn[1:])
    plain = tune_model("kernel-ranker", hold_out(events())[0], "auc", trials=12)
    assert not any("genres" in str(trial.params) for trial in plain.trials)


def test_a_fold_keeps_its_tags_on_disk_and_in_keys(tmp_path) -> None:
    table = ItemTable.from_frame(catalogue())
    bare = hold_out(events())[0]
    fold = hold_out(replace(events(), table=table))[0]
    write_folder(tmp_path / "fold", *packed_fold(fold))
    again = read_fold(tmp_path / "fold")
    for kernel in KERNELS:
        scores = [KernelRanker(kernel).fit(each.train).score() for each in (fold, again)]
        assert np.array_equal(*scores)
        assert scores[0].shape[1] == len(fold.train.items)
    other = ItemTable.from_frame(catalogue().with_columns(genres=pl.Series([["war"]] * 46)))
    changed = hold_out(replace(events(), table=other))[0]
    assert again.hash == fold.hash
    assert len({fold.hash, bare.hash, changed.hash}) == 3


def test_bound_kernels_are_parameters_of_the_kernel_ranker_alone() -> None:
    assert ModelSpec("kernel-ranker", {"kernel": KERNEL}).params["kernel"] == KERNEL
    with pytest.raises(ParameterError, match="over users"):
        ModelSpec("kernel-ease", {"kernel": KERNEL})


@pytest.fixture
def files(tmp_path):
    """Events, and items with genres as text; the last two have no events."""
    table = catalogue().with_columns(pl.col("genres").list.join("|"))
    events().to_frame().write_csv(tmp_path / "events.csv")
    table[:44].write_csv(tmp_path / "items.csv")
    table[44:].write_csv(tmp_path / "more.csv")
    return tmp_path


def test_commands_rank_items_without_events_and_add_some(run, files) -> None:
    inputs = files / "events.csv", "--items", files / "items.csv"
    code, _, said = run("fit", *inputs, "--attributes", "genres", "--out", files / "model")
    assert code == 0
    assert "kernel=disjunctive(8) + 0.003*tanimoto[genres]" in said
    kernel = "disjunctive(3) + linear[genres]"
    out = "--out", files / "model"
    assert run("fit", *inputs, "--kernel", kernel, "--attributes", "genres,is_*", *out)[0] == 0
    model = load_model(files / "model")
    assert str(model.fitted.params["kernel"]) == f"{kernel} + 0.003*tanimoto['is_*']"
    code, _, said = run("update", files / "model", "--items", files / "more.csv")
    assert (code, "46 items" in said) == (0, True), said
    code, shown, _ = run("recommend", files / "model", "--users", "3", "--candidates", "T45")
    assert (code, "T45" in shown) == (0, True)
    code, shown, _ = run("explain", files / "model", "3", "T45", "--csv")
    assert code == 0
    assert " of 3 shared" in shown or " of 2 shared" in shown or " of 1 shared" in shown


@pytest.mark.usefixtures("worker_here")
def test_commands_tune_and_evaluate_with_tags(run, files) -> None:
    inputs = files / "events.csv", "--items", files / "items.csv"
    study = "--trials", 6, "--order", "random", "--out", files / "tuning"
    code, shown, said = run("tune", *inputs, "--attributes", "is_*", *study, "--json")
    assert code == 0
    assert "['is_*']" in shown
    assert "[genres]" not in shown
    assert "--items" in said
    split = "--protocol", "hold_out", "--order", "random", "--metrics", "auc"
    code, shown, said = run("evaluate", *inputs, "--kernel", KERNEL, *split)
    assert (code, "linear[genres]" in shown) == (0, True), said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--attributes", "genres"], "--attributes needs --items"),
        (["--items", "items.csv", "--attributes", "colour"], "no column 'colour'"),
        (
            ["--items", "items.csv", "--attributes", "genres", "--model", "ease"],
            "ease has no kernel",
        ),
        (["--items", "items.csv", "--attributes", "genres", "--model", "auto"], "needs a model"),
        (["--kernel", KERNEL], "there is no table of items"),
    ],
)
def test_wrong_attributes_are_told(run, files, monkeypatch, options, said) -> None:
    monkeypatch.chdir(files)
    code, _, errors = run("fit", "events.csv", *options, "--out", "model")
    assert code in (1, 2)
    assert said in " ".join(errors.split())
