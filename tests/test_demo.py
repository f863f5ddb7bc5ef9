"""The demonstration: planted data, what is found in them, and the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from boolrank import cli
from boolrank.demo import run_demo
from boolrank.demo.findings import SHOWN
from boolrank.demo.tastes import TITLES, plant_tastes
from boolrank.kernels import KERNELS, parse_kernel

N_USERS = 150


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return run_demo(tmp_path_factory.mktemp("demo"), n_users=N_USERS)


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
    assert "report.html" in err
    assert "…" not in out
