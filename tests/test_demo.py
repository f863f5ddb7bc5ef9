"""The demonstration: planted data, what is found in them, and the page."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest

from boolrank import cli
from boolrank.demo import NEXT, run_demo
from boolrank.demo.findings import SHOWN
from boolrank.demo.people import LIKED, RANKED, fit_rankers, viewers
from boolrank.demo.tastes import TITLES, plant_tastes
from boolrank.kernels import KERNELS, parse_kernel

N_USERS = 150


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return run_demo(tmp_path_factory.mktemp("demo"), n_users=N_USERS)


@pytest.fixture(scope="module")
def data():
    return plant_tastes(np.random.default_rng(0), n_users=N_USERS)  # what the demo is about


@pytest.fixture(scope="module")
def page(demo):
    return demo.page.read_text(encoding="utf-8")


def test_the_same_state_of_rng_gives_the_same_data():
    first, second, other = (plant_tastes(np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert (first.seen != second.seen).nnz == 0
    assert (first.seen != other.seen).nnz > 0


def test_planted_data_are_binary_and_every_user_has_something():
    data = plant_tastes(np.random.default_rng(0), n_users=N_USERS)
    assert set(np.unique(data.seen.toarray())) == {0, 1}
    assert data.seen.sum(axis=0).min() >= 2
    assert data.seen.shape == (len(data.items), N_USERS)


def test_titles_differ():
    data = plant_tastes(np.random.default_rng(0), n_users=2)
    assert len(set(data.items)) == len(data.items)
    assert set(data.tastes) == set(TITLES)


def test_planted_tastes_show_in_what_users_touch():
    """Two items of one taste have 2.7 times as many users in common as two of different ones."""
    data = plant_tastes(np.random.default_rng(0))
    seen = data.seen.toarray().astype(float)
    common = seen @ seen.T
    same = data.taste_of[:, None] == data.taste_of
    off_diagonal = ~np.eye(len(seen), dtype=bool)
    assert common[same & off_diagonal].mean() > 2 * common[~same].mean()


def test_popularity_is_long_tailed():
    popularity = np.sort(plant_tastes(np.random.default_rng(0)).popularity)[::-1]
    assert popularity[: len(popularity) // 10].sum() > 0.3 * popularity.sum()


def test_every_kernel_is_shown_once():
    assert sorted(parse_kernel(text).name for text in SHOWN) == sorted(KERNELS)
    assert all(repr(parse_kernel(text)) == text for text in SHOWN)


def test_ratios_lie_between_0_and_1_and_are_sorted(demo):
    values = [ratio for _, ratio in demo.ratios]
    assert values == sorted(values)
    assert values[0] >= 0
    assert values[-1] <= 1


def test_arity_makes_conjunctions_more_and_disjunctions_less_expressive(demo):
    conjunctive, disjunctive = (curve.ratios for curve in demo.curves)
    assert conjunctive[0] == pytest.approx(disjunctive[0])  # both are linear at arity 1
    assert (np.diff(conjunctive) >= 0).all()
    assert (np.diff(disjunctive) < 0).all()


def test_similar_items_share_the_planted_taste(demo):
    by_chance = 1 / len(TITLES)
    assert all(quality.same_taste > 2 * by_chance for quality in demo.qualities)


def test_no_item_is_its_own_neighbour(demo):
    for near in demo.neighbourhoods:
        for neighbours in near.neighbours.values():
            assert near.item not in {each.item for each in neighbours}
            similarities = [each.similarity for each in neighbours]
            assert similarities == sorted(similarities, reverse=True)


def test_people_differ_in_taste_and_one_has_two(demo):
    likes = [{taste for taste, _ in person.likes} for person in demo.people]
    assert [len(tastes) for tastes in likes] == [1, 2, 1]
    assert len(set.union(*likes)) == 4


def test_people_are_recommended_five_films_that_they_have_not_seen(demo, data):
    names = viewers(data)
    for person in demo.people:
        assert set(person.advice) == set(RANKED)
        own = data.seen.toarray()[:, names.index(person.name)] > 0
        seen = {item for item, saw in zip(data.items, own, strict=True) if saw}
        assert {each.item for each in person.seen} <= seen
        assert person.n_seen == len(seen) == sum(count for _, count in person.counts)
        for advice in person.advice.values():
            picks = {each.item for each in advice.picks}
            assert len(picks) == 5
            assert not picks & seen
            assert {each.item for each in advice.reasons} <= seen


def test_reasons_add_up_to_the_score_and_the_largest_stand_first(demo, data):
    rankers = fit_rankers(data)
    for person in demo.people:
        for kernel, advice in person.advice.items():
            first = advice.picks[0]
            adds = [each.adds for each in advice.reasons]
            assert adds == sorted(adds, reverse=True)
            assert len(adds) + advice.n_others == person.n_seen
            assert sum(adds) + advice.others == pytest.approx(first.score, rel=1e-9)
            assert rankers[kernel].score([person.name], [first.item])[0, 0] == pytest.approx(
                first.score, rel=1e-9
            )


def test_rankers_meet_tastes_more_often_than_popularity_and_chance(demo):
    """With 150 viewers: linear 71 %, disjunctive 38 %, at random 25 %, popular 11 %."""
    linear, disjunctive, popular, chance = (each.liked for each in demo.hits)
    assert linear > disjunctive > chance > popular
    assert linear > 2 * chance


def test_the_popular_films_are_the_most_seen_of_those_not_seen(demo, data):
    """The same figure, counted one viewer at a time."""
    found = 0
    for user, own in enumerate(data.seen.toarray().T):
        unseen = [item for item in range(len(own)) if not own[item]]
        best = sorted(unseen, key=lambda item: -data.popularity[item])[:5]
        found += sum(data.liking[user, data.taste_of[item]] > LIKED for item in best)
    (popular,) = (each for each in demo.hits if each.way == "the most popular")
    assert popular.n_liked == found
    assert popular.liked == pytest.approx(found / (5 * N_USERS))


def test_the_page_has_people_reasons_figures_and_next_steps(demo, page):
    for person in demo.people:
        assert person.name in page
        for advice in person.advice.values():
            assert f"Why {advice.picks[0].item}?" in page
            assert f"{advice.reasons[0].adds:+.4f}" in page
    for each in demo.hits:
        assert f"{100 * each.liked:.1f} %" in page
    for command, _ in NEXT:
        assert command in page


def test_what_to_try_next_works_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["ann,scone", "ann,jam", "bob,jam", *(f"{user},tea" for user in ["bob", *"cdefgh"])]
    (tmp_path / "events.csv").write_text("\n".join(["user,item", *rows]), encoding="utf-8")
    for command, _ in NEXT:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(shlex.split(command)[1:])
        assert not exit_info.value.code, command


def test_the_page_has_every_kernel_and_the_figure(demo, page):
    for text in SHOWN:
        assert f"<code>{text}</code>" in page
    assert "<svg" in page
    assert "var(--series-2)" in page
    for near in demo.neighbourhoods:
        assert near.item in page
    assert (demo.page.parent / "spectral-ratio.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_loads_nothing_from_elsewhere(page):
    """No address at all, and no element that would fetch a file."""
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"@import|url\((?!#)", page)

    class Resources(HTMLParser):
        found: list[str] = []  # noqa: RUF012 (one page, one parser)

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag in {"script", "link", "img", "iframe"}:
                self.found.append(tag)
            self.found += [v for k, v in attrs if k.endswith(("href", "src")) and v[:1] != "#"]

    parser = Resources()
    parser.feed(page)
    assert parser.found == []


def test_the_page_knows_dark_and_narrow_screens(page):
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "max-width: 40rem" in page


def test_the_same_seed_writes_the_same_page(page, tmp_path):
    assert run_demo(tmp_path, n_users=N_USERS).page.read_text(encoding="utf-8") == page


def test_the_command_prints_results_to_stdout_and_progress_to_stderr(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["demo", "--out", str(tmp_path / "new" / "folder"), "--seed", "1"])
    out, err = capsys.readouterr()
    assert not exit_info.value.code
    assert (tmp_path / "new" / "folder" / "report.html").is_file()
    for text in SHOWN:
        assert text in out
    assert "score" in out
    assert "the most popular" in out
    assert "report.html" in err
    assert err.rstrip().splitlines()[-len(NEXT)].split("  ")[1] == NEXT[0][0]
    assert "…" not in out
