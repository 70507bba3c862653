"""Verbs of messages: people and agents write in a room beside its questions."""

from datetime import timedelta
from typing import Any

from rooms.contract import ids
from rooms.db import timezone
from rooms.db.compiled import insert
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.exceptions import NotDecided
from rooms.lifecycle.revisions import announce, locked, next_revision
from rooms.models import Message, Question, Room
from rooms.profiles import name_of

# A page sends a message again when the connection is back; a laptop may sleep over a weekend before that.
RESUBMITTED_WITHIN = timedelta(days=7)


def correct(question: Question, user: Person, content: str, nonce: str = "") -> Message:
    """A person writes to the agent about a decision: a correction, or words that came too late."""
    with locked(question) as current:
        if current.is_open and not current.is_held:
            raise NotDecided(current)
        return say(current.room, user, content, nonce, about=current)


def say(room: Room, user: Person, content: str, nonce: str = "", *, about: Question | None = None) -> Message:
    """A person writes to the agents of the room; with a nonce the same message is stored once."""
    fields: dict[str, Any] = {
        "user": user,
        "sender": name_of(user),
        "sender_type": Message.SenderType.HUMAN,
        "content": content,
        "question": about,
    }
    if not nonce:
        return post_message(room, **fields)
    with writing():
        # The lock makes a repeated message wait for the first one, which may not be committed yet.
        Room.objects.using(alias()).select_for_update().get(pk=room.pk)
        own = Message.objects.using(alias()).filter(room=room, user=user.pk, pk__endswith=nonce)
        earlier = own.filter(created_at__gte=timezone.now() - RESUBMITTED_WITHIN).first()
        if earlier and (earlier.content, earlier.question_id) == (content, about and about.pk):
            return earlier
        # A page that the browser restored has an old nonce: with another text it is another message.
        return post_message(room, id=ids.new_message_id("" if earlier else nonce), **fields)


def post_message(room: Room, **fields: Any) -> Message:
    """Add a line to the room's timeline."""
    message = Message(room=room, **fields)
    with writing():
        message.position = next_revision(room.pk)
        insert(message)
        announce(room.pk, message.position)
    return message
