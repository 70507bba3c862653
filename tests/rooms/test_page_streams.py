"""The stream of a page: what is pushed reaches its client once, in order, and no other stream waits."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse

from rooms.access.admission import SCOPE_KEY
from rooms.live import consumer
from rooms.live import hub as hub_module
from rooms.live import streams as streams_module
from rooms.live.frames import Frame
from rooms.live.hub import Hub, hub
from rooms.live.streams import LONGEST_BACKLOG, PageStream, StreamGrant
from rooms.models import Question, Room
from tests.harness.database_pool import close_pool_connections
from tests.harness.page_streams import Page, grant_of, stream_to

Scene = Callable[[], Awaitable[None]]


def change(revision: int, slug: str = "ops") -> Frame:
    return Frame(slug, revision, f"card-{revision}", lambda is_mine: "<article>")


def run(scene: Scene) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(in_time())


def open_stream(page: Page) -> PageStream:
    """A stream whose replay was sent."""
    stream = stream_to(page, grant_of(1, []))
    stream._early = None
    return stream


def test_changes_are_sent_in_their_order() -> None:
    async def scene() -> None:
        page = Page()
        stream = open_stream(page)
        for number in range(50):
            stream.push([], b"<%d>" % number)
            if number % 7 == 0:
                await asyncio.sleep(0)
        await page.until_sent(b"<49>")
        assert b"".join(page.sent) == b"".join(b"<%d>" % number for number in range(50))

    run(scene)


def test_a_client_that_does_not_read_gets_everything_later_and_delays_no_other() -> None:
    async def scene() -> None:
        pages = [Page(), Page()]
        slow, other = map(open_stream, pages)
        pages[0].reads.clear()
        for number in range(3):
            for stream in (slow, other):
                stream.push([], b"<%d>" % number)
        await pages[1].until_sent(b"<2>")
        assert pages[0].sent == []
        pages[0].reads.set()
        await pages[0].until_sent(b"<2>")
        assert b"".join(pages[0].sent) == b"<0><1><2>"

    run(scene)


def test_a_client_that_never_reads_is_cut_off() -> None:
    async def scene() -> None:
        page = Page()
        stream = open_stream(page)
        page.reads.clear()
        stream._task = asyncio.create_task(asyncio.sleep(60))
        for _ in range(LONGEST_BACKLOG + 2):
            stream.push([], b"change")
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await stream._task

    run(scene)


def test_a_client_that_does_not_read_its_last_chunk_does_not_outlast_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_module, "CLOSE_SECONDS", 0.05)
    own = Hub()
    for module in (consumer, streams_module):
        monkeypatch.setattr(module, "hub", own)

    async def scene() -> None:
        page = Page()
        stream = open_stream(page)
        page.reads.clear()
        stream.push([], b"last")
        stream.end()
        while stream not in own.sending:
            await asyncio.sleep(0)
        await own.close()
        while own._tasks:
            await asyncio.sleep(0)
        assert page.sent == []


def test_a_connection_that_waits_for_the_database_is_still_answered_after_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_module, "CLOSE_SECONDS", 0.05)
    own = Hub()

    async def scene() -> None:
        database, page = asyncio.Event(), Page()

        async def reply() -> None:
            await database.wait()
            await page.send({"type": "http.response.body", "body": b"late"})

        own.run(reply())
        await own.close()
        database.set()
        await page.until_sent(b"late")

    run(scene)


def test_a_client_that_is_gone_ends_only_its_own_stream() -> None:
    async def scene() -> None:
        pages = [Page(), Page()]
        gone, other = map(open_stream, pages)
        pages[0].is_gone = True
        for stream in (gone, other):
            stream.push([], b"change")
        await pages[1].until_sent(b"change")
        while not gone.is_finished:
            await asyncio.sleep(0)
        assert not other.is_finished

    run(scene)


def test_a_stream_that_ends_sends_what_it_has_first() -> None:
    async def scene() -> None:
        page = Page()
        stream = open_stream(page)
        stream.push([], b"last")
        stream.end()
        await page.until_sent(b"last")
        assert stream.is_finished

    run(scene)


def test_a_stream_ends_if_the_host_fails_to_admit_it_again() -> None:
    async def failing_host(*request: Any) -> None:
        raise OSError("the host is broken")

    async def scene() -> None:
        stream = open_stream(Page())
        stream.application, stream.scope = failing_host, {"type": "http", "path": "/stream"}
        await stream.check_admission()
        while not stream.is_finished:
            await asyncio.sleep(0)

    run(scene)


def test_a_comment_keeps_the_connection_open() -> None:
    async def scene() -> None:
        page = Page()
        stream = open_stream(page)
        before = stream.due
        stream.on_due()
        await page.until_sent(b": keep-alive\n\n")
        assert stream.due >= before

    run(scene)


@pytest.mark.django_db(transaction=True)
def test_what_is_pushed_during_the_replay_is_sent_after_it_and_not_twice(
    room: Room, ask: Callable[..., Question]
) -> None:
    question = ask()
    room.refresh_from_db()

    async def scene() -> None:
        page = Page()
        grant = grant_of(1, [room], {room.slug: "0"})
        stream = stream_to(page, grant)
        try:
            revisions = await hub.add_stream(stream, [room])
            # One change that the replay has as well, one that it does not have, one that is never replayed.
            for revision in (question.revision, room.revision + 1):
                stream.push([change(revision, room.slug)], b"")
            stream.push([Frame(room.slug, None, "here", lambda is_mine: "ana")], b"")
            sent = await stream.replay(grant, revisions | {room.pk: -2})
            events = [line for line in sent.decode().splitlines() if line.startswith("event: ")]
            assert events[-2:] == [f"event: card-{room.revision + 1}", "event: here"]
            assert f"event: card-{question.revision}" not in events
            assert "event: question" in events
        finally:
            hub.remove_stream(stream)
            await close_pool_connections()

    run(scene)


def host_that_grants(grant: StreamGrant | None) -> Any:
    """A portal's application: its view admits with this grant, or its middleware refuses."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        reply = HttpResponse(status=403) if grant is None else scope[SCOPE_KEY].admit(grant)
        headers = [(name.encode(), value.encode()) for name, value in reply.items()]
        await send({"type": "http.response.start", "status": reply.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return application


def manager_of(grant: StreamGrant, room_id: int) -> StreamGrant:
    return replace(grant, standing=replace(grant.standing, manages=frozenset({room_id})))


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        pytest.param(lambda grant: grant, False, id="nothing"),
        pytest.param(lambda grant: None, True, id="refused by the portal"),
        pytest.param(lambda grant: replace(grant, user_id=2), True, id="another person"),
        pytest.param(lambda grant: manager_of(grant, 1), True, id="another role"),
    ],
)
def test_a_stream_ends_when_it_is_admitted_no_more_or_otherwise(change: Any, ends: bool) -> None:
    async def scene() -> None:
        grant = grant_of(1, [])
        stream = open_stream(Page())
        stream.scope = {"type": "http", "method": "POST", "path": "/stream"}
        stream.application = host_that_grants(change(grant))
        await stream.check_admission()
        assert stream.is_ending is ends
        stream.abort()

    run(scene)


def test_a_host_that_hangs_does_not_keep_a_stream_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "READMISSION_SECONDS", 0.05)

    async def hang(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()

    async def scene() -> None:
        stream = open_stream(Page())
        stream.scope = {"type": "http", "method": "POST", "path": "/stream"}
        stream.application = hang
        await stream.check_admission()
        assert stream.is_ending

    run(scene)


@pytest.mark.django_db(transaction=True)
def test_a_page_without_rooms_is_checked_and_gets_the_cards_of_its_first_room(
    room: Room, ask: Callable[..., Question]
) -> None:
    question = ask()
    room.refresh_from_db()

    async def scene() -> None:
        before, after = stream_to(Page(), grant_of(1, [])), stream_to(Page(), grant_of(1, [room]))
        try:
            await hub.add_stream(before, [])
            assert before in hub.streams  # the access check sees that its rooms have changed
            revisions = await hub.add_stream(after, [room])
            sent = await after.replay(grant_of(1, [room], {}), revisions)
            assert f"card-{question.pk}" in sent.decode()
            unasked = replace(grant_of(1, [room]), cursors=None)
            assert await after.replay(unasked, revisions) == b""
        finally:
            for stream in (before, after):
                hub.remove_stream(stream)
            await close_pool_connections()

    run(scene)
