"""The demonstration: planted data, results and page."""

from __future__ import annotations

import csv
import re
import shlex
import sys
from itertools import pairwise

import numpy as np
import pytest

from boolrank import InputError, choose, cli, evaluate, hold_out
from boolrank.demo import ARITIES, LIKED, MEASURED, NEXT, OTHERS, TOP, demo_tables, run_demo
from boolrank.demo.tastes import TITLES, plant_tastes
from boolrank.models.spec import parse_model
from pages import check_page
from worker_here import WorkerHere

N_USERS = 400
POPULARITY = OTHERS[-1]


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def found(folder, told):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boolrank.studies.executor.Worker", WorkerHere)
        return run_demo(folder, n_users=N_USERS, progress=told.append)


@pytest.fixture(scope="module")
def page(found, folder):
    assert found
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def viewer(found):
    """The viewer shown: name, films seen, and tastes liked."""
    data = found.data
    name = found.viewer.title.partition(",")[0].lower()
    user = data.events.users.number(name)
    own = {data.events.items[int(k)] for k in data.events.rows.row(user)}
    return name, own, {data.tastes[k] for k in np.flatnonzero(data.liking[user] > LIKED)}


def test_the_same_seed_gives_the_same_data():
    first, second, other = (plant_tastes(np.random.default_rng(s)).events for s in (3, 3, 4))
    assert np.array_equal(first.indices, second.indices)
    assert not np.array_equal(first.indices, other.indices)


def test_data_are_as_sparse_as_a_shop():
    """FilmTrust has 1.1 % of all pairs, most shops less."""
    events = plant_tastes(np.random.default_rng(0)).events
    assert events.size / np.prod(events.shape) < 0.01
    assert np.median(np.diff(events.indptr)) <= 6


def test_every_viewer_has_seen_at_least_two_films(found):
    events = found.data.events
    films = sum(len(a) * len(b) for a, b in TITLES.values())
    assert events.shape == (N_USERS, films)
    assert np.diff(events.indptr).min() >= 2


def test_titles_show_the_taste(found):
    data = found.data
    for item, taste in zip(data.events.items, data.taste_of, strict=True):
        first, second = item.split()
        words = TITLES[data.tastes[taste]]
        assert first in words[0]
        assert second in words[1]


def test_films_of_one_taste_share_more_viewers():
    """Two films of one taste share 7 times as many viewers as two of different tastes."""
    data = plant_tastes(np.random.default_rng(0))
    seen = data.events.matrix().toarray().T
    common = seen @ seen.T
    same = data.taste_of[:, None] == data.taste_of
    off_diagonal = ~np.eye(len(seen), dtype=bool)
    assert common[same & off_diagonal].mean() > 4 * common[~same].mean()


def test_popularity_is_long_tailed():
    popularity = np.sort(plant_tastes(np.random.default_rng(0)).events.popularity())[::-1]
    assert popularity[: len(popularity) // 10].sum() > 0.3 * popularity.sum()


@pytest.mark.usefixtures("worker_here")
def test_the_model_is_the_one_that_auto_chooses_on_the_training_part(found):
    fold = hold_out(found.data.events, 0.2, "random", 0)[0]
    assert found.split[0].hash == fold.hash
    again = choose(fold.train, trials=len(found.choice.entrants))
    assert (again.spec, again.reason) == (found.choice.spec, found.choice.reason)
    families = {each.spec.name for each in found.choice.entrants}
    assert len(families) == 6, "every family is in the race"


def test_models_are_measured_on_the_interactions_held_out(found):
    rows = found.compared.records()
    assert [row["model"] for row in rows] == [str(found.choice.spec), *OTHERS]
    for row in rows[::4]:
        expected = evaluate(parse_model(row["model"]).make(), found.split, list(MEASURED)).means
        assert [row[title] for title in MEASURED.values()] == list(expected.values())


def test_curves_agree_with_the_table_and_expressiveness_follows_the_arity(found):
    linear, eight = (found.compared.records()[k]["AUC"] for k in (2, 3))
    for curve in found.curves:
        assert curve.arities == ARITIES[curve.family]
        assert curve.means[0] == pytest.approx(linear)
    disjunctive, conjunctive = found.curves
    assert disjunctive.means[disjunctive.arities.index(8)] == eight
    assert conjunctive.ratios[0] == pytest.approx(disjunctive.ratios[0])
    assert (np.diff(conjunctive.ratios) >= 0).all()
    assert (np.diff(disjunctive.ratios) < 0).all()


def test_recommended_films_are_new_to_the_viewer_and_have_the_right_tastes(found, viewer):
    _, own, liked = viewer
    assert len(liked) == 2
    assert all(taste in found.viewer.title for taste in liked)
    records = found.viewer.records()
    assert {each["has seen"] for each in records if each["has seen"]} == own
    films = [each for each in records if each["recommended"]]
    assert len({each["recommended"] for each in films} - own) == TOP
    assert {name for name, _ in found.reasons[:-1]} <= own
    for each in films:
        for film, shown in {"has seen": "its taste", "recommended": "taste"}.items():
            taste = next(t for t in TITLES if each[film].split()[0] in TITLES[t][0])
            assert each[shown] == taste + (" ✓" if taste in liked else "")


def test_reasons_add_up_to_the_score_largest_first(found, viewer):
    model, first = found.choice.spec.make().fit(found.data.events), found.viewer.records()[0]
    *largest, (others, _) = found.reasons
    adds = [add for _, add in largest]
    assert adds == sorted(adds, reverse=True)
    assert others.endswith(" others")
    total = sum(add for _, add in found.reasons)
    assert total == pytest.approx(first["score"], rel=1e-9)
    score = model.score([viewer[0]], [first["recommended"]])[0, 0]
    assert score == pytest.approx(total, rel=1e-9)


def test_popularity_recommends_the_most_seen_unseen_films(found):
    """The same figure, counted one viewer at a time."""
    data, popularity, met = found.data, found.data.events.popularity(), 0
    for user in range(N_USERS):
        own = set(data.events.rows.row(user))
        unseen = [item for item in range(len(popularity)) if item not in own]
        best = sorted(unseen, key=lambda item: -popularity[item])[:TOP]
        met += sum(data.liking[user, data.taste_of[item]] > LIKED for item in best)
    assert found.hits[POPULARITY] == pytest.approx(met / (TOP * N_USERS))


def test_the_page_opens_with_the_result_and_one_viewer_and_has_five_parts(found, page, viewer):
    outline = check_page(page)
    assert [each for each in outline.links if each != "#"][:5] == [
        f"#{name}" for name in ("viewer", "models", "arity", "data", "next")
    ]
    assert page.count("<section") == 5
    chosen, popular = found.hits[str(found.choice.spec)], found.hits[POPULARITY]
    places = [page.index(text) for text in (f"{chosen:.0%} of the films", f"{popular:.0%} do")]
    places.append(page.index(f"{viewer[0].capitalize()} has seen"))
    places.append(page.index(f"Why {found.viewer.records()[0]['recommended']}?"))
    places += list(map(page.index, ("<table", "<svg", "of all pairs")))
    assert places == sorted(places)


def test_the_page_has_the_numbers_of_the_library(found, page):
    rows = check_page(page).tables["compared"][1:]
    for row, each in zip(rows, found.compared.records(), strict=True):
        assert row[0][0] == each["model"]
        assert [float(value) for value, _ in row[1:]] == list(each.values())[1:]
    for curve in found.curves:
        for arity, auc, ratio in zip(curve.arities, curve.means, curve.ratios, strict=True):
            assert f"<title>arity {arity}: {curve.family} {auc:.4g}</title>" in page
            assert f"<title>arity {arity}: {curve.family} {ratio:.4g}</title>" in page


def test_the_page_has_split_reason_of_the_choice_and_next_steps(found, folder, page):
    assert page.count("<svg") == 2
    assert found.split.hash[:12] in page
    assert found.choice.reason in page
    for command in NEXT:
        assert command in page
    picture = (folder / "figures" / "spectrum.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_the_page_adapts_to_dark_and_narrow_screens_and_print(page):
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "max-width: 40rem" in page
    assert "@media print" in page


@pytest.mark.usefixtures("worker_here")
def test_the_same_seed_gives_the_same_page(page, tmp_path):
    run_demo(tmp_path, n_users=N_USERS)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


def test_progress_is_reported_throughout(told):
    parts = list(dict.fromkeys(text.partition(":")[0] for text in told))
    assert len(parts) >= 5
    assert sum(text.startswith("choosing: ") for text in told) == 8
    assert all(a != b for a, b in pairwise(told))


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
    assert len(tables) == 2
    for table in tables:
        title, _, heads, _, *lines = table.to_markdown().splitlines()
        assert title == table.title
        start = heads.index(table.shown[0].title)
        for row, line in zip(table.rows, lines, strict=False):
            cells = table.cells(row)
            assert all(str(cell) in line for cell in cells)
            assert line[start:].lstrip().startswith(str(cells[0]))


@pytest.mark.usefixtures("worker_here")
@pytest.mark.filterwarnings("default:the data have no time")
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


def test_the_command_prints_results_to_stdout_and_messages_to_stderr(tmp_path, capsys):
    """The chosen model finds the tastes: 87 % of its films match, of the popular ones 14 %."""
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["demo", "--out", str(tmp_path / "new" / "folder")])
    out, err = capsys.readouterr()
    assert not exit_info.value.code
    words = " ".join(out.split())
    chosen, popular = map(int, re.search(r"(\d+)% of the films .* (\d+)% do", words).groups())
    assert chosen > 80
    assert popular < 20
    assert (tmp_path / "new" / "folder" / "report.html").is_file()
    for text in (*OTHERS, "AUC", "nDCG@10", "top ten", "Why ", "its score", "match a taste"):
        assert text in words
    assert "**" not in out
    assert "report.html" in err
    assert err.rstrip().splitlines()[-2 * len(NEXT)].strip() == next(iter(NEXT))
