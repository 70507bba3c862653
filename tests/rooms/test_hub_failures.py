"""The hub after a failed push: it logs the failure, and sends the changes with the next one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.db.pool import in_database
from rooms.live.connections import Viewer
from rooms.live.hub import Hub
from rooms.models import Answer, Question, Room
from tests.harness.database_pool import close_pool_connections


class Nameless:
    """A user of a portal's own model, whose primary key cannot be converted to text."""

    def __str__(self) -> str:
        raise ValueError("no key")


async def _answer_before(
    viewers: list[Viewer], room: Room, question: Question, ana: Any, caplog: pytest.LogCaptureFixture
) -> bytes:
    """What the last of the viewers is sent, once the others have left."""
    hub = Hub()
    for viewer in viewers:
        hub.admit(viewer)
        await hub.join(viewer, [room])
    *others, last = viewers
    choices = [{"question": question.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
    hint = {"room_id": room.pk, "settled": question.pk}
    try:
        await in_database(lifecycle.answer, question, choices, via=Answer.Via.WEB, user=ana)
        hub._receive(hint)
        async with asyncio.timeout(10):
            while "Could not push the changes of room" not in caplog.text:
                await asyncio.sleep(0.01)
        await last.sleep(0)
        last.take()  # what it may have got before it broke
        for viewer in others:
            hub.remove_viewer(viewer)
        hub._receive(hint)
        assert await last.sleep(10)
        return last.take()
    finally:
        hub.remove_viewer(last)
        await close_pool_connections()


@pytest.mark.django_db(transaction=True)
def test_a_viewer_whose_push_fails_does_not_delay_the_others_for_long(
    ask: Callable[..., Question], room: Room, ana: Any, caplog: pytest.LogCaptureFixture
) -> None:
    question = ask()
    room.refresh_from_db()
    viewers = [Viewer(one, None, {room.pk}, "en", many_rooms=True) for one in (Nameless(), 1)]
    sent = asyncio.run(_answer_before(viewers, room, question, ana, caplog))
    assert f"event: card-{question.pk}\n".encode() in sent
