"""Rendered cards and messages are cached."""

from typing import Any

from django.utils.translation import override

from rooms.models import Message, Room
from rooms.rendering import cards


def test_a_message_is_rendered_once(room: Room) -> None:
    message = Message.objects.create(
        room=room, sender="Ana", sender_type="human", content="**Hi**", position=1
    )
    first = cards.render_message(message)
    before = cards._rendered_message.cache_info()
    assert cards.render_message(Message.objects.get(pk=message.pk)) == first
    after = cards._rendered_message.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 0)


def test_a_message_that_changed_is_rendered_anew(room: Room, ana: Any) -> None:
    fields = {"sender": "Ana", "sender_type": "human", "content": "Hi", "position": 1}
    message = Message.objects.create(room=room, user=ana, **fields)
    assert "relayed by an agent" not in cards.render_message(message)
    message.user = None
    assert "relayed by an agent" in cards.render_message(message)
    with override("de"):
        assert "relayed by an agent" not in cards.render_message(message)
    message.content = "Removed"
    assert "Removed" in cards.render_message(message)
