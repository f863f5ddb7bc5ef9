"""The benchmarks: contestants that rank as they should, runs apart, and the published table."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from boolrank import KernelRanker, synthetic
from boolrank.models import MODELS

ROOT = Path(__file__).parent.parent
# What a contestant needs beyond what the tests do.
NEEDS = {"als": "implicit", "bpr": "implicit", "cosine": "implicit"}
NEEDS |= {"slim": "irspack", "dense": "cvxopt"}
OURS = ["disjunctive", "linear", *({"ease", "kernel-ease", "item-knn"} & MODELS.keys())]
KERNEL = "disjunctive(3)"


@pytest.fixture
def script(monkeypatch):
    """A script of the benchmarks as a module, with those that it imports."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and "benchmarks" in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def _row(seconds: float, megabytes: float = 35.0) -> dict[str, object]:
    taken = {"seconds": seconds, "fit": seconds / 2, "rank": seconds / 2, "first use": 1.25}
    return taken | {"peak": megabytes + 100, "memory": megabytes, "runs": [seconds]}


def _found(script) -> dict[str, object]:
    """A made-up run over two sets; on the second somebody was left out."""
    first = {"disjunctive": _row(2.0), "als": _row(3.0, 1234.0)}
    second = {"disjunctive": _row(0.04), "als": {"left out": "it had no room"}}
    sets = {"filmtrust": first, "ciaodvd": second}
    return {
        "command": "python benchmarks/peers.py --sets filmtrust,ciaodvd",
        "machine": {"processor": "a processor", "cores": 2},
        "versions": dict.fromkeys(("python", "numpy", *script("peers").PEERS), "1.0"),
        "sets": {
            name: {"size": [10, 2000, 300], "kernel": KERNEL, "contestants": rows}
            for name, rows in sets.items()
        },
    }


def _check_table(text: str) -> list[list[str]]:
    """The rows of the only table of a text, which has a command that exists above it."""
    above, _, table = text.partition("\n|")
    scripts = re.findall(r"`[^`]*\bpython (benchmarks/\w+\.py)[^`]*`", above)
    assert scripts, "no command above the table"
    for path in scripts:
        assert (ROOT / path).is_file(), path
    lines = [line for line in f"|{table}".splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({len(row) for row in rows}) == 1, "rows of different lengths"
    assert len(rows) > 2
    assert all(re.fullmatch(r"-{3,}:?", cell) for cell in rows[1])
    assert all(rows[0][1:])
    return rows


@pytest.mark.parametrize("name", [*sorted(OURS), "numpy-ease", *NEEDS])
@pytest.mark.filterwarnings("ignore")  # of others: here they run in this process, with its threads
def test_every_contestant_gives_everybody_twenty_items_they_have_not_seen(script, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is of the extra bench")
    data = synthetic(60, 100, 500)
    lists = script("contestants").CONTESTANTS[name].fit(data, KERNEL)()
    assert lists.shape == (60, 20)
    for user, items in enumerate(lists.astype(int)):
        assert len(set(items)) == 20
        assert not set(items) & set(data.rows.row(user))
        assert set(items) <= set(range(100))


def test_the_dense_way_ranks_as_the_ranker_does(script):
    pytest.importorskip("cvxopt", reason="cvxopt is of the extra bench")
    data = synthetic(80, 150, 900)
    model = KernelRanker(KERNEL, reg=script("contestants").REG).fit(data)
    dense = script("contestants").CONTESTANTS["dense"].fit(data, KERNEL)()
    # Items whose scores differ by less than the tolerance of the quadratic programs may change
    # places: it is the scores, by our model, of what stands at each place that are the same.
    scores = np.take_along_axis(model.score(), dense, axis=1)
    np.testing.assert_allclose(scores, model.recommend(n=20).scores, atol=1e-7)
    assert np.mean(dense == model.recommend(n=20).items) > 0.99


def test_who_has_no_room_or_no_time_is_left_out_with_the_reason(script):
    contestants = script("contestants").CONTESTANTS
    for name in contestants:
        assert contestants[name].unable(2_071, 35_494) == ""
    assert "GB" in contestants["numpy-ease"].unable(10_000_000, 3_000_000)
    assert "MovieLens" in contestants["slim"].unable(100_000, 3_000_000)
    assert contestants["disjunctive"].unable(10_000_000, 3_000_000) == ""


def test_a_run_apart_tells_time_and_memory_and_a_failed_one_its_reason(script):
    measuring = script("measuring")
    path = str(ROOT / "benchmarks" / "measuring.py")
    found = measuring.in_own_process(path, "synthetic:200x100x3000", KERNEL, "disjunctive")
    assert found["fit"] + found["rank"] == pytest.approx(found["seconds"])
    assert found["fit"] > 0 < found["rank"]
    assert found["peak"] > found["memory"]
    with pytest.raises(measuring.NotRunError, match="no-such-set"):
        measuring.in_own_process(path, "no-such-set", KERNEL, "disjunctive")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
@pytest.mark.parametrize("kernel", ["linear", "tanimoto"])
def test_the_peak_of_a_fit_is_its_estimate(script, kernel):
    measuring, path = script("measuring"), str(ROOT / "benchmarks" / "memory.py")
    params = f'{{"kernel": "{kernel}", "storage": "dense"}}'
    found = measuring.in_own_process(path, "3000", "kernel-ranker", params)
    assert found["estimate"] > 8e-6 * 3000**2
    assert 0.85 < found["peak"] / found["estimate"] < 1.15, found


def test_the_median_run_counts_and_one_that_failed_is_not_hidden(script):
    middle = script("measuring").middle
    chosen = middle([_row(3.0, 1.0), _row(1.0, 2.0), _row(2.0, 3.0)])
    assert (chosen["seconds"], chosen["memory"], chosen["runs"]) == (2.0, 3.0, [3.0, 1.0, 2.0])
    assert middle([_row(3.0), {"left out": "why"}]) == {"left out": "why"}


def test_the_table_has_ratios_to_the_first_of_its_set_and_says_who_was_left_out(script):
    text = script("peers").markdown(_found(script))
    rows = _check_table(text)
    assert rows[0] == ["", "FilmTrust", "CiaoDVD", "first use"]
    assert rows[2] == ["users × items × interactions", *["10 × 2,000 × 300"] * 2, ""]
    assert rows[4][1:] == ["**1.0×** 2.0 s, 35 MB", "**1.0×** 0.04 s, 35 MB", "1.2 s"]
    assert rows[5][1:] == ["**1.5×** 3.0 s, 1.2 GB", "– (1)", "1.2 s"]
    assert "\n1. it had no room\n" in text


def test_only_what_is_between_the_markers_of_a_page_is_replaced(script):
    replaced = script("results").replaced
    page = "above\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nbelow\n"
    new = replaced(page, "new\n")
    assert new == "above\n<!-- bench:begin -->\n\nnew\n\n<!-- bench:end -->\nbelow\n"
    assert replaced(new, "new") == new
    with pytest.raises(ValueError, match="bench:end --> 0 times"):
        replaced("<!-- bench:begin -->", "new")


def test_a_part_of_a_run_is_not_published(script):
    lacking = script("results").missing(_found(script))
    assert {"movielens", "synthetic", "linear"} <= set(lacking)
    assert not {"filmtrust", "ciaodvd", "als"} & set(lacking)


def test_the_page_quotes_a_whole_table_with_the_command_that_made_it():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    found = re.findall(r"<!-- bench:begin -->\n(.*?)<!-- bench:end -->\n", page, re.DOTALL)
    assert len(found) == 1
    rows = _check_table(found[0])
    assert any("disjunctive" in row[0] for row in rows)
    for row in rows[2:]:
        assert any(row[1:]), f"nothing about {row[0]}"
