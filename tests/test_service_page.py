"""The page of the service, in a browser."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boolrank import Interactions, KernelEase
from films import write_films

pytest.importorskip("fastapi", reason="the extra serve is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("there is no Chromium (apt install chromium)", allow_module_level=True)

expect = sync_api.expect
# Other tests may hold the processors for a while.
PATIENCE = 120_000
expect.set_options(timeout=PATIENCE)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
# An id and a title that would act if they became HTML.
EVIL_ID, EVIL_TITLE = "<b id=owned>x</b>", "<script>window.owned = 1</script>"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a model of made-up films."""
    folder = tmp_path_factory.mktemp("films")
    write_films(folder)
    with (folder / "items.csv").open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([EVIL_ID, EVIL_TITLE, "none"])
        csv.writer(file).writerow(["f0", "Zero Hour", "none"])  # an id in which others begin
    with (folder / "events.csv").open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["ada", EVIL_ID], ["ben", EVIL_ID], ["ben", "f0"]])
        # More items than reasons in an answer.
        csv.writer(file).writerows(["buff", f"f{number:02d}"] for number in range(1, 31))
    KernelEase(reg=3).fit(Interactions.from_files(folder / "events.csv")).save(folder / "model")
    command = [sys.executable, "-m", "boolrank", "serve", str(folder / "model"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--items", str(folder / "items.csv")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    ) as service:
        assert service.stderr is not None
        for line in service.stderr:
            if found := re.search(r"http://[\d.:]+", line):
                yield found[0]
                break
        service.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Open the page in a fresh context; fail on any error in it and on requests to elsewhere."""
    contexts, errors = [], []

    def visit(view: str = "", width: int = 1200, expecting: str = "", **options: Any) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: line.type == "error" and errors.append(line.text))
        page.on("request", lambda to: to.url.startswith(address) or errors.append(to.url))
        page.expecting = expecting
        page.goto(f"{address}/{view}")
        return page

    yield visit
    for context in contexts:
        expected = [page.expecting for page in context.pages if page.expecting]
        errors = [each for each in errors if not any(part in each for part in expected)]
        context.close()
    assert not errors


def _rows(page: Any) -> list[str]:
    expect(page.locator("#lists[aria-busy]")).to_have_count(0)
    expect(page.locator("#rows > li")).not_to_have_count(0)
    return [each.get_attribute("data-item") for each in page.locator("#rows > li").all()]


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def _add(page: Any, text: str, title: str) -> None:
    page.get_by_label("Add an item").fill(text)
    page.get_by_role("option", name=title).click()
    expect(page.get_by_role("button", name=f"Remove from the profile: {title}")).to_be_visible()


def test_the_first_screen_has_an_example_with_bars(visit: Any) -> None:
    page = visit()
    assert len(_rows(page)) == 10
    expect(page.locator("#profile .chip")).to_have_count(2)
    assert page.locator("#rows .part").count() >= 10
    assert page.locator("#starters .chip").count() >= 5
    expect(page.get_by_role("heading", name="For these 2 items")).to_be_visible()
    assert "item=" in page.url


def test_searching_by_title_adds_items(visit: Any) -> None:
    page = visit("#item=")
    expect(page.get_by_role("heading", name="The most popular items")).to_be_visible()
    _add(page, "quiet orb", "The Quiet Orbit")
    assert "f02" not in _rows(page)
    _add(page, "EUROPA", "Salt on Europa")
    listed = _rows(page)
    assert page.url.endswith("#item=f02&item=f03")
    # Both are about space, and so is most of the list.
    assert sum(item < "f09" for item in listed[:5]) >= 3
    expect(page.get_by_role("status")).to_contain_text("10 items")


def test_a_filter_changes_the_list_and_a_wrong_one_says_why(visit: Any) -> None:
    page = visit("#item=f02&item=f03", expecting="422")
    before = _rows(page)
    box = page.get_by_label("Only items where")
    expect(box).to_have_attribute("placeholder", "title = '…'")
    box.fill("title < 'M'")
    box.press("Enter")
    expect(page.locator("#rows > li").first).to_be_visible()
    page.wait_for_function(
        "[...document.querySelectorAll('#rows .title')].every((each) => each.innerText < 'M')"
    )
    assert "where=" in page.url
    titles = [each.inner_text() for each in page.locator("#rows .title").all()]
    assert titles
    assert all(title < "M" for title in titles)
    box.fill("colour = 'red'")
    box.press("Enter")
    expect(page.locator(".notice")).to_contain_text("has no column 'colour'")
    box.fill("")
    box.press("Enter")
    expect(page.locator(".notice")).to_have_count(0)
    assert _rows(page) == before


@pytest.mark.parametrize("user", ["ada", "buff"])
def test_reasons_on_the_page_add_up_to_the_scores(visit: Any, user: str) -> None:
    page = visit(f"#user={user}")
    listed = _rows(page)
    for row in page.locator("#rows > li").all():
        score = float(row.locator(".score").get_attribute("title"))
        parts = [float(p.get_attribute("data-adds")) for p in row.locator(".part").all()]
        assert len(parts) > 1
        assert sum(parts) == pytest.approx(score, abs=1e-9)
        widths = row.locator(".part").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().width)"
        )
        scale = sum(widths) / sum(map(abs, parts))
        assert widths == pytest.approx([scale * abs(part) for part in parts], abs=0.5)
    page.locator("#rows .title").first.click()
    table = page.locator(".detail table")
    expect(table).to_be_visible()
    shown = [_number(text) for text in table.locator("td:last-child").all_inner_texts()]
    assert sum(shown[:-1]) == pytest.approx(shown[-1], abs=5e-4)
    assert _number(page.locator("#rows .score").first.inner_text()) == shown[-1]
    answer = page.evaluate(
        "path => fetch(`v1/explanations/${path}`).then(r => r.json())", f"{user}/{listed[0]}"
    )
    assert shown[-1] == pytest.approx(answer["score"], abs=5e-5)


def test_users_are_suggested_and_unknown_ones_get_popular_items(visit: Any) -> None:
    page = visit("#item=")
    popular = _rows(page)
    field = page.get_by_label("look at a user")
    field.fill("gwe")
    page.get_by_role("option", name="gwen1 12 items").click()
    expect(page.get_by_role("heading", name="For gwen1")).to_be_visible()
    assert _rows(page) != popular
    field.fill("nobody at all")
    field.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Unknown user")
    assert _rows(page) == popular


def test_excluded_items_leave_the_list_and_come_back(visit: Any) -> None:
    page = visit("#item=f02&item=f03")
    before = _rows(page)
    page.locator("#rows .exclude").first.click()
    expect(page.locator("#excluded .chip")).to_have_count(1)
    after = _rows(page)
    assert before[0] not in after
    assert after[:9] == before[1:]
    # The focus is on the same control of the row in the same place.
    focused = page.evaluate("document.activeElement.dataset.key")
    assert focused == f"exclude:{after[0]}"
    page.locator("#excluded .chip").click()
    expect(page.locator("#excluded")).to_be_hidden()
    assert _rows(page) == before
    page.go_back()
    expect(page.locator("#excluded .chip")).to_have_count(1)
    assert before[0] not in _rows(page)


def test_an_item_shows_similar_ones_that_can_be_added(visit: Any) -> None:
    page = visit("#item=f02")
    listed = _rows(page)
    page.locator("#rows .title").nth(1).click()
    near = page.get_by_role("group", name="Similar to").locator(".chip")
    expect(near).to_have_count(6)
    answer = page.evaluate("i => fetch(`v1/similar/${i}?n=6`).then(r => r.json())", listed[1])
    shown = [each.get_attribute("data-key") for each in near.all()]
    assert shown == [f"near:{each['item']}" for each in answer["items"]]
    fresh = next(each for each in near.all() if each.get_attribute("data-key") != "near:f02")
    added = str(fresh.get_attribute("data-key")).removeprefix("near:")
    fresh.click()
    expect(page.locator("#profile .added")).to_have_count(2)
    assert added not in _rows(page)
    page.locator("#rows .add").first.click()
    expect(page.locator("#profile .added")).to_have_count(3)


def test_items_are_added_to_a_user_without_being_stored(visit: Any) -> None:
    page = visit("#user=ada")
    first = _rows(page)[0]
    page.locator("#rows .add").first.click()
    expect(page.get_by_role("heading", name="For ada with 1 item more")).to_be_visible()
    assert first not in _rows(page)
    stored = page.evaluate("fetch('v1/users/ada').then(r => r.json())")
    assert first not in [each["item"] for each in stored["items"]]


def test_a_link_shows_the_same_view(visit: Any) -> None:
    page = visit("#item=f02&item=f03&exclude=f0")
    expect(page.locator("#excluded .chip")).to_contain_text("Zero Hour")
    page.locator("#rows .exclude").nth(2).click()
    expect(page.locator("#excluded .chip")).to_have_count(2)
    page.locator("#rows .title").nth(1).click()
    page.get_by_label("show").select_option("5")
    listed = _rows(page)
    assert len(listed) == 5
    other = visit(page.url[page.url.index("#") :])
    assert _rows(other) == listed
    expect(other.locator(".detail")).to_be_visible()
    assert other.locator("#excluded").inner_text() == page.locator("#excluded").inner_text()


def test_the_list_stands_beside_the_popular_items(visit: Any) -> None:
    page = visit("#item=f02&item=f03")
    listed = _rows(page)
    answer = page.evaluate("fetch('v1/popular?n=10').then(r => r.json())")
    popular = [each["item"] for each in answer["items"]]
    rows = page.locator("#popular-rows > li")
    assert [each.get_attribute("data-item") for each in rows.all()] == popular
    both = len(set(popular) & set(listed))
    expect(page.locator("#overlap")).to_have_text(f"by users; {both} of 10 on both lists")
    assert page.locator("#popular").get_by_text("both lists", exact=True).count() == both
    page.locator("#popular .add").first.click()
    expect(page.locator("#profile .added")).to_have_count(3)


def test_the_page_fits_a_phone(visit: Any) -> None:
    for view in ("", "#item=", "#user=ada", "#user=nobody&exclude=f02"):
        page = visit(view, width=390, has_touch=True, is_mobile=True)
        _rows(page)
        page.locator("#rows .title").first.click()
        expect(page.locator(".detail .chip").first).to_be_visible()
        for summary in page.locator("summary:visible").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        # One thing below the other.
        for kind in (".finder", "#lists > section:visible"):
            tops = page.locator(kind).evaluate_all("all => all.map(e => e.offsetTop)")
            assert len(set(tops)) == len(tops)
        page.get_by_label("Add an item").fill("the")
        expect(page.locator("[role=option]")).to_have_count(8)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        # Fingers need 24 pixels at least.
        small = page.locator("button:visible").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect()).filter(r => r.height < 24).length"
        )
        assert small == 0


# The contrast of every visible text with its background, as WCAG 2 computes it.
CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const rgb = channels(getComputedStyle(at).backgroundColor);
      if (rgb.length < 4 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!(text || e.placeholder) || !e.checkVisibility()) continue;
    const kind = text ? null : "::placeholder";
    const [a, b] = [light(channels(getComputedStyle(e, kind).color)), light(behind(e))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 120)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_in_light_and_dark_mode(visit: Any, scheme: str) -> None:
    page = visit("#user=ada&exclude=f02&item=f99&item=f03", color_scheme=scheme)
    _rows(page)
    page.locator("#rows .title").first.click()
    expect(page.locator(".detail .chip").first).to_be_visible()
    for summary in page.locator("summary:visible").all():
        summary.click()
    page.get_by_label("look at a user").fill("g")
    expect(page.locator("[role=option]").first).to_be_visible()
    found = page.evaluate(CONTRAST)
    assert len(found) > 80
    assert found[0][0] >= 4.5, found[:3]
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", back))) < 60) == (scheme == "dark")


def test_everything_can_be_done_with_the_keyboard(visit: Any) -> None:
    page = visit("#item=f02")
    _rows(page)

    def go_to(key: str) -> None:
        """Press the tabulator until a control has the focus, which is visible."""
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.dataset.key ?? ''").startswith(key):
                outline = "getComputedStyle(document.activeElement).outlineStyle"
                assert page.evaluate(outline) == "solid"
                return
        pytest.fail(f"the tabulator does not reach {key}")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the list")).to_be_focused()
    page.keyboard.press("Tab")
    field = page.get_by_role("combobox", name="Add an item")
    expect(field).to_be_focused()
    page.keyboard.type("herons")
    option = page.get_by_role("option", name="The Patience of Herons")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id"))
    page.keyboard.press("Escape")
    expect(option).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(option).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#profile .added")).to_have_count(2)
    expect(field).to_be_focused()
    go_to("added:f25")
    page.keyboard.press("Enter")
    expect(page.locator("#profile .added")).to_have_count(1)
    go_to("title:")
    page.keyboard.press("Enter")
    expect(page.locator(".detail")).to_be_visible()
    go_to("near:")
    go_to("exclude:")
    page.keyboard.press("Space")
    expect(page.locator("#excluded .chip")).to_have_count(1)
    names = page.locator("button:visible, input:visible, select:visible").evaluate_all(
        "all => all.map(e => e.ariaLabel ?? e.labels?.[0]?.textContent ?? e.textContent)"
    )
    assert all(name.strip() for name in names)


def test_arrows_go_around_and_enter_does_not_wait_for_suggestions(visit: Any) -> None:
    page = visit("#item=")
    _rows(page)
    field = page.get_by_label("Add an item")
    field.fill("the")
    options = page.locator("[role=option]")
    expect(options).to_have_count(8)
    field.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    field.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    field.fill("swifts")
    field.press("Enter")
    expect(page.locator("#profile .added")).to_have_text(re.compile("Where the Swifts Sleep"))


def test_ids_and_titles_are_shown_as_text(visit: Any) -> None:
    page = visit("#item=f02")
    page.get_by_label("Add an item").fill("<script>")
    page.get_by_role("option", name=EVIL_TITLE).click()
    expect(page.locator("#profile")).to_contain_text(EVIL_TITLE)
    _rows(page)
    page.get_by_label("look at a user").fill(EVIL_ID)
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text(EVIL_ID)
    other = visit(f"#item={EVIL_ID}&exclude=f03&open=f01&user=<script>window.owned=1</script>")
    expect(other.locator(".notice").first).to_contain_text("<script>window.owned=1</script>")
    for each in (page, other):
        assert each.evaluate("window.owned") is None
        assert each.locator("#owned").count() == 0


def test_problems_are_shown_with_their_hint(visit: Any) -> None:
    page = visit("#item=f02", expecting="503")
    _rows(page)
    problem = {"title": "Overload", "status": 503, "detail": "too many <b>requests</b>"}
    problem["hint"] = "try again in a second"
    page.route(
        "**/v1/recommendations",
        lambda route: route.fulfill(
            status=503, content_type="application/problem+json", body=json.dumps(problem)
        ),
    )
    page.locator("#rows .add").first.click()
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("too many <b>requests</b>")
    expect(notice).to_contain_text("try again in a second")
    page.unroute("**/v1/recommendations")
    page.get_by_role("button", name="try again").click()
    expect(notice).to_have_count(0)
    expect(page.locator("#profile .added")).to_have_count(2)


def test_a_key_is_asked_for_if_the_service_needs_one(visit: Any) -> None:
    page = visit("#item=", expecting="401")
    seen = []

    def answer(route: Any) -> None:
        given = route.request.headers.get("authorization")
        seen.append(given)
        if given == "Bearer open sesame":
            route.fallback()
        else:
            why = "the key is unknown" if given else "a key is required"
            body = json.dumps({"detail": why, "hint": "send one"})
            route.fulfill(status=401, content_type="application/problem+json", body=body)

    page.route(re.compile("/v1/|/metrics"), answer)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("a key is required")
    expect(page.locator("#pulse")).to_have_text(re.compile("no figures"))
    page.get_by_label("API key").fill("sesame")
    page.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("alert")).to_contain_text("the key is unknown")
    page.get_by_label("API key").fill("open sesame")
    page.get_by_role("button", name="Use this key").click()
    assert len(_rows(page)) == 10
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#pulse")).to_contain_text("requests/s")
    page.reload()
    assert len(_rows(page)) == 10
    assert seen[0] is None


def test_the_page_tells_about_the_model_and_its_requests(visit: Any) -> None:
    page = visit("#item=f02")
    _rows(page)
    facts = page.locator("#facts")
    for text in ("kernel-ease", "301", "42", "reg=3"):
        expect(facts).to_contain_text(text)
    model = page.evaluate("fetch('v1/model').then(r => r.json())")
    expect(page.locator("#hash")).to_contain_text(model["model"][:12])
    expect(page.locator("#choice")).to_be_hidden()
    expect(page.locator("#pulse")).to_contain_text(re.compile(r"requests/s.*[1-9]\d* in all"))


def test_the_page_follows_events_and_refreshes(visit: Any) -> None:
    page = visit("#user=uma14")
    first = _rows(page)[0]
    before = page.locator("#hash").inner_text()
    send = """([path, body]) => fetch(`v1/${path}`, {
        method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
    }).then((answer) => answer.json())"""
    stored = page.evaluate(send, ["events", {"events": [{"user": "uma14", "item": first}]}])
    assert stored["stored"] == 1
    page.locator("#n").select_option("20")
    expect(page.locator("#rows > li")).not_to_have_count(10)
    assert first not in _rows(page)
    expect(page.locator("#hash")).to_have_text(before)
    page.evaluate(send, ["refresh", {}])
    page.locator("#n").select_option("10")
    expect(page.locator("#hash")).not_to_have_text(before)


def test_the_page_is_its_own_and_runs_nothing_else(address: str, visit: Any) -> None:
    page = visit()
    _rows(page)
    response = page.request.get(address)
    policy = response.headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy
    assert "http" not in policy
    folder = Path(__file__).parent.parent / "src" / "boolrank" / "service" / "page"
    if folder.is_dir():
        text = "\n".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"(?:src|href|url|from)\W{1,3}https?:", text)
