"""The demonstration: planted data, results and page."""

from __future__ import annotations

import csv
import shlex
import sys
from itertools import pairwise

import numpy as np
import pytest

from boolrank import InputError, cli, compare, paper_protocol
from boolrank.demo import NEXT, run_demo
from boolrank.demo.page import demo_tables
from boolrank.demo.results import ARITIES, LIKED, POPULARITY, RANKED, TOP, fit_models
from boolrank.demo.tastes import TITLES, plant_tastes
from pages import check_page

N_USERS = 150


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def found(folder, told):
    return run_demo(folder, n_users=N_USERS, progress=told.append)


@pytest.fixture(scope="module")
def page(found, folder):
    assert found
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_data():
    first, second, other = (plant_tastes(np.random.default_rng(s)).events for s in (3, 3, 4))
    assert np.array_equal(first.indices, second.indices)
    assert np.array_equal(first.time, second.time)
    assert not np.array_equal(first.indices, other.indices)


def test_every_viewer_has_seen_at_least_two_films_in_order(found):
    events = found.data.events
    assert events.shape == (N_USERS, sum(len(a) * len(b) for a, b in TITLES.values()))
    assert np.diff(events.indptr).min() >= 2
    for start, stop in pairwise(events.indptr):
        assert sorted(events.time[start:stop]) == list(range(stop - start))


def test_titles_show_the_taste(found):
    data = found.data
    for item, taste in zip(data.events.items, data.taste_of, strict=True):
        first, second = item.split()
        words = TITLES[data.tastes[taste]]
        assert first in words[0]
        assert second in words[1]


def test_films_of_one_taste_share_more_viewers():
    """Two films of one taste share 2.7 times as many viewers as two of different tastes."""
    data = plant_tastes(np.random.default_rng(0))
    seen = data.events.matrix().toarray().T
    common = seen @ seen.T
    same = data.taste_of[:, None] == data.taste_of
    off_diagonal = ~np.eye(len(seen), dtype=bool)
    assert common[same & off_diagonal].mean() > 2 * common[~same].mean()


def test_popularity_is_long_tailed():
    popularity = np.sort(plant_tastes(np.random.default_rng(0)).events.popularity())[::-1]
    assert popularity[: len(popularity) // 10].sum() > 0.3 * popularity.sum()


def test_models_are_compared_by_the_papers_protocol(found):
    split = paper_protocol(found.data.events, seed=0)
    assert found.split.hash == split.hash
    assert len(split) == 5
    assert list(found.evaluations) == [POPULARITY, *RANKED]
    for each in found.evaluations.values():
        assert each.split_hash == split.hash
        assert each.metrics == ["auc", "map@10", "ndcg@10"]
    rankers = [found.evaluations[text].means["auc"] for text in RANKED]
    assert min(rankers) > found.evaluations[POPULARITY].means["auc"]


def test_curves_agree_with_the_table_and_expressiveness_follows_the_arity(found):
    for curve in found.curves:
        assert curve.arities == ARITIES[curve.family]
        assert curve.means[0] == pytest.approx(found.evaluations["linear"].means["auc"])
    disjunctive, conjunctive = found.curves
    at = disjunctive.arities.index(4)
    assert disjunctive.means[at] == found.evaluations["disjunctive(4)"].means["auc"]
    assert conjunctive.ratios[0] == pytest.approx(disjunctive.ratios[0])
    assert (np.diff(conjunctive.ratios) >= 0).all()
    assert (np.diff(disjunctive.ratios) < 0).all()


@pytest.fixture(scope="module")
def viewers(found):
    """The viewers shown: name, films seen, and tastes liked."""
    data = found.data
    shown = []
    for person in found.people:
        name = person.table.title.partition(",")[0]
        user = data.events.users.number(name)
        own = {data.events.items[int(k)] for k in data.events.rows.row(user)}
        liked = {data.tastes[k] for k in np.flatnonzero(data.liking[user] > LIKED)}
        shown.append((name, own, liked))
    return shown


def test_viewers_differ_in_taste_and_one_has_two(found, viewers):
    assert [len(liked) for _, _, liked in viewers] == [1, 2, 1]
    assert len(set.union(*(liked for _, _, liked in viewers))) == 4
    for person, (_, own, liked) in zip(found.people, viewers, strict=True):
        assert f"has seen {len(own)} films" in person.table.title
        assert all(taste in person.table.title for taste in liked)


def test_recommended_films_are_new_to_the_viewer(found, viewers):
    for person, (_, own, liked) in zip(found.people, viewers, strict=True):
        records = person.table.records()
        assert {each["has seen"] for each in records} <= own
        for kernel in RANKED:
            assert len({each[kernel] for each in records} - own) == TOP
            assert {name for name, _ in person.reasons[kernel][:-1]} <= own
        films = {"has seen": "its taste"} | {kernel: f"{kernel}, taste" for kernel in RANKED}
        for each in records:
            for film, shown in films.items():
                taste = next(t for t in TITLES if each[film].split()[0] in TITLES[t][0])
                assert each[shown] == taste + (" ✓" if taste in liked else "")


def test_reasons_add_up_to_the_score_largest_first(found, viewers):
    models = fit_models(found.data)
    for person, (name, _, _) in zip(found.people, viewers, strict=True):
        first = person.table.records()[0]
        for kernel in RANKED:
            *largest, (others, _) = person.reasons[kernel]
            adds = [add for _, add in largest]
            assert adds == sorted(adds, reverse=True)
            assert others.endswith(" others")
            total = sum(add for _, add in person.reasons[kernel])
            assert total == pytest.approx(first[f"{kernel}, score"], rel=1e-9)
            score = models[kernel].score([name], [first[kernel]])[0, 0]
            assert score == pytest.approx(total, rel=1e-9)


def test_rankers_match_tastes_more_often_than_popularity(found):
    """With 150 viewers: linear 71 %, disjunctive 38 %, at random 25 %, popular 11 %."""
    popular, linear, disjunctive, chance = (each["share"] for each in found.hits.records())
    assert linear > disjunctive > chance > popular
    assert linear > 2 * chance


def test_popularity_recommends_the_most_seen_unseen_films(found):
    """The same figure, counted one viewer at a time."""
    data, popularity, met = found.data, found.data.events.popularity(), 0
    for user in range(N_USERS):
        own = set(data.events.rows.row(user))
        unseen = [item for item in range(len(popularity)) if item not in own]
        best = sorted(unseen, key=lambda item: -popularity[item])[:TOP]
        met += sum(data.liking[user, data.taste_of[item]] > LIKED for item in best)
    (popular,) = (each for each in found.hits.records() if each["model"] == POPULARITY)
    assert popular["of a liked taste"] == met
    assert popular["share"] == pytest.approx(met / (TOP * N_USERS))


def test_the_page_is_valid_self_contained_and_complete(page):
    outline = check_page(page)
    for name in ("data", "results", "people", "tastes", "arity", "made", "next"):
        assert name in outline.ids
    assert page.count("<svg") == 2


def test_the_page_has_the_numbers_of_the_library(found, page):
    tables = check_page(page).tables
    for metric in ("auc", "map@10", "ndcg@10"):
        compared = {c.model: c for c in compare(found.evaluations, metric, resamples=2_000)}
        rows = tables[f"results-{metric}"][1:]
        for row, (model, each) in zip(rows, found.evaluations.items(), strict=True):
            assert row[0][0] == model
            mean, deviation = each.means[metric], each.deviations[metric]
            assert row[1] == (str(mean), f"{mean:.4f}±\u00a0{deviation:.4f}")
            if model in compared:
                versus = compared.pop(model)
                (difference, interval), (p, ranks) = row[2:4]
                assert (float(difference), float(p)) == (versus.difference, versus.t_holm)
                low, high = (f"{bound:+.4f}".replace("-", "−") for bound in versus.interval)
                assert interval.endswith(f"{low} to {high}")
                assert ranks.endswith(f"ranks\u00a0{versus.wilcoxon_holm:.2g}".replace("-", "−"))
        assert not compared
    for row, each in zip(tables["hits"][1:], found.hits.records(), strict=True):
        assert float(row[2][0]) == each["share"]
    for curve in found.curves:
        for arity, auc, ratio in zip(curve.arities, curve.means, curve.ratios, strict=True):
            assert f"<title>arity {arity}: {curve.family} {auc:.4g}</title>" in page
            assert f"<title>arity {arity}: {curve.family} {ratio:.4g}</title>" in page


def test_the_page_has_viewers_reasons_split_and_next_steps(found, folder, page):
    for person in found.people:
        assert person.table.title in page
        for kernel, reasons in person.reasons.items():
            assert f"Why {person.table.records()[0][kernel]} by {kernel}?" in page
            assert f"{reasons[0][1]:+.4f}" in page
    assert found.split.hash[:12] in page
    for command in NEXT:
        assert command.replace("'", "&#39;") in page
    picture = (folder / "figures" / "spectrum.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_the_page_adapts_to_dark_and_narrow_screens_and_print(page):
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "max-width: 40rem" in page
    assert "@media print" in page


def test_the_same_seed_gives_the_same_page(found, page, tmp_path):
    again = run_demo(tmp_path, n_users=N_USERS)
    for one, two in zip(found.evaluations.values(), again.evaluations.values(), strict=True):
        for fold, other in zip(one.folds, two.folds, strict=True):
            assert all(np.array_equal(fold.values[m], other.values[m]) for m in fold.values)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_progress_is_reported_throughout(told):
    parts = list(dict.fromkeys(text.partition(":")[0] for text in told))
    assert len(parts) >= 4
    models = len({POPULARITY, *RANKED} | {f"{k}({a})" for k in ARITIES for a in ARITIES[k]})
    assert sum(text.startswith("measuring: ") for text in told) == 5 * models


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(InputError, match="files that boolrank did not write"):
        run_demo(tmp_path, n_users=N_USERS)
    assert (tmp_path / "report.html").read_text() == "mine"


def test_an_output_that_is_a_file_is_refused_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("boolrank.demo.measure", lambda *_: pytest.fail("it has worked"))
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["demo", "--out", str(tmp_path / "file")])
    assert exit_info.value.code == 1
    assert "is a file, not a folder" in capsys.readouterr().err


def test_a_missing_extra_is_reported_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["demo"])
    assert exit_info.value.code == 1
    assert "The page needs jinja2, which is not installed" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_plain_text_tables_have_whole_cells_below_their_headings(found):
    tables = demo_tables(found)
    assert len(tables) == 3 + 3 + 2
    for table in tables:
        title, _, heads, _, *lines = table.to_markdown().splitlines()
        assert title == table.title
        start = heads.index(table.shown[0].title)
        for row, line in zip(table.rows, lines, strict=False):
            cells = table.cells(row)
            assert all(str(cell) in line for cell in cells)
            assert line[start:].lstrip().startswith(str(cells[0]))


def test_recommendations_and_their_reasons_are_printed(found):
    for person, table in zip(found.people, demo_tables(found), strict=False):
        assert table.rows == person.table.rows
        first = table.records()[0]
        for kernel, line in zip(RANKED, table.note.splitlines(), strict=True):
            assert f"Why {first[kernel]} by {kernel}?" in line
            assert all(f"{part:+.4f} {name}" in line for name, part in person.reasons[kernel])
            assert line.endswith(f"= {first[f'{kernel}, score']:.4f}, the score")


def test_suggested_commands_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    items = ["tea", "scone", "jam", "coffee", "croissant", "milk", "honey", "toast"]
    rows = [(user, item) for user in ["bob", *"cdefghijkl"] for item in rng.permutation(items)[:6]]
    rows += [("ann", "scone"), ("ann", "jam")]
    with (tmp_path / "events.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("user", "item"), *rows])
    for command in NEXT:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(shlex.split(command)[1:])
        assert not exit_info.value.code, command


def test_the_command_prints_results_to_stdout_and_progress_to_stderr(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["demo", "--out", str(tmp_path / "new" / "folder"), "--seed", "1"])
    out, err = capsys.readouterr()
    assert not exit_info.value.code
    assert (tmp_path / "new" / "folder" / "report.html").is_file()
    for text in ("popularity", *RANKED, "AUC", "nDCG@10", "difference", "Why ", "the score"):
        assert text in out
    assert "measuring" in err
    assert "report.html" in err
    assert err.rstrip().splitlines()[-2 * len(NEXT)].strip() == next(iter(NEXT))
