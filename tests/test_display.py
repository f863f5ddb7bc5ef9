"""Tables, and what notebooks show: escaped, small, with the numbers of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from boolrank import (
    Disjunctive,
    Interactions,
    KernelRanker,
    Linear,
    compare,
    evaluate,
    paper_protocol,
    synthetic,
)
from boolrank.table import MAX_HTML_ROWS, Column, Table

EVIL = "<script>alert('x')</script>&\"<b>"


class Reader(HTMLParser):
    """Parses an HTML table: checks that tags are closed in order, and collects the cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.seen: set[str] = set()
        self.rows: list[list[str]] = []
        self.caption = self.note = ""
        self.feed(text)
        self.close()
        assert not self.tags, "unclosed tag"

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self.tags.append(tag)
        self.seen.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.tags[-1] if self.tags else ""
        if inside in {"td", "th"}:
            self.rows[-1][-1] += data
        elif inside == "caption":
            self.caption += data
        else:
            self.note += data


PLAIN = {"div", "table", "caption", "tr", "th", "td"}


@pytest.fixture(scope="module")
def named() -> Interactions:
    """Interactions with hostile ids."""
    users = [f"{EVIL}{u}" for u in range(50) for _ in range(8)]
    rng = np.random.default_rng(0)
    items = [f"{EVIL}{i}" for _ in range(50) for i in rng.permutation(30)[:8]]
    return Interactions.from_pairs(users, items)


def _shown(named: Interactions) -> Iterator[tuple[str, Any]]:
    model = KernelRanker(0.5 * Linear() + Disjunctive(3)).fit(named)
    split = paper_protocol(synthetic(60, 30, 700), folds=2)
    found = {k: evaluate(KernelRanker(k), split) for k in ("linear", "disjunctive(4)")}
    rows = compare({EVIL: found["linear"], "other": found["disjunctive(4)"]}, "auc", resamples=50)
    yield "model", model
    yield "model, not fitted", KernelRanker(EVIL)
    yield "recommendations", model.recommend()
    yield "recommendations of profiles", model.recommend_profiles([[], [f"{EVIL}1"]])
    yield "no recommendations", model.recommend([])
    yield "nothing to recommend", model.recommend(n=0)
    yield "similar items", model.similar_items([f"{EVIL}1"])
    yield "evaluation", found["linear"]
    yield "comparisons", rows


def test_every_display_is_a_small_table_with_escaped_ids(
    named: Interactions,
) -> None:
    for name, value in _shown(named):
        text = value._repr_html_()
        assert Reader(text).seen <= PLAIN, name
        assert "<script" not in text, name
        assert len(text) < 40_000, name
        colours = re.findall(r"(?:color|background):([^;\"]+)", text)
        assert set(colours) <= {"inherit"}, f"{name} has a colour of its own"


def test_similar_items_have_their_own_headings(named: Interactions) -> None:
    found = KernelRanker("linear").fit(named).similar_items([f"{EVIL}1"], n=3)
    assert repr(found) == "Nearest items: up to 3 items for 1 item"
    assert Reader(found._repr_html_()).rows[0] == ["item", "rank", "similar", "similarity"]
    columns = found.to_dict()
    assert list(columns) == ["item", "rank", "similar", "similarity"]
    assert columns["item"] == [f"{EVIL}1"] * 3
    assert columns["similar"] == found.lists()[0]
    assert columns["similarity"] == found.scores[0].tolist()
    frame = KernelRanker("linear").fit(named).similar_items([]).to_frame()
    assert frame.schema["similarity"].is_float()


def test_recommendations_show_their_first_rows(named: Interactions) -> None:
    found = KernelRanker("linear").fit(named).recommend(n=7)
    read, columns = Reader(found._repr_html_()), found.to_dict()
    assert read.rows[0] == ["user", "rank", "item", "score"]
    assert len(read.rows) == MAX_HTML_ROWS + 1
    assert [row[2] for row in read.rows[1:]] == columns["item"][:MAX_HTML_ROWS]
    assert [float(row[3]) for row in read.rows[1:]] == [
        pytest.approx(score, abs=1e-4) for score in columns["score"][:MAX_HTML_ROWS]
    ]
    assert read.note == f"the first {MAX_HTML_ROWS} of {50 * 7:,} rows"
    popular = KernelRanker("linear").fit(named).recommend_profiles([[]], n=2)
    read = Reader(popular._repr_html_())
    assert [row[0] for row in read.rows] == ["profile", "0", "0"]
    assert [row[-1] for row in read.rows] == ["popular", "True", "True"]


def test_a_model_shows_its_parameters_and_contents(named: Interactions) -> None:
    model = KernelRanker("linear", storage="dense")
    before = Reader(model._repr_html_())
    assert ["kernel", "'linear'"] in before.rows
    assert before.caption == "KernelRanker, not fitted"
    after = dict(Reader(model.fit(named)._repr_html_()).rows)
    assert after["fitted on"] == repr(named)
    assert after["storage"] == "'dense'"


def test_evaluations_and_comparisons_have_the_numbers_of_their_text() -> None:
    split = paper_protocol(synthetic(60, 30, 700), folds=2)
    found = {k: evaluate(KernelRanker(k), split) for k in ("linear", "disjunctive(4)")}
    read = Reader(found["linear"]._repr_html_())
    for row, (name, mean) in zip(read.rows[1:], found["linear"].means.items(), strict=True):
        assert row[:3] == [name, f"{mean:.4f}", f"{found['linear'].deviations[name]:.4f}"]
    assert repr(split) in read.note
    assert all(remark in repr(found["linear"]) for remark in read.note.split("; ")[1:])
    rows = compare(found, "auc", baseline="linear", resamples=50)
    read = Reader(rows._repr_html_())
    assert read.rows[1][:2] == ["disjunctive(4)", f"{rows[0].mean:.4f}"]
    assert read.caption == f"Compared with linear, auc {rows[0].baseline_mean:.4f}"


def test_long_tables_and_cells_are_cut() -> None:
    read = Reader(Table.of("long", ["a", "b"], [(k, "x" * 1000) for k in range(1000)]).to_html())
    assert len(read.rows) == MAX_HTML_ROWS + 1
    assert all(len(row[1]) < 400 for row in read.rows)


@pytest.fixture
def table() -> Table:
    columns = [
        Column("model"),
        Column("auc", ".2f", heading="AUC"),
        Column("off", ".2f", under="auc", template="± {}"),
        Column("p", ".1g"),
        Column("odd", marks="auc"),
        Column("secret", shown=False),
    ]
    rows = [("a|b", 0.5, 0.01, -0.001, False, True), ("b_c", 0.75, float("nan"), None, True, [1])]
    return Table("Title & more", columns, rows)


def test_a_table_folds_columns_and_highlights(table: Table) -> None:
    assert [column.title for column in table.shown] == ["model", "AUC", "p"]
    assert table.numeric == [False, True, True]
    first, second = (table.cells(row) for row in table.rows)
    assert [cell.text for cell in first] == ["a|b", "0.50", "-0.001"]
    assert [cell.text for cell in second] == ["b_c", "0.75", "–"]
    assert (first[1].small, second[1].small) == ("± 0.01", "")
    assert (first[1].marked, second[1].marked) == (False, True)


def test_a_table_gives_programs_all_columns_and_digits(table: Table) -> None:
    assert table.records()[1] == {
        "model": "b_c",
        "auc": 0.75,
        "off": None,
        "p": None,
        "odd": True,
        "secret": [1],
    }
    assert table.to_csv().splitlines() == [
        "model,auc,off,p,odd,secret",
        "a|b,0.5,0.01,-0.001,false,true",
        "b_c,0.75,,,true,[1]",
    ]


def test_a_table_escapes_latex(table: Table) -> None:
    assert r"a|b & 0.50 $\pm$ 0.01 & -0.001 \\" in table.to_latex()
    assert r"b\_c & 0.75* & -- \\" in table.to_latex()
    assert r"\caption{Title \& more}" in table.to_latex()


def test_rows_are_selected_by_value_and_values_are_mapped(table: Table) -> None:
    chosen = table.where({"odd": False})
    assert [column.name for column in chosen.columns] == ["model", "auc", "off", "p", "secret"]
    assert [row[0] for row in chosen.rows] == ["a|b"]
    assert [row[0] for row in table.mapped("model", str.upper).rows] == ["A|B", "B_C"]
    assert [column.name for column in table.without(["p", "odd"]).columns] == [
        *("model", "auc", "off", "secret")
    ]


def test_markdown_is_aligned_with_the_note_below(table: Table) -> None:
    assert replace(table, note="More.").to_markdown().splitlines() == [
        "Title & more",
        "",
        "| model |           AUC |      p |",
        "| ----- | ------------: | -----: |",
        r"| a\|b  | 0.50 (± 0.01) | -0.001 |",
        "| b_c   |          0.75 |      – |",
        "",
        "More.",
    ]
