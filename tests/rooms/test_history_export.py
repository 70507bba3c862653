"""History export: complete, equal to the page, and harmless in a spreadsheet."""

import asyncio
import csv
import io
import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from random import Random
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import export, writer
from rooms.management import demo
from rooms.models import Answer, HistoryEntry, Question, Room
from rooms.rendering import spreadsheets

CSV, JSON = ("ask_bridge:export-csv", "ask_bridge:export-json")


@pytest.fixture
def decide(room: Room, ana: Any) -> Callable[..., Question]:
    def decided(text: str, label: str = "Yes", place: Room | None = None, **choice: Any) -> Question:
        asked = parse_ask({"question": text, "options": ["Yes", "No"]})
        question, _ = lifecycle.ask(place or room, None, asked)
        choices = [{"question": text, "selectedOptions": [label] if label else [], **choice}]
        return lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)

    return decided


def seed(room: Room, entries: int) -> None:
    for _ in demo.fill(room, entries, 0, days=9, random=Random(1)):
        pass
    writer.catch_up(30)


def leave(response: Any) -> None:
    """Before the last byte, or the first: what the server calls then, without its end of a request."""
    for close in response._resource_closers:
        close()


def body_of(response: Any) -> bytes:
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def rows(browser: Client, **query: str) -> list[dict[str, str]]:
    text = body_of(browser.get(reverse(CSV, query=query))).decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def objects(browser: Client, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(body_of(browser.get(reverse(JSON, query=query))))
    return found


def test_a_line_has_what_was_decided(decide: Callable[..., Question], browser: Client) -> None:
    settled = decide("Delete it?", "", customInput="Only the “old” one", notes="See above")
    (row,) = rows(browser)
    assert row["id"] == settled.pk
    assert (row["room"], row["outcome"], row["via"]) == ("Operations", "answered", "web")
    assert (row["person"], row["question"], row["notes"]) == ("Ana Costa", "Delete it?", "See above")
    assert row["decision"] == "Only the “old” one"
    assert row["url"].endswith(reverse("ask_bridge:question", args=("ops", settled.pk)))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", row["settled_at_utc"])


def test_json_has_the_objects_that_agents_get(
    decide: Callable[..., Question], browser: Client, agent: Any
) -> None:
    settled = decide("Delete it?")
    assert objects(browser) == [agent.get(agent.question_url(settled.pk)).json()]


def test_nothing_is_an_empty_file(browser: Client, room: Room) -> None:
    assert rows(browser) == []
    assert objects(browser) == []


def test_files_say_what_they_are(browser: Client, room: Room) -> None:
    for name, content_type in ((CSV, "text/csv; charset=utf-8"), (JSON, "application/json")):
        response = browser.get(reverse(name))
        assert response["Content-Type"] == content_type
        name = response["Content-Disposition"]
        assert re.fullmatch(r'attachment; filename="ask-bridge-history-[\d-]+\.(csv|json)"', name)
        body_of(response)


def test_everything_is_there_once_over_many_batches(room: Room, browser: Client) -> None:
    seed(room, 1_300)
    newest_first = list(
        HistoryEntry.objects.order_by("-settled_at", "-id").values_list("question_id", flat=True)
    )
    assert len(newest_first) > 2 * export.BATCH
    assert [row["id"] for row in rows(browser)] == newest_first
    assert [question["id"] for question in objects(browser)] == newest_first


def test_filters_are_those_of_the_page(
    decide: Callable[..., Question], browser: Client, other_room: Room
) -> None:
    decide("Delete the database?")
    decide("Ship it?")
    decide("Foreign database?", place=other_room)
    writer.catch_up(5)
    assert [row["question"] for row in rows(browser, q="data")] == ["Delete the database?"]
    assert [row["question"] for row in rows(browser)] == ["Ship it?", "Delete the database?"]
    assert rows(browser, state="expired") == rows(browser, room="lab") == []


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@A1",
        "\t=1",
        "\r=1",
        " =1",
        '"=1',
        "'=1",
        "“=1",
        "\n=1",
        "＝1",
        "\tx",
        "  -x",
    ],
)
def test_what_a_spreadsheet_would_run_stays_text(text: str) -> None:
    assert spreadsheets.escaped(text) == f"'{text}"


@pytest.mark.parametrize("text", ["a=1", "1-2", "ana@example.org", "", "“quoted”", "x\n=1"])
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert spreadsheets.escaped(text) == text


def test_formulas_are_defused_in_the_file(decide: Callable[..., Question], browser: Client) -> None:
    decide("=HYPERLINK(A1)", "", customInput="@x", notes="+1")
    (row,) = rows(browser)
    assert (row["question"], row["decision"], row["notes"]) == ("'=HYPERLINK(A1)", "'@x", "'+1")


# ---- pace ------------------------------------------------------------------------------------------------


def test_a_batch_is_asked_for_only_when_the_last_one_is_sent(room: Room, browser: Client) -> None:
    seed(room, 1_300)
    response = browser.get(reverse(JSON))
    parts = iter(response.streaming_content)
    next(parts)
    with CaptureQueriesContext(connection) as queries:
        next(parts)
    assert len([query for query in queries if "cache" not in query["sql"]]) == 2
    leave(response)


def test_progress_is_told_to_who_started_it(room: Room, browser: Client, ben: Any) -> None:
    seed(room, 1_300)
    address = reverse("ask_bridge:export-progress", query={"run": "abc"})
    assert "Starting" in browser.get(address).content.decode()
    response = browser.get(reverse(CSV, query={"run": "abc"}))
    total = HistoryEntry.objects.count()
    assert f'<progress value="0" max="{total}">' in browser.get(address).content.decode()
    body_of(response)
    assert f"Done: {total} entries." in browser.get(address).content.decode()
    bens = Client()
    bens.force_login(ben)
    assert "Starting" in bens.get(address).content.decode()


def test_a_page_that_hears_of_no_progress_stops_asking(room: Room, browser: Client) -> None:
    address = reverse("ask_bridge:export-progress", query={"run": "abc", "tries": "5"})
    html = browser.get(address).content.decode()
    assert "hx-trigger" not in html


def test_a_third_export_at_once_is_asked_to_come_back(room: Room, browser: Client) -> None:
    running = [browser.get(reverse(CSV)) for _ in range(export.EXPORTS_AT_ONCE)]
    third = browser.get(reverse(CSV))
    assert third.status_code == 503
    assert third["Retry-After"]
    assert "Other exports are running" in third.content.decode()
    for response in running:
        leave(response)
    body_of(browser.get(reverse(CSV)))


def test_a_tab_that_is_closed_before_the_first_byte_gives_its_place_back(
    room: Room, browser: Client, settings: Any
) -> None:
    # Those of any portal, and nothing synchronous that Django's handler would wait for.
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ]
    for _ in range(export.EXPORTS_AT_ONCE):
        close_while_it_counts(browser, reverse(CSV))
    running = [browser.get(reverse(CSV)) for _ in range(export.EXPORTS_AT_ONCE)]
    assert [response.status_code for response in running] == [200] * export.EXPORTS_AT_ONCE
    for response in running:
        leave(response)


def test_a_place_is_given_back_once(room: Room, browser: Client) -> None:
    response = browser.get(reverse(CSV))
    for _ in range(2):
        leave(response)
    del response
    test_a_third_export_at_once_is_asked_to_come_back(room, browser)


def close_while_it_counts(browser: Client, path: str) -> None:
    """Django's own handler gives the request up then, while the view goes on in its thread."""
    closed: Future[None] = Future()
    is_given_up = threading.Event()
    requests = iter([{"type": "http.request"}])

    def close(execute: Any, sql: str, *args: Any) -> Any:
        if "COUNT" in sql and not closed.done():
            closed.set_result(None)
            assert is_given_up.wait(10)
        return execute(sql, *args)

    async def receive() -> dict[str, str]:
        if request := next(requests, None):
            return request
        await asyncio.wrap_future(closed)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        raise AssertionError(f"no client is left for {message}")

    async def give_up(**kwargs: object) -> None:
        is_given_up.set()

    cookie = browser.cookies.output(attrs=[], header="", sep=";").strip().encode()
    headers = [(b"host", b"testserver"), (b"cookie", cookie)]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    request_finished.connect(give_up)
    # As Django's test client does: it would close the connection that has the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        with connection.execute_wrapper(close):
            async_to_sync(ASGIHandler())(scope, receive, send)
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)
        request_finished.disconnect(give_up)
    assert closed.done()


def test_under_asgi_it_goes_out_part_by_part(room: Room, ana: Any) -> None:
    seed(room, 1_300)
    client = AsyncClient()
    client.force_login(ana)

    async def download() -> list[bytes]:
        response = await client.get(reverse(JSON))
        return [part async for part in response]

    parts = async_to_sync(download)()
    assert len(parts) > 3
    assert len(json.loads(b"".join(parts))) == HistoryEntry.objects.count()


# ---- the pages -------------------------------------------------------------------------------------------


def test_the_page_says_how_many_there_are(decide: Callable[..., Question], browser: Client) -> None:
    decide("Ship it?")
    html = browser.get(reverse("ask_bridge:history")).content.decode()
    assert f'href="{reverse("ask_bridge:export")}?"' in html
    page = browser.get(reverse("ask_bridge:export", query={"q": "ship"})).content.decode()
    assert "1 decision<" in page
    assert f'action="{reverse(CSV)}"' in page
    assert '<input type="hidden" name="q" value="ship">' in page


def test_history_shows_what_was_found_and_leads_to_it(
    decide: Callable[..., Question], browser: Client
) -> None:
    settled = decide("Delete the <b>database</b>?", "No", notes="because of the auditors")
    html = browser.get(reverse("ask_bridge:history", query={"q": "data"})).content.decode()
    assert "<mark>database</mark>" in html
    assert "<b>" not in html
    assert reverse("ask_bridge:question", args=("ops", settled.pk)) in html
    assert "Answered by you" in html
    assert "1 decision" in html
    assert "because of the <mark>auditors</mark>" in browser.get("/history?q=audit").content.decode()


def test_history_says_what_to_do_when_there_is_nothing(browser: Client, room: Room) -> None:
    assert "Nothing decided yet" in browser.get("/history").content.decode()
    assert "Nothing found" in browser.get("/history?q=x").content.decode()


def test_older_decisions_load_into_the_page(room: Room, browser: Client) -> None:
    seed(room, 300)
    html = browser.get("/history").content.decode()
    (more,) = re.findall(r'hx-get="(/history\?before=\d+)"', html)
    rest = browser.get(more, headers={"HX-Request": "true"}).content.decode()
    assert rest.count('class="ab-result ') == 30
    links = re.compile(r"/rooms/ops/questions/\w+")
    assert not set(links.findall(html)) & set(links.findall(rest))
    assert "<html" not in rest
    assert "Back to the newest" in browser.get(more).content.decode()


@pytest.mark.parametrize("tries", ["x", "-1", "9" * 5_000, "²", "\x00"])
def test_nothing_in_the_address_of_the_progress_is_an_error(room: Room, browser: Client, tries: str) -> None:
    address = reverse("ask_bridge:export-progress", query={"run": tries, "tries": tries})
    assert browser.get(address).status_code == 200


@pytest.mark.parametrize("query", [{"since": "3000-01-01"}, {"until": "2300-01-01"}, {"q": "\u0301"}])
def test_nothing_in_a_search_is_an_error(room: Room, browser: Client, query: dict[str, str]) -> None:
    for name in ("ask_bridge:history", "ask_bridge:export"):
        assert browser.get(reverse(name, query=query)).status_code == 200
    assert rows(browser, **query) == objects(browser, **query) == []


@pytest.mark.parametrize("before", ["", "0", "-1", "x", "9" * 19, "9" * 30, "٣", "\x00"])
def test_no_bookmark_is_an_error(room: Room, browser: Client, before: str) -> None:
    assert browser.get(reverse("ask_bridge:history", query={"before": before})).status_code == 200


def test_queries_of_the_page_do_not_grow(room: Room, browser: Client) -> None:
    def queries() -> int:
        browser.get("/history?q=the")
        with CaptureQueriesContext(connection) as captured:
            browser.get("/history?q=the")
        return len(captured)

    seed(room, 200)
    before = queries()
    seed(room, 1_500)
    assert queries() == before
