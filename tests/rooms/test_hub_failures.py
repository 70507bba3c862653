"""The hub after a failed push: it logs the failure, and the other pages miss nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.db.pool import in_database
from rooms.live.hub import hub
from rooms.models import Answer, Question, Room
from tests.harness.database_pool import close_pool_connections
from tests.harness.page_streams import Page, grant_of, stream_to


class Nameless:
    """A user of a portal's own model, whose primary key cannot be converted to text."""

    def __str__(self) -> str:
        raise ValueError("no key")


async def _answer_before(
    user_ids: list[Any], room: Room, question: Question, ana: Any
) -> tuple[list[Any], list[Page]]:
    """The streams of these people and their pages, once the last one was sent the answered card."""
    pages = [Page() for _ in user_ids]
    streams = [stream_to(page, grant_of(user, [room])) for page, user in zip(pages, user_ids, strict=True)]
    try:
        for stream in streams:
            await hub.add_stream(stream, [room])
            stream._early = None
        choices = [{"question": question.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
        await in_database(lifecycle.answer, question, choices, via=Answer.Via.WEB, user=ana)
        hub.receive({"room_id": room.pk, "settled": question.pk})
        await pages[-1].until_sent(f"event: card-{question.pk}\n".encode())
        async with asyncio.timeout(10):
            while not streams[0].is_finished:
                await asyncio.sleep(0.001)
        return streams, pages
    finally:
        for stream in streams:
            if stream in hub.connections:
                hub.remove_stream(stream)
        await close_pool_connections()


@pytest.mark.django_db(transaction=True)
def test_a_stream_whose_push_fails_ends_and_the_others_get_the_change(
    ask: Callable[..., Question], room: Room, ana: Any, caplog: pytest.LogCaptureFixture
) -> None:
    question = ask()
    room.refresh_from_db()
    streams, pages = asyncio.run(_answer_before([Nameless(), 1], room, question, ana))
    assert "Could not push a change of room" in caplog.text
    assert [stream.is_finished for stream in streams] == [True, False]
    assert f"card-{question.pk}".encode() not in b"".join(pages[0].sent)
