"""Bad input gets an error with a hint, keys are enforced, and nothing leaks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boolrank.errors import InputError, ParameterError
from boolrank.models.spec import parse_model
from services import client_of, some_data

pytest.importorskip("fastapi", reason="the extra serve is missing")

READ, WRITE = "read-" + "r" * 20, "write-" + "w" * 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service") / "model"
    parse_model("kernel-ranker(kernel=linear)").make().fit(some_data()).save(folder)
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    with client_of(folder, str(folder.parent / "events.sqlite")) as made:
        yield made


@pytest.fixture(scope="module")
def keyed(folder: Path) -> Iterator[Any]:
    from boolrank.service.access import Keys

    file = folder.parent / "keys"
    file.write_text(f"read {READ}\nwrite {WRITE}\n")
    with client_of(folder, str(folder.parent / "keyed.sqlite"), keys=Keys(file)) as made:
        yield made


def check_problem(answer: Any, *statuses: int) -> dict[str, Any]:
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["title"]
    assert problem["detail"]
    assert problem["hint"]
    for secret in ("Traceback", "site-packages", "/src/", "sqlite", ".py", "pydantic", "uvicorn"):
        assert secret not in answer.text
    return problem


RECOMMEND, EVENTS = "/v1/recommendations", "/v1/events"
EVENT = {"user": "u1", "item": "p1"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (RECOMMEND, b"", 400),
        (RECOMMEND, b"{", 400),
        (RECOMMEND, b"\xff\xfe", 400),
        (RECOMMEND, b"[" * 100_000, 400),
        (RECOMMEND, b'{"items": ["p1"], "n": ' + b"9" * 5000 + b"}", 400),
        (RECOMMEND, b"null", 422),
        (RECOMMEND, b"[]", 422),
        (RECOMMEND, b'"items"', 422),
        (RECOMMEND, {}, 422),
        (RECOMMEND, {"user": "u1", "items": ["p1"]}, 422),
        (RECOMMEND, {"items": "p1"}, 422),
        (RECOMMEND, {"items": [["p1"]]}, 422),
        (RECOMMEND, {"items": [None]}, 422),
        (RECOMMEND, {"items": [True]}, 422),
        (RECOMMEND, {"items": [1.5]}, 422),
        (RECOMMEND, {"items": [1 << 80]}, 422),
        (RECOMMEND, {"items": [""]}, 422),
        (RECOMMEND, {"items": [" "]}, 422),
        (RECOMMEND, {"items": ["p" * 1000]}, 422),
        (RECOMMEND, {"items": ["p\x00"]}, 422),
        (RECOMMEND, b'{"items": ["\\ud800"]}', 400),
        (RECOMMEND, {"items": ["p1"] * 10_001}, 422),
        (RECOMMEND, {"items": ["p1"], "n": 0}, 422),
        (RECOMMEND, {"items": ["p1"], "n": -1}, 422),
        (RECOMMEND, {"items": ["p1"], "n": 1001}, 422),
        (RECOMMEND, {"items": ["p1"], "n": "5"}, 422),
        (RECOMMEND, {"items": ["p1"], "n": 1.5}, 422),
        (RECOMMEND, b'{"items": ["p1"], "n": NaN}', 422),
        (RECOMMEND, {"items": ["p1"], "reasons": 21}, 422),
        (RECOMMEND, {"items": ["p1"], "exclude": "p1"}, 422),
        (RECOMMEND, {"items": ["p1"], "exclude_seen": 1}, 422),
        (RECOMMEND, {"items": ["p1"], "number": 5}, 422),
        (RECOMMEND + ":batch", {"queries": []}, 422),
        (RECOMMEND + ":batch", {"queries": [{"user": "u1"}] * 101}, 422),
        (RECOMMEND + ":batch", {"queries": [{"user": "u1", "n": 101}]}, 422),
        (RECOMMEND + ":batch", {"queries": [{"user": "u1"}, {}]}, 422),
        (EVENTS, {"events": []}, 422),
        (EVENTS, {"events": [EVENT] * 10_001}, 422),
        (EVENTS, {"events": [{"user": "u1"}]}, 422),
        (EVENTS, {"events": [EVENT | {"action": "buy"}]}, 422),
        (EVENTS, {"events": [EVENT | {"id": 7}]}, 422),
        (EVENTS, {"events": [EVENT | {"id": ""}]}, 422),
        (EVENTS, {"events": [EVENT | {"time": "now"}]}, 422),
        (EVENTS, {"events": [EVENT | {"time": -1}]}, 422),
        (EVENTS, {"events": [EVENT | {"price": 1}]}, 422),
        (EVENTS, b'{"events": [{"user": "u1", "item": "p1", "time": 1e999}]}', 422),
    ],
    ids=lambda value: str(value)[:50] if not isinstance(value, int) else "",
)
def test_a_bad_body_is_refused_with_a_hint(client: Any, path: str, body: Any, status: int) -> None:
    before = client.get("/v1/model").json()["events"]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    check_problem(answer, status)
    assert client.get("/v1/model").json()["events"] == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/recommendations/u1?n=0", 422),
        ("/v1/recommendations/u1?n=x", 422),
        ("/v1/recommendations/u1?n=1_0", 422),
        ("/v1/recommendations/u1?n=%2B5", 422),
        ("/v1/recommendations/u1?n=%205", 422),
        ("/v1/recommendations/u1?n=5.0", 422),
        ("/v1/recommendations/u1?n=%D9%A5", 422),
        ("/v1/recommendations/u1?reasons=0_1", 422),
        ("/v1/recommendations/u1?reasons=21", 422),
        ("/v1/recommendations/u1?exclude=p1", 422),
        ("/v1/recommendations/%20", 422),
        ("/v1/popular?candidates=p1", 422),
        ("/v1/model?n=1", 422),
        ("/v1/recommendations/" + "u" * 5000, 422),
        ("/v1/recommendations/u%00", 422),
        ("/v1/similar/nothing", 404),
        ("/v1/similar/%ff%fe", 404),
        ("/v1/explanations/u1/nothing", 404),
        ("/v1/explanations/nobody/p1", 404),
        ("/v1/items?q=" + "x" * 1000, 422),
        ("/v1/items?n=9999", 422),
        ("/v1/nothing", 404),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/", 404),
        ("/v1/events", 405),
        ("/%00", 404),
    ],
)
def test_a_bad_path_is_refused_with_a_hint(client: Any, path: str, status: int) -> None:
    check_problem(client.get(path), status)


def test_an_unknown_parameter_is_named_as_an_unknown_field_is(keyed: Any, client: Any) -> None:
    found = client.get(f"{RECOMMEND}/u1?exlude=p1&n=3&a-b=1").json()
    of_body = client.post(RECOMMEND, json={"user": "u1", "exlude": ["p1"]}).json()
    assert found["detail"] == "exlude: this name is unknown; there are n, reasons, where"
    assert of_body["detail"] == "exlude: this name is unknown; did you mean 'exclude'?"
    assert [each["field"] for each in found["errors"]] == ["exlude", "query"]
    only = client.get("/v1/popular?q=1").json()
    assert only["detail"] == "q: this name is unknown; there is only n"
    assert client.get("/?utm_source=mail").status_code == 200
    assert keyed.get(f"{RECOMMEND}/u1?exlude=p1").status_code == 401, "the key comes first"


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (RECOMMEND, {"user": " "}, "user: this is blank, or has a NUL"),
        (RECOMMEND, {"user": "x" * 300}, "user: there must be at most 256 characters"),
        (RECOMMEND, {"per": {}}, "body: give either user or items"),
        (EVENTS, {"events": []}, "events: there must be at least 1"),
        (EVENTS, {}, "events: this field is missing"),
        (EVENTS, {"events": [{"user": "a"}]}, "events.0.item: this field is missing"),
        (
            EVENTS,
            {"events": [{**EVENT, "tme": 5}]},
            "events.0.tme: this name is unknown; did you mean 'time'?",
        ),
        (
            f"{RECOMMEND}:batch",
            {"queries": [{"user": "u1", "itemz": []}]},
            "queries.0.itemz: this name is unknown; did you mean 'items'?",
        ),
        (RECOMMEND, {"user": "u1", "n": "5"}, "n: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_the_service(
    client: Any, path: str, body: Any, detail: str
) -> None:
    assert client.post(path, json=body).json()["detail"] == detail


def test_too_large_bodies_and_other_kinds_are_refused(client: Any) -> None:
    large = b" " * (9 << 20)
    check_problem(client.post(EVENTS, content=large, headers=JSON), 413)
    parts = (b" " * (1 << 20) for _ in range(9))
    check_problem(client.post(EVENTS, content=parts, headers=JSON), 413)
    check_problem(client.post(EVENTS, content=b"{}", headers=JSON | {"content-length": "x"}), 413)
    check_problem(client.post(RECOMMEND, data={"items": "p1"}), 415)
    check_problem(client.post(RECOMMEND, content=b"{}"), 415)


JSON = {"content-type": "application/json"}


def test_pages_of_other_sites_cannot_write(client: Any) -> None:
    headers = JSON | {"sec-fetch-site": "cross-site", "origin": "https://example.org"}
    check_problem(client.post("/v1/refresh", content=b"", headers=headers), 403)
    answer = client.options(EVENTS, headers=headers | {"access-control-request-method": "POST"})
    assert answer.status_code == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_local_service_answers_only_under_names_of_its_machine(folder: Path) -> None:
    with client_of(folder, str(folder.parent / "local.sqlite"), local=True) as client:
        for host in ("localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"):
            assert client.get("/v1/model", headers={"host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8000", ""):
            check_problem(client.get("/v1/model", headers={"host": host}), 403)


def test_bodies_of_all_requests_together_are_limited(client: Any) -> None:
    from boolrank.service import access

    guard = client.app
    assert guard._held == 0
    guard._held = access._MOST_HELD
    try:
        answer = client.post(RECOMMEND, json={"items": ["p1"]})
        check_problem(answer, 503)
        assert answer.headers["retry-after"]
    finally:
        guard._held -= access._MOST_HELD
    assert client.post(RECOMMEND, json={"items": ["p1"]}).status_code == 200
    assert guard._held == 0


@pytest.mark.parametrize("path", ["/", "/docs", "/healthz", "/v1/model", "/nothing", "/metrics"])
def test_every_answer_has_security_headers(client: Any, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


def test_the_reference_needs_no_network_and_no_script(client: Any) -> None:
    page = client.get("/docs").text
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page
    assert "style=" not in page
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        assert path in page
        for name, operation in methods.items():
            assert operation["description"]
            if name == "post" and "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                named = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
                assert named["examples"]


def test_examples_of_the_document_are_accepted(client: Any) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    paths = {"Query": RECOMMEND, "Batch": RECOMMEND + ":batch", "Events": EVENTS}
    for name, path in paths.items():
        for example in schemas[name]["examples"]:
            assert client.post(path, json=example).status_code == 200


def test_keys_are_enforced_by_role(keyed: Any) -> None:
    read, write = ({"authorization": f"Bearer {key}"} for key in (READ, WRITE))
    for path in ("/v1/model", "/v1/recommendations/u1", "/metrics"):
        answer = keyed.get(path)
        check_problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/", "/docs", "/healthz", "/readyz", "/openapi.json"):
        assert keyed.get(path).status_code == 200
    assert keyed.get("/v1/model", headers=read).json()["keys"] is True
    assert keyed.get("/v1/model", headers={"x-api-key": WRITE}).status_code == 200
    body = {"events": [EVENT]}
    check_problem(keyed.post(EVENTS, json=body), 401)
    check_problem(keyed.post(EVENTS, json=body, headers=read), 403)
    assert keyed.post(EVENTS, json=body, headers=write).status_code == 200
    assert keyed.post(RECOMMEND, json={"user": "u1"}, headers=read).status_code == 200
    for bad in (READ[:-1], READ + "x", "", "é", "x" * 10_000, "Bearer"):
        headers = {"authorization": f"Bearer {bad}".encode()}
        known = check_problem(keyed.get("/v1/model", headers=headers), 401)["detail"]
        assert known == ("the key is unknown" if bad else "a key is required")
    for path in ("/v1%2Fevents", "//v1/events", "/v1/events/", "/V1/events", "/static/../v1/model"):
        assert keyed.post(path, json=body).status_code in (401, 404)
    for path in ("/v1/events%0A", "/v1/refresh%0A"):
        check_problem(keyed.post(path, json=body, headers=read), 403)
    check_problem(keyed.get("/v1/nothing"), 404)


def test_every_route_declares_who_may_call_it(keyed: Any) -> None:
    read = {"authorization": f"Bearer {READ}"}
    writes = set()
    for path, methods in keyed.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            role = operation.get("x-role", "read" if method == "get" else "write")
            url = path.replace("{user}", "u1").replace("{item}", "p1")
            answer = keyed.request(method, url)
            assert (answer.status_code == 401) == (role != "none"), path
            if role == "write":
                check_problem(keyed.request(method, url, headers=read), 403)
                writes.add(path)
    assert writes == {"/v1/events", "/v1/refresh"}


def test_head_answers_as_get_without_a_body(client: Any) -> None:
    for path in ("/healthz", "/v1/model", "/", "/docs", "/metrics", "/static/style.css"):
        answer, whole = client.head(path), client.get(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"] == whole.headers["content-type"]
    check_problem(client.get(EVENTS), 405)
    assert client.head(EVENTS).status_code == 405


def test_large_bodies_are_validated_in_a_thread(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from boolrank.service.schemas import Query

    validate, threads = Query.model_validate_json, []

    def spy(body: bytes) -> Any:
        threads.append(threading.get_ident())
        return validate(body)

    monkeypatch.setattr(Query, "model_validate_json", spy)
    for count in (1, 9_999):
        answer = client.post(RECOMMEND, json={"items": [f"item {k}" for k in range(count)]})
        assert answer.status_code == 200
    loop = client.portal.call(threading.get_ident)
    assert [each == loop for each in threads] == [True, False]


def test_keys_are_read_again_and_stay_if_they_cannot(folder: Path, tmp_path: Path) -> None:
    from boolrank.service.access import Keys

    file = tmp_path / "keys"
    file.write_text(f"read {READ}\n")
    options: dict[str, Any] = {"keys": Keys(file)}
    with client_of(folder, str(tmp_path / "e.sqlite"), **options) as client:

        def statuses() -> list[int]:
            client.portal.call(client.live.hang_up)
            headers = ({"authorization": f"Bearer {key}"} for key in (READ, WRITE))
            return [client.get("/v1/model", headers=each).status_code for each in headers]

        assert statuses() == [200, 401]
        file.write_text(f"read {WRITE}\n")
        assert statuses() == [401, 200]
        file.write_text("nonsense")
        assert statuses() == [401, 200]
        file.unlink()
        assert statuses() == [401, 200]


def test_errors_that_repeat_are_logged_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    from boolrank.service.command import Repeats

    repeats, now = Repeats(), [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def is_logged(text: str, level: int = logging.ERROR, *about: Any) -> bool:
        return repeats.filter(logging.LogRecord("x", level, "", 0, text, about, None))

    assert is_logged("the disk %s is full", logging.ERROR, 1)
    assert not is_logged("the disk %s is full", logging.ERROR, 2)
    assert is_logged("something else")
    assert all(is_logged("news", logging.INFO) for _ in range(3))
    now[0] = 61.0
    assert is_logged("the disk %s is full", logging.ERROR, 3)


def test_a_body_with_many_errors_is_answered_at_once(client: Any) -> None:
    wide = {"user": "u1"} | {f"x{k}": 1 for k in range(50_000)}
    assert "50000 fields" in check_problem(client.post(RECOMMEND, json=wide), 422)["detail"]
    long = {"events": [{"wrong": k} for k in range(10_000)]}
    assert len(check_problem(client.post(EVENTS, json=long), 422)["errors"]) < 5


def test_two_events_with_one_id_are_refused_together(client: Any) -> None:
    events = [{"id": "same", "user": "u1", "item": item} for item in ("p1", "p2")]
    check_problem(client.post(EVENTS, json={"events": events}), 409)
    assert client.post(EVENTS, json={"events": events[:1]}).json()["stored"] == 1


def test_the_metric_of_events_follows_a_write(client: Any) -> None:
    last = client.post(EVENTS, json={"events": [EVENT]}).json()["sequence"]
    assert f"boolrank_event_sequence {float(last)}" in client.get("/metrics").text


def test_key_files_are_read_and_checked(tmp_path: Path) -> None:
    from boolrank.service.access import Keys, check_exposure

    file = tmp_path / "keys"
    file.write_text(f"# ours\nread {READ}\n\nwrite {WRITE}\n", encoding="utf-8")
    keys = Keys(file)
    assert keys.roles(READ.encode()) == {"read"}
    assert keys.roles(WRITE.encode()) == {"read", "write"}
    assert keys.roles(b"") == set()
    for text in ("", "admin " + READ, "read", "read short", READ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            Keys(file)
        assert READ not in str(caught.value)
    with pytest.raises(InputError):
        Keys(tmp_path / "missing")
    for host in ("127.0.0.1", "::1", "localhost"):
        check_exposure(host, None, no_auth=False)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):  # noqa: S104 - it is refused
        with pytest.raises(ParameterError, match="no keys"):
            check_exposure(host, None, no_auth=False)
        check_exposure(host, None, no_auth=True)
        check_exposure(host, keys, no_auth=False)


def test_an_event_that_cannot_be_stored_is_not_acknowledged(client: Any) -> None:
    path = client.live.store.place
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")  # as long as another program holds the file
        before = client.live.store._database.wait
        client.live.store._database.wait = 0.1
        client.live.store.close()  # the next connection has the shorter time
        try:
            answer = client.post(EVENTS, json={"events": [EVENT | {"id": "late"}]})
            check_problem(answer, 503)
            assert answer.headers["retry-after"]
        finally:
            other.execute("ROLLBACK")
            client.live.store._database.wait = before
    other.close()
    done = client.post(EVENTS, json={"events": [EVENT | {"id": "late"}]}).json()
    assert done["stored"] == 1, "the first attempt stored nothing"


def test_metrics_and_logs_have_no_text_of_clients(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mark = "evil\n\x1b[31m<script>"
    client.get("/v1/recommendations/evil%0A%1B%5B31m%3Cscript%3E")
    client.get("/evil%0A%1B%5B31m%3Cscript%3E", headers={"user-agent": "evil"})
    client.request("EVIL", "/v1/model")
    client.post(RECOMMEND, json={"user": mark, "n": 0})
    text = client.get("/metrics").text
    assert "evil" not in text.lower()
    assert "evil" not in caplog.text
    assert 'route="/v1/recommendations/{user}"' in text


def test_a_bug_is_logged_and_reveals_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from boolrank.service.catalogue import Catalogue

    def broken(*_: Any) -> Any:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(Catalogue, "history", broken)
    answer = client.get("/v1/users/u1")
    check_problem(answer, 500)
    assert "secret" not in answer.text
    assert "secret of the house" in caplog.text


def test_schemathesis_finds_no_failure(client: Any) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="comes with the dev extra")
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    def names_columns(case: Any) -> bool:
        body = case.body if isinstance(case.body, dict) else {}
        parts = [case.query or {}, body, *body.get("queries", [])]
        return any({"where", "per", "diversity"} & part.keys() for part in parts)

    document = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    some = settings(
        max_examples=8, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )
    for result in schema.get_all_operations():
        operation = result.ok()

        @some
        @given(case=operation.as_strategy())
        def run(case: Any) -> None:
            arguments = case.as_transport_kwargs(base_url="http://testserver")
            method, url = arguments.pop("method"), arguments.pop("url")
            arguments.pop("cookies", None)
            answer = client.request(method, url, **arguments)
            assert answer.status_code < 500, (method, url, answer.text)
            # The schema does not know the columns that filters may name.
            of_columns = [positive_data_acceptance] if names_columns(case) else []
            case.validate_response(answer, excluded_checks=of_columns)

        if operation.path != "/v1/refresh":
            run()
