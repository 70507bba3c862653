"""Rendered cards and messages are cached."""

import gc
from functools import partial
from typing import Any
from weakref import ref

from django.utils.safestring import SafeString
from django.utils.translation import override

from rooms.models import Message, Question, Room
from rooms.rendering import cards
from rooms.rendering.cache import RenderCache


def test_a_message_is_rendered_once(room: Room) -> None:
    message = Message.objects.create(
        room=room, sender="Ana", sender_type="human", content="**Hi**", position=1
    )
    first = cards.render_message(message)
    assert cards.render_message(Message.objects.get(pk=message.pk)) is first


def test_a_message_that_changed_is_rendered_anew(room: Room, ana: Any) -> None:
    fields = {"sender": "Ana", "sender_type": "human", "content": "Hi", "position": 1}
    message = Message.objects.create(room=room, user=ana, **fields)
    assert "Hi" in cards.render_message(message)
    message.content = "Removed"
    assert "Removed" in cards.render_message(message)


def test_a_message_that_a_key_sent_for_a_person_says_so(room: Room, ana: Any, agent: Any) -> None:
    fields = {"sender": "Ana", "sender_type": "human", "content": "Hi", "position": 1}
    message = Message.objects.create(room=room, user=ana, **fields)
    message.user = None  # the account was deleted, or the person anonymised
    assert "relayed by an agent" not in cards.render_message(message)
    message.key = agent.key_row
    assert "relayed by an agent" in cards.render_message(message)
    with override("de"):
        assert "relayed by an agent" not in cards.render_message(message)


def test_the_cache_keeps_no_question(question: Question) -> None:
    shown = Question.objects.with_answer().get(pk=question.pk)
    cards.render_card(shown)
    cards.render_marks(shown)
    watched = ref(shown)
    del shown
    gc.collect()
    assert watched() is None


def test_the_cache_drops_what_was_not_used_for_longest() -> None:
    cache, rendered = RenderCache(2), []

    def render(key: str) -> SafeString:
        rendered.append(key)
        return SafeString(key.upper())

    for key in ("a", "b", "a", "c", "a", "b"):
        assert cache.get_or_render(key, partial(render, key)) == key.upper()
    assert rendered == ["a", "b", "c", "b"]
