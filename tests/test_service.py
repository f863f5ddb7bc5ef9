"""The service answers as the library does, and keeps its promises on events and refreshes."""

from __future__ import annotations

import logging
import math
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from boolrank import Interactions, ItemTable, ModelFileError, load_model
from boolrank.models.spec import parse_model
from services import client_of, expected, pairs, postgres_place, some_data
from worker_here import WorkerHere

pytest.importorskip("fastapi", reason="the extra serve is missing")

MODELS = (
    "kernel-ranker(kernel=disjunctive(2))",
    "kernel-ranker(kernel=linear, recency=3)",
    "ease(reg=10)",
    "item-knn",
    "popularity",
)
DATA = some_data()
ITEMS = ItemTable.from_frame(
    pd.DataFrame(
        {
            "item": [f"p{k}" for k in range(20)],
            "title": [f"Title {k}" for k in range(20)],
            "price": range(20),
            "tags": ["x|y", "y", "z", "x|z"] * 5,
        }
    )
)


@pytest.fixture
def refresher_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refresh in this process: another takes most of a second to start.

    Connections to PostgreSQL are closed by the end of a process, so these tests have one.
    """
    if "postgresql" not in request.node.name:
        monkeypatch.setattr("boolrank.service.live.Worker", WorkerHere)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A saved model of each kind; tests that change one copy it."""
    folder = tmp_path_factory.mktemp("models")
    for number, text in enumerate(MODELS):
        parse_model(text).make().fit(DATA).save(folder / str(number))
    return {text: folder / str(number) for number, text in enumerate(MODELS)}


@pytest.fixture
def folder(saved: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved[MODELS[0]], tmp_path / "model"))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "events.sqlite")
    else:
        with postgres_place() as url:
            yield url


@pytest.fixture
def client(folder: Path, place: str) -> Iterator[Any]:
    with client_of(folder, place, items=ITEMS) as made:
        yield made


def post(client: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def get(client: Any, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def add(client: Any, *changes: tuple[str, str], action: str = "add") -> dict[str, Any]:
    events = [{"user": user, "item": item, "action": action} for user, item in changes]
    return post(client, "/v1/events", {"events": events})


@pytest.mark.parametrize("text", MODELS)
def test_answers_equal_those_of_the_library(
    text: str, saved: dict[str, Path], tmp_path: Path
) -> None:
    model = load_model(saved[text])
    with client_of(saved[text], str(tmp_path / "events.sqlite")) as client:
        facts = get(client, "/v1/model")
        assert facts["items"] == len(model.interactions.items)
        for user in ("u1", "u7", "u30"):
            found = get(client, f"/v1/recommendations/{user}", n=7)
            assert pairs(found) == expected(model.recommend([user], 7))
            assert (found["user"], found["popular"]) == (user, False)
            assert found["model"] == facts["model"]
            body = {"user": user, "n": 6, "exclude": ["p1"], "exclude_seen": False}
            wanted = model.recommend([user], 6, exclude_seen=False, exclude=["p1"])
            assert pairs(post(client, "/v1/recommendations", body)) == expected(wanted)
        some = ["p3", "p1", "p9"]
        body = {"items": some, "n": 5, "candidates": [f"p{k}" for k in range(12)]}
        wanted = model.recommend_profile(some, 5, candidates=body["candidates"])
        assert pairs(post(client, "/v1/recommendations", body)) == expected(wanted)
        queries = [{"user": "u2", "n": 3}, {"items": some, "n": 4}, {"items": [], "n": 2}]
        batch = post(client, "/v1/recommendations:batch", {"queries": queries})["results"]
        assert pairs(batch[0]) == expected(model.recommend(["u2"], 3))
        assert pairs(batch[1]) == expected(model.recommend_profile(some, 4))
        assert pairs(batch[2]) == expected(model.recommend_profile([], 2))
        assert [each["popular"] for each in batch] == [False, False, True]
        queries = [{"user": "u2", "n": 4}, {"items": some, "n": 4}, {"user": "u3", "n": 4}]
        batch = post(client, "/v1/recommendations:batch", {"queries": queries})["results"]
        assert pairs(batch[0]) == expected(model.recommend(["u2"], 4))
        assert pairs(batch[1]) == expected(model.recommend_profile(some, 4))
        assert pairs(batch[2]) == expected(model.recommend(["u3"], 4))
        assert pairs(get(client, "/v1/popular", n=4)) == expected(model.recommend_profile([], 4))
        if "similar" in facts["abilities"]:
            found = get(client, "/v1/similar/p2", n=5)
            assert pairs(found, "similarity") == expected(model.similar_items(["p2"], 5))
        else:
            assert client.get("/v1/similar/p2").status_code == 422


def test_shared_tags_are_reasons_whatever_table_is_shown(tmp_path: Path) -> None:
    model = parse_model("kernel-ranker(kernel=linear + 0.5*tanimoto[tags])").make()
    model.fit(DATA, items=ITEMS).save(tmp_path / "model")
    titles = ItemTable.from_frame(pd.DataFrame({"item": ["p1"], "title": ["One"]}))
    with client_of(tmp_path / "model", str(tmp_path / "e.sqlite"), items=titles) as client:
        for entry in get(client, "/v1/recommendations/u1", n=3, reasons=20)["items"]:
            wanted = model.explain("u1", entry["item"])
            found = [(each["item"] or each["title"], each["adds"]) for each in entry["reasons"]]
            assert found == [(str(reason), part) for reason, part in wanted]
            tags = [each for each in entry["reasons"] if each["item"] is None]
            assert tags
            assert all(each["column"] == "tags" and "of" in each["title"] for each in tags)
            assert sum(part for _, part in found) == pytest.approx(entry["score"], abs=1e-12)


def test_limits_and_diversity_are_validated(client: Any) -> None:
    body = {"user": "u1", "n": 5, "per": {"tags": 2, "price": 1}, "diversity": 0.4}
    assert len(post(client, "/v1/recommendations", body)["items"]) <= 5
    wrong = [({"per": {"tags": 0}}, "per"), ({"per": {"no": 1}}, "'no'")]
    for change, said in (*wrong, ({"diversity": 2.0}, "diversity"), ({"n": 101}, "lower n")):
        answer = client.post("/v1/recommendations", json=body | change)
        assert (answer.status_code, said in answer.text) == (422, True), change


@pytest.mark.parametrize("text", MODELS)
def test_reasons_add_up_to_the_score_and_equal_those_of_the_library(
    text: str, saved: dict[str, Path], tmp_path: Path
) -> None:
    model = load_model(saved[text])
    with client_of(saved[text], str(tmp_path / "events.sqlite")) as client:
        if "reasons" not in get(client, "/v1/model")["abilities"]:
            answer = client.post("/v1/recommendations", json={"user": "u1", "reasons": 2})
            assert answer.status_code == 422
            assert "cannot explain" in answer.json()["detail"]
            return
        found = get(client, "/v1/recommendations/u1", n=5, reasons=2)
        for entry in found["items"]:
            shown = [(each["item"], each["adds"]) for each in entry["reasons"]]
            assert shown == model.explain("u1", entry["item"])[:2]
            total = sum(adds for _, adds in shown) + entry["rest"]
            assert math.isclose(total, entry["score"], rel_tol=1e-9, abs_tol=1e-12)
        why = get(client, "/v1/explanations/u1/p3", n=100)
        shown = [(each["item"], each["adds"]) for each in why["reasons"]]
        assert shown == model.explain("u1", "p3")
        assert why["score"] == model.score(["u1"], ["p3"])[0, 0]


def test_whole_numbers_and_text_find_the_same_user(tmp_path: Path) -> None:
    data = Interactions.from_pairs([7, 7, 8, 9, 9], [1, 2, 2, 1, 30])
    model = parse_model(MODELS[0]).make().fit(data)
    model.save(tmp_path / "model")
    with client_of(tmp_path / "model", str(tmp_path / "events.sqlite")) as client:
        wanted = expected(model.recommend([7], 3))
        assert pairs(get(client, "/v1/recommendations/7", n=3)) == wanted
        assert pairs(post(client, "/v1/recommendations", {"user": 7, "n": 3})) == wanted
        assert pairs(post(client, "/v1/recommendations", {"user": "7", "n": 3})) == wanted
        by_items = post(client, "/v1/recommendations", {"items": [1, "2"], "n": 3})
        assert pairs(by_items) == wanted
        add(client, ("8", "30"))
        assert [each["item"] for each in get(client, "/v1/users/8")["items"]] == [2, 30]
        bad = {"events": [{"user": "ann", "item": 1}]}
        assert client.post("/v1/events", json=bad).status_code == 422
        bad = {"events": [{"user": "9" * 40, "item": 1}]}
        assert client.post("/v1/events", json=bad).status_code == 422


def test_numbers_that_javascript_rounds_are_text_in_answers(tmp_path: Path) -> None:
    users, items = [2**53 + 1, 2**53 + 1, 7], [2**60 + 1, -(2**53) - 1, 2**53]
    parse_model("ease").make().fit(Interactions.from_pairs(users, items)).save(tmp_path / "model")
    with client_of(tmp_path / "model", str(tmp_path / "events.sqlite")) as client:
        known = get(client, "/v1/users")["users"]
        assert [each["user"] for each in known] == [7, str(2**53 + 1)]
        answer = get(client, f"/v1/users/{2**53 + 1}")
        assert answer["user"] == str(2**53 + 1)
        assert [each["item"] for each in answer["items"]] == [str(-(2**53) - 1), str(2**60 + 1)]
        near = get(client, f"/v1/similar/{2**60 + 1}", n=2)["items"]
        assert {each["item"] for each in near} == {str(-(2**53) - 1), 2**53}
        again = {"items": [each["item"] for each in answer["items"]]}
        assert [each["item"] for each in post(client, "/v1/recommendations", again)["items"]] == [
            2**53
        ]


@pytest.mark.usefixtures("refresher_here")
def test_uuids_are_found_and_stored(tmp_path: Path) -> None:
    users = [UUID(int=k) for k in range(3)]
    data = Interactions.from_pairs([users[0], users[1], users[1]], ["a", "a", "b"])
    parse_model("popularity").make().fit(data).save(tmp_path / "model")
    with client_of(tmp_path / "model", str(tmp_path / "events.sqlite")) as client:
        assert get(client, f"/v1/users/{users[1]}")["total"] == 2
        assert len(get(client, "/v1/users", q="00000000-")["users"]) == 2
        add(client, (str(users[2]), "a"))
        assert get(client, f"/v1/users/{users[2]}")["total"] == 1
        bad = {"events": [{"user": "ann", "item": "a"}]}
        assert client.post("/v1/events", json=bad).status_code == 422
        post(client, "/v1/refresh", {})
        assert users[2] in load_model(tmp_path / "model").interactions.users


@pytest.mark.usefixtures("refresher_here")
def test_fractions_are_found_and_stored_and_nan_is_refused(tmp_path: Path) -> None:
    data = Interactions.from_pairs([0.5, 1.25, 1.25], ["a", "a", "b"])
    parse_model("popularity").make().fit(data).save(tmp_path / "model")
    with client_of(tmp_path / "model", str(tmp_path / "events.sqlite")) as client:
        assert get(client, "/v1/users/1.25")["total"] == 2
        add(client, ("2.5", "a"))
        for key in ("nan", "inf", "1_0.5", "x"):
            bad = {"events": [{"user": key, "item": "a"}]}
            assert client.post("/v1/events", json=bad).status_code == 422, key
        post(client, "/v1/refresh", {})
        assert list(load_model(tmp_path / "model").interactions.users) == [0.5, 1.25, 2.5]


def test_ids_with_slashes_and_signs_are_found(tmp_path: Path) -> None:
    odd = ["a/b", "50%", "%2F", "ü ?&", "..", "<b>"]
    data = Interactions.from_pairs(odd, list(reversed(odd)))
    parse_model("popularity").make().fit(data).save(tmp_path / "model")
    from urllib.parse import quote

    with client_of(tmp_path / "model", str(tmp_path / "events.sqlite")) as client:
        for user, item in zip(odd, reversed(odd), strict=True):
            found = get(client, f"/v1/users/{quote(user, safe='').replace('.', '%2E')}")
            assert [found["user"], found["items"][0]["item"]] == [user, item]


def test_unknown_users_get_popular_items_and_unknown_items_are_reported(client: Any) -> None:
    found = get(client, "/v1/recommendations/nobody", n=3)
    assert found["popular"]
    assert pairs(found) == pairs(get(client, "/v1/popular", n=3))
    found = post(client, "/v1/recommendations", {"items": ["p1", "zz"], "n": 3})
    assert (found["unknown"], found["popular"]) == (["zz"], False)
    for body in (
        {"items": ["p1", "zz"], "strict": True},
        {"items": ["p1"], "exclude": ["zz"], "strict": True},
        {"user": "nobody", "strict": True},
    ):
        answer = client.post("/v1/recommendations", json=body)
        assert answer.status_code == 404
        assert answer.json()["hint"]


def test_unknown_ids_of_exclude_and_candidates_are_reported(client: Any) -> None:
    asked = {"exclude": ["p1", "p2,p3"], "candidates": ["p4", "zz"]}
    body = {"items": ["p1", "yy", "yy"], **asked}
    found = post(client, "/v1/recommendations", {"user": "u1", **asked})
    assert found["unknown"] == ["p2,p3", "zz"]
    assert post(client, "/v1/recommendations", body)["unknown"] == ["yy", "p2,p3", "zz"]


def test_blanks_around_ids_are_removed(client: Any) -> None:
    add(client, (" u1 ", "\tp20\n"), ("newcomer ", " p1"))
    assert get(client, "/v1/users/newcomer")["total"] == 1
    assert get(client, "/v1/users/%20newcomer")["user"] == "newcomer"
    wanted = post(client, "/v1/recommendations", {"user": "u1", "exclude": ["p2"]})
    body = {"user": " u1", "exclude": ["p2 "]}
    assert post(client, "/v1/recommendations", body) == wanted
    found = get(client, "/v1/recommendations/u1%20")
    assert found == get(client, "/v1/recommendations/u1")
    assert wanted["unknown"] == []


def test_lists_have_at_most_n_items_and_none_that_is_excluded(client: Any) -> None:
    rng = np.random.default_rng(1)
    items = [f"p{k}" for k in range(25)]
    for _ in range(30):
        exclude = rng.choice(items, rng.integers(0, 25), replace=False).tolist()
        n, own = int(rng.integers(1, 40)), rng.choice(items, rng.integers(0, 8)).tolist()
        found = post(client, "/v1/recommendations", {"items": own, "n": n, "exclude": exclude})
        listed = [entry["item"] for entry in found["items"]]
        assert len(listed) <= n
        assert len(set(listed)) == len(listed)
        assert not set(listed) & set(exclude)
        assert not (set(listed) & set(own)) or found["popular"]


def test_titles_are_shown_and_searched_without_case_and_accents(
    folder: Path, tmp_path: Path
) -> None:
    titles = {"item": ["p1", "p2", "p3"], "title": ["Amélie", "The Melting Pot", "Straße"]}
    table = ItemTable.from_frame(pd.DataFrame(titles))
    with client_of(folder, str(tmp_path / "e.sqlite"), items=table) as client:
        found = get(client, "/v1/items", q="AMELIE")
        assert [each["item"] for each in found["items"]] == ["p1"]
        assert found["items"][0]["title"] == "Amélie"
        assert [each["item"] for each in get(client, "/v1/items", q="strasse")["items"]] == ["p3"]
        both = get(client, "/v1/items", q="mel")
        assert {each["item"] for each in both["items"]} == {"p1", "p2"}
        assert get(client, "/v1/items", q="p24", n=3)["items"][0]["item"] == "p24"
        assert get(client, "/v1/items", q="no such thing")["total"] == 0
        assert get(client, "/v1/items")["total"] == 25
        for q in ("u1", "u", "u39", "x", ""):
            named = [key for key in DATA.users if key.startswith(q)]
            found = get(client, "/v1/users", q=q, n=5)["users"]
            assert [each["user"] for each in found] == named[:5]
            assert all(each["items"] > 0 for each in found)


@pytest.mark.parametrize("text", MODELS)
def test_filters_limits_and_diversity_equal_those_of_the_library(tmp_path: Path, text: str) -> None:
    parse_model(text).make().fit(DATA, items=ITEMS).save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    where = "price < 12 and not tags has 'z'"
    with client_of(tmp_path / "model", str(tmp_path / "e.sqlite")) as client:
        info = get(client, "/v1/model")
        assert info["titles"] == len(set(ITEMS.ids) & set(DATA.items))
        assert info["columns"] == {"title": "text", "price": "number", "tags": "set"}
        for user in ("u1", "u2", "nobody"):
            known = {"users": [user], "unknown": "popular"}
            found = get(client, f"/v1/recommendations/{user}", where=where, n=5)
            assert pairs(found) == expected(model.recommend(n=5, where=where, **known))
            options = {"n": 4, "where": "price < 15", "per": {"tags": 1}}
            found = post(client, "/v1/recommendations", {"user": user, **options})
            assert pairs(found) == expected(model.recommend(**options, **known))
            assert all(entry["title"] for entry in found["items"])
            options = {"n": 4, "diversity": 0.5, "per": {"tags": 2}}
            if "similar" in info["abilities"]:
                found = post(client, "/v1/recommendations", {"user": user, **options})
                assert pairs(found) == expected(model.recommend(**options, **known))
                near = get(client, "/v1/similar/p1", where=where)
                listed = model.similar_items(["p1"], where=where)
                assert pairs(near, "similarity") == expected(listed)
            else:
                body = {"user": user, **options}
                assert client.post("/v1/recommendations", json=body).status_code == 422


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"where": "prize < 3"}, "no column 'prize'"),
        ({"where": "price = 'x'"}, "'price' has numbers"),
        ({"where": "__import__('os')"}, "no column '__import__'"),
        ({"where": "price < 3; drop table events"}, "not a part of one"),
        ({"where": "(" * 60}, "nested more than 50 deep"),
        ({"where": "x" * 3000}, "at most 2000 characters"),
        ({"per": {"colour": 1}}, "no column 'colour'"),
        ({"per": {"tags": 0}}, "greater than or equal to 1"),
        ({"diversity": 2}, "less than or equal to 1"),
        ({"diversity": 0.5, "n": 500}, "at most 100 diverse items"),
    ],
)
def test_a_wrong_filter_spoils_its_own_query_alone(client: Any, body: Any, said: str) -> None:
    answer = client.post("/v1/recommendations", json={"items": ["p1"], **body})
    assert answer.status_code == 422
    assert said in answer.text
    good = {"items": ["p1"], "where": "price < 5"}
    assert {entry["item"] for entry in post(client, "/v1/recommendations", good)["items"]} <= {
        f"p{k}" for k in range(5)
    }


def test_an_event_changes_the_next_list(client: Any, folder: Path) -> None:
    model = load_model(folder)
    own = [str(model.interactions.items[k]) for k in model.interactions.rows.row(3)]
    user = model.interactions.users[3]
    new = next(f"p{k}" for k in range(25) if f"p{k}" not in own)
    done = add(client, (user, new))
    assert (done["stored"], done["duplicates"], done["unknown"]) == (1, 0, [])
    found = get(client, f"/v1/recommendations/{user}", n=5)
    assert pairs(found) == expected(model.recommend_profile([*own, new], 5))
    add(client, (user, own[0]), action="remove")
    wanted = model.recommend_profile([*own[1:], new], 5)
    assert pairs(get(client, f"/v1/recommendations/{user}", n=5)) == expected(wanted)
    add(client, ("newcomer", "p4"), ("newcomer", "p5"), ("newcomer", "brand-new"))
    found = get(client, "/v1/recommendations/newcomer", n=5)
    assert pairs(found) == expected(model.recommend_profile(["p4", "p5"], 5))
    assert (found["unknown"], found["popular"]) == (["brand-new"], False)
    history = get(client, "/v1/users/newcomer")
    assert history["known"]
    assert [each["item"] for each in history["items"]] == ["p4", "p5"]
    assert get(client, "/v1/explanations/newcomer/p9")["reasons"]
    add(client, ("newcomer", "brand-new"), action="remove")
    assert get(client, "/v1/users/newcomer")["unknown"] == []


def test_events_are_idempotent_by_id(client: Any) -> None:
    event = {"id": "x1", "user": "u1", "item": "p7"}
    body = {"events": [event, event]}
    first = post(client, "/v1/events", body)
    again = post(client, "/v1/events", body)
    assert (first["stored"], first["duplicates"]) == (1, 1)
    assert (again["stored"], again["duplicates"]) == (0, 2)
    assert again["sequence"] == first["sequence"]
    others = [{"id": "x2", "user": "u1", "item": "p8"}, event | {"item": "p9"}]
    answer = client.post("/v1/events", json={"events": others})
    assert answer.status_code == 409
    assert post(client, "/v1/events", {"events": others[:1]})["stored"] == 1, "all or none"


def refitted(changes: list[tuple[str, str, str]], base: Interactions, text: str) -> Any:
    """The model of the data after changes, in their order."""
    held = {
        (base.users[row], base.items[item]): None
        for row, item in zip(base.rows.numbers.tolist(), base.indices.tolist(), strict=True)
    }
    for user, item, action in changes:
        if action == "add":
            held[user, item] = None
        else:
            held.pop((user, item), None)
    return parse_model(text).make().fit(Interactions.from_pairs(*zip(*held, strict=True)))


@pytest.mark.parametrize("text", [MODELS[0], MODELS[2]])
def test_a_refresh_equals_a_fit_on_all_events(
    text: str, saved: dict[str, Path], place: str, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(saved[text], tmp_path / "model"))
    rng = np.random.default_rng(2)
    log: list[tuple[str, str, str]] = []
    with client_of(folder, place) as client:
        before = get(client, "/v1/model")["model"]
        for part in range(2):
            some = [
                (f"u{rng.integers(60)}", f"p{rng.integers(30)}", str(rng.choice(["add", "remove"])))
                for _ in range(60)
            ]
            log += some
            keys = ("user", "item", "action")
            events = [dict(zip(keys, each, strict=True)) for each in some]
            post(client, "/v1/events", {"events": events})
            done = post(client, "/v1/refresh", {})
            assert done["previous"] == before
            before = done["model"]
            assert get(client, "/v1/model")["events"]["contained"] == 60 * (part + 1)
        wanted, found = refitted(log, DATA, text), load_model(folder)
        users, items = list(wanted.interactions.users), list(wanted.interactions.items)
        assert np.array_equal(found.score(users, items), wanted.score(users, items))
        for user in users[::7]:
            answer = get(client, f"/v1/recommendations/{user}", n=5)
            assert pairs(answer) == expected(wanted.recommend([user], 5))
            assert answer["model"] == before
        assert post(client, "/v1/refresh", {})["changed"] == 0


@pytest.mark.usefixtures("refresher_here")
def test_a_refresh_keeps_times_where_recency_counts(saved: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved[MODELS[1]], tmp_path / "model"))
    with client_of(folder, str(tmp_path / "events.sqlite")) as client:
        history = [each["item"] for each in get(client, "/v1/users/u1")["items"]]
        old, new = history[0], next(f"p{k}" for k in range(25) if f"p{k}" not in history)
        events = [
            {"user": "u1", "item": new, "time": 500},
            {"user": "u1", "item": old, "action": "remove", "time": 600},
            {"user": "u1", "item": old, "time": 700},
        ]
        post(client, "/v1/events", {"events": events})
        early = get(client, "/v1/recommendations/u1", n=5)
        post(client, "/v1/refresh", {})
        late = get(client, "/v1/recommendations/u1", n=5)
        kept = [
            (DATA.users[row], DATA.items[item], when)
            for row, item, when in zip(DATA.rows.numbers, DATA.indices, DATA.time, strict=True)
            if (DATA.users[row], DATA.items[item]) != ("u1", old)
        ]
        kept += [("u1", new, 500), ("u1", old, 700)]
        users, items, times = zip(*kept, strict=True)
        data = Interactions.from_pairs(users, items, np.array(times))
        wanted = parse_model(MODELS[1]).make().fit(data)
        assert pairs(late) == expected(wanted.recommend(["u1"], 5))
        # Weights by recency count before the refresh already; the counts of pairs do not.
        model = load_model(saved[MODELS[1]])
        assert pairs(early) != expected(model.recommend_profile([*history, new], 5))


def test_a_refresh_never_replaces_a_newer_fit(
    saved: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service import history as module
    from boolrank.service.events import EventStore

    folder = Path(shutil.copytree(saved[MODELS[0]], tmp_path / "model"))
    store = EventStore(tmp_path / "events.sqlite")
    store.create()
    store.add([("x1", "u1", "a new item", "add", 5.0)])
    newer, apply = parse_model("popularity").make().fit(DATA), module.apply_changes

    def apply_slowly(model: Any, changes: Any) -> int:
        newer.save(folder)
        return apply(model, changes)

    monkeypatch.setattr(module, "apply_changes", apply_slowly)
    with pytest.raises(ModelFileError, match="replaced meanwhile"):
        module.refresh(folder, store)
    assert load_model(folder).recommend(["u1"]).lists() == newer.recommend(["u1"]).lists()


@pytest.mark.usefixtures("refresher_here")
@pytest.mark.parametrize("text", [MODELS[0], MODELS[2]])
def test_a_refresh_equals_a_fit_if_users_and_items_lose_everything(
    text: str, saved: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(saved[text], tmp_path / "model"))
    pairs = [
        (DATA.users[row], DATA.items[item])
        for row, item in zip(DATA.rows.numbers.tolist(), DATA.indices.tolist(), strict=True)
    ]
    gone = [pair for pair in pairs if pair[0] in ("u3", "u4") or pair[1] == "p20"]
    assert gone
    with client_of(folder, str(tmp_path / "e.sqlite")) as client:
        add(client, *gone, action="remove")
        assert get(client, "/v1/recommendations/u3")["popular"]
        post(client, "/v1/refresh", {})
        wanted = refitted([(*pair, "remove") for pair in gone], DATA, text)
        found = load_model(folder)
        assert list(found.interactions.users) == list(wanted.interactions.users)
        assert list(found.interactions.items) == list(wanted.interactions.items)
        assert np.array_equal(found.score(), wanted.score())
        assert not get(client, "/v1/users/u3")["known"]
        add(client, ("u3", "p20"))
        assert get(client, "/v1/users/u3")["unknown"] == ["p20"]
        post(client, "/v1/refresh", {})
        assert get(client, "/v1/users/u3")["total"] == 1


@pytest.mark.parametrize("text", ["popularity", "ease"])
def test_a_refresh_never_writes_a_model_without_interactions(text: str, tmp_path: Path) -> None:
    folder, pairs = tmp_path / "model", [("ann", "tea"), ("bob", "tea"), ("bob", "jam")]
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    parse_model(text).make().fit(data).save(folder)
    with client_of(folder, str(tmp_path / "e.sqlite")) as client:
        add(client, *pairs, action="remove")
        assert client.post("/v1/refresh").status_code == 503
        assert load_model(folder).interactions.size == 3
        assert get(client, "/v1/users/bob")["total"] == 0
        add(client, ("cid", "jam"))
        assert post(client, "/v1/refresh", {})["changed"] == 4
        assert list(load_model(folder).interactions.users) == ["cid"]


@pytest.mark.usefixtures("refresher_here")
def test_a_refresh_may_give_every_interaction_another_time(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    data = Interactions.from_pairs(["ann", "bob"], ["tea", "jam"], [1, 2])
    parse_model("item-knn(recency=3)").make().fit(data).save(folder)
    with client_of(folder, str(tmp_path / "e.sqlite")) as client:
        for action in ("remove", "add"):
            add(client, ("ann", "tea"), ("bob", "jam"), action=action)
        assert post(client, "/v1/refresh", {})["changed"] == 2
        found = load_model(folder).interactions
        assert found.size == 2
        assert found.time is not None
        assert found.time.min() > 2


def test_a_model_knows_its_last_event_and_other_stores_apply_all(
    folder: Path, tmp_path: Path
) -> None:
    from boolrank.service.events import check_store
    from boolrank.service.history import refresh

    first, other = (check_store(str(tmp_path / name)) for name in ("a.sqlite", "b.sqlite"))
    first.add([(f"x{k}", "u1", f"new{k}", "add", 5.0) for k in range(3)])
    assert refresh(folder, first)["changed"] == 3
    assert first.contained([3, "x2"]) == 3
    assert refresh(folder, first)["changed"] == 0
    # Numbers of another store, or of a backup, stand for other events.
    other.add([(f"y{k}", "u2", f"new{k}", "add", 5.0) for k in range(4)])
    assert other.contained([3, "x2"]) == other.contained(None) == other.contained([9, "y9"]) == 0
    assert refresh(folder, other)["changed"] == 4


@pytest.mark.usefixtures("refresher_here")
@pytest.mark.parametrize("way", ["command", "library"])
def test_an_update_of_a_served_folder_is_not_undone_by_events_before_it(
    way: str, run: Any, folder: Path, tmp_path: Path
) -> None:
    first, second = ("u1", "new1"), ("u1", "new2")

    def update(action: str, user: str, item: str) -> None:
        pair = Interactions.from_pairs([user], [item])
        if way == "library":
            load_model(folder).update(**{action: pair}).save(folder)
            return
        pair.to_frame().write_csv(tmp_path / "pair.csv")
        option = ["--remove"] if action == "removed" else []
        code, _, err = run("update", folder, *option, tmp_path / "pair.csv")
        assert code == 0, err

    with client_of(folder, str(tmp_path / "e.sqlite")) as client:
        add(client, first, second)
        add(client, second, action="remove")
        post(client, "/v1/refresh", {})
        update("removed", *first)
        update("added", *second)
        add(client, ("u1", "new3"))  # an event after the update counts
        assert post(client, "/v1/refresh", {})["changed"] == 1
        data = load_model(folder).interactions
        assert [item in data.items for item in ("new1", "new2", "new3")] == [False, True, True]
        load_model(folder).fit(DATA).save(folder)
        assert post(client, "/v1/refresh", {})["changed"] == 2, "a new fit gets all events"


@pytest.mark.usefixtures("refresher_here")
def test_a_link_that_is_switched_to_another_model_is_followed(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    from boolrank.service import ServiceOptions
    from boolrank.service.command import open_service

    for number, text in enumerate((MODELS[0], MODELS[4])):
        shutil.copytree(saved[text], tmp_path / f"release{number}")
    link = tmp_path / "current"
    link.symlink_to("release0")
    _, workers = open_service(link, ServiceOptions(port=0))
    workers.made.close()
    place = Path(f"{link}-events.sqlite")
    assert place.exists(), "it stays after a switch"
    with client_of(link, str(place)) as client:
        assert get(client, "/v1/model")["name"] == "kernel-ranker"
        add(client, ("u1", "a new item"))
        (tmp_path / "next").symlink_to("release1")
        (tmp_path / "next").replace(link)
        wait_for(lambda: get(client, "/v1/model")["name"] == "popularity")
        before = load_model(tmp_path / "release0").interactions.size
        assert post(client, "/v1/refresh", {})["changed"] == 1
        assert load_model(tmp_path / "release1").interactions.size == before + 1
        assert load_model(tmp_path / "release0").interactions.size == before


@pytest.mark.parametrize("gone", ["file", "log"])
def test_events_are_never_acknowledged_by_a_deleted_file(
    gone: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service import events as module

    place = tmp_path / "events.sqlite"
    victim = place if gone == "file" else tmp_path / "events.sqlite-wal"
    with client_of(folder, str(place)) as client:
        event = {"events": [{"id": "x1", "user": "u1", "item": "p20"}]}
        post(client, "/v1/events", {"events": [{"user": "u2", "item": "p20"}]})
        victim.rename(tmp_path / "aside")
        answer = client.post("/v1/events", json=event)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        (tmp_path / "aside").rename(victim)
        last = module._last

        def lose(run: Any) -> Any:
            victim.rename(tmp_path / "aside")  # while the transaction runs
            monkeypatch.setattr(module, "_last", last)
            return last(run)

        monkeypatch.setattr(module, "_last", lose)
        assert client.post("/v1/events", json=event).status_code == 503
        (tmp_path / "aside").rename(victim)
        post(client, "/v1/events", event)
        assert get(client, "/v1/users/u1")["events"] == 1


def test_a_file_of_events_that_is_replaced_is_opened_anew(folder: Path, tmp_path: Path) -> None:
    from boolrank.service.events import check_store

    place = tmp_path / "events.sqlite"
    with client_of(folder, str(place)) as client:
        add(client, ("u1", "p20"))
        backup = check_store(str(tmp_path / "backup"))
        backup.add([("b1", "u2", "p21", "add", 5.0)])
        backup.close()
        for rest in tmp_path.glob("events.sqlite-*"):
            rest.unlink()
        (tmp_path / "backup").replace(place)
        wait_for(lambda: client.get("/v1/users/u2").status_code == 200)
        assert [get(client, f"/v1/users/{user}")["events"] for user in ("u1", "u2")] == [0, 1]


@pytest.mark.usefixtures("refresher_here")
def test_events_of_an_older_file_count_although_the_model_has_newer_ones(
    folder: Path, tmp_path: Path
) -> None:
    from boolrank.service.events import check_store

    place = tmp_path / "events.sqlite"
    with client_of(folder, str(place)) as client:
        add(client, ("u1", "p20"), ("u2", "p20"), ("u3", "p20"))
        post(client, "/v1/refresh", {})
        check_store(str(tmp_path / "backup")).close()
        for rest in tmp_path.glob("events.sqlite-*"):
            rest.unlink()
        (tmp_path / "backup").replace(place)
        event = {"events": [{"id": "x1", "user": "nora", "item": "p3"}]}
        wait_for(lambda: client.post("/v1/events", json=event).status_code == 200)
        wait_for(lambda: get(client, "/v1/users/nora")["events"] == 1)


def test_a_model_that_comes_while_the_store_is_away_is_taken_over_later(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "events.sqlite"
    with client_of(folder, str(place)) as client:
        add(client, ("u1", "p20"))
        files = list(tmp_path.glob("events.sqlite*"))
        for file in files:
            file.rename(tmp_path / f"aside-{file.name}")
        parse_model("popularity").make().fit(DATA).save(folder)
        wait_for(lambda: "the event store is unavailable" in caplog.text)
        for file in files:
            (tmp_path / f"aside-{file.name}").rename(file)
        wait_for(lambda: get(client, "/v1/model")["name"] == "popularity")


def test_reasons_take_one_problem_for_each_history(
    saved: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.models.simplex_scorer import SimplexScorer

    solve, solved = SimplexScorer.weights, list[int]()

    def weights(self: Any, rows: Any, *rest: Any) -> Any:
        solved.append(rows.n_rows)
        return solve(self, rows, *rest)

    monkeypatch.setattr(SimplexScorer, "weights", weights)
    with client_of(saved[MODELS[0]], str(tmp_path / "e.sqlite")) as client:
        get(client, "/v1/recommendations/u1", n=1, reasons=5)
        few = len(solved)
        get(client, "/v1/recommendations/u1", n=20, reasons=5)
        assert len(solved) == 2 * few


def test_batches_are_bounded(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from boolrank.service import answers

    path, query = "/v1/recommendations:batch", {"user": "u1", "n": 100, "reasons": 1}
    answer = client.post(path, json={"queries": [query] * 11})
    assert answer.status_code == 422
    assert "1,000 items" in answer.json()["detail"]
    assert client.post(path, json={"queries": [query] * 10}).status_code == 200
    own = get(client, "/v1/users/u1")["total"]
    monkeypatch.setattr(answers, "_MOST_WORK", own**2)
    query = {"user": "u1", "n": 2}
    assert client.post(path, json={"queries": [query]}).status_code == 200
    answer = client.post(path, json={"queries": [query, query]})
    assert answer.status_code == 422
    assert "too long for one batch" in answer.json()["detail"]
    assert f"{2 * own**2:,}" in answer.json()["hint"]


@pytest.mark.usefixtures("refresher_here")
def test_events_that_a_model_contains_are_not_counted_twice_after_a_crash(
    client: Any, folder: Path
) -> None:
    add(client, ("u1", "p20"), ("u2", "p21"))
    add(client, ("u1", "p20"), action="remove")
    done = post(client, "/v1/refresh", {})
    model = load_model(folder)
    model.restore(replace(model.fitted, last_event=None))
    model.save(folder)
    assert load_model(folder).fitted.last_event is None
    with client_of(folder, client.live.store.place) as other:
        for user in ("u1", "u2"):
            found = get(other, f"/v1/recommendations/{user}", n=5)
            assert pairs(found) == expected(model.recommend([user], 5))
        again = post(other, "/v1/refresh", {})
        assert (again["changed"], again["model"]) == (0, done["model"])
        assert get(other, "/v1/model")["model"] == done["model"]


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def test_a_replaced_folder_is_taken_over_and_a_damaged_one_refused(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "boolrank.service")
    with client_of(folder, str(tmp_path / "events.sqlite")) as client:
        first = get(client, "/v1/model")["model"]
        model = load_model(folder).update(Interactions.from_pairs(["u1"], ["p24"]))
        model.save(folder)
        wait_for(lambda: get(client, "/v1/model")["model"] != first)
        second = get(client, "/v1/model")["model"]
        model.update(Interactions.from_pairs(["u2"], ["p24"])).save(folder)
        header = (folder / "header.json").read_text(encoding="utf-8")
        wait_for(lambda: get(client, "/v1/model")["model"] != second)
        third = get(client, "/v1/model")
        (folder / "header.json").write_text(header.replace('"users": 40', '"users": 41'))
        wait_for(lambda: "refused" in caplog.text)
        time.sleep(1.2)
        assert caplog.text.count("is refused") == 1, "once"
        assert get(client, "/v1/model") == third
        assert get(client, "/v1/recommendations/u1")["model"] == third["model"]
        assert client.post("/v1/refresh", json={}).status_code in (200, 503)
        add(client, ("u5", "p24"))
        answer = client.post("/v1/refresh", json={})
        assert answer.status_code == 503, "a damaged folder cannot be refreshed"
        assert str(tmp_path) not in answer.text
        assert get(client, "/v1/recommendations/u1")["model"] == third["model"]


def test_health_answers_while_work_is_running_and_a_full_queue_is_refused(client: Any) -> None:
    going, done = threading.Event(), threading.Event()

    def slow(queries: list[Any]) -> list[Any]:
        going.set()
        done.wait(30)
        return [b"{}"] * len(queries)

    async def block() -> None:
        await client.live.pool.run(slow, None)

    client.live.pool.most_waiting = 1
    client.portal.start_task_soon(block)
    assert going.wait(10)
    waiting = client.portal.start_task_soon(block)
    wait_for(lambda: len(client.live.pool._waiting) == 1)
    try:
        answer = client.get("/v1/recommendations/u1")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
    finally:
        done.set()
    waiting.result(10)
    assert client.get("/v1/recommendations/u1").status_code == 200


def test_readiness_does_not_wait_for_writers(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "events.sqlite"
    with client_of(folder, str(place)) as client, ThreadPoolExecutor(1) as pool:
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        written = pool.submit(add, client, ("u1", "p20"))
        try:
            assert client.get("/readyz").status_code == 200
            assert not written.done()
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert written.result()["stored"] == 1


def test_without_its_store_the_service_answers_for_profiles_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boolrank.service.events import EventStore
    from boolrank.service.problems import StoreError

    def fail(*_: Any) -> Any:
        raise StoreError("gone", hint="wait")

    with client_of(folder, str(tmp_path / "e.sqlite")) as client:
        monkeypatch.setattr(EventStore, "of_users", fail)
        queries = [{"user": "u1"}, {"items": ["p1"]}]
        answers = [client.post("/v1/recommendations", json=each) for each in queries]
        assert [each.status_code for each in answers] == [503, 200], (
            "a list without events is wrong"
        )
        assert client.get("/v1/users/u1").status_code == 503
        monkeypatch.setattr(EventStore, "last", fail)
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_concurrent_requests_get_their_own_answers(client: Any, folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = load_model(folder)

    def ask(k: int) -> bool:
        user, n = f"u{k % 40}", 1 + k % 5
        return pairs(get(client, f"/v1/recommendations/{user}", n=n)) == expected(
            model.recommend([user], n)
        )

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(120)))
