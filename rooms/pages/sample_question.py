"""The test question of the Connect page, asked with a key as an agent asks, or without one."""

from typing import Any

from django.utils.translation import gettext

from rooms import access, lifecycle
from rooms.access import rate_limits
from rooms.contract.payload import parse_ask
from rooms.contract.scopes import Scope
from rooms.models import AgentKey, Question, Room

# A test question is answered within minutes; after that it must not stay among the open ones.
TIMEOUT_SECONDS = 15 * 60


def body(person: lifecycle.Person, room: Room) -> dict[str, Any]:
    """The test question as an agent sends it, in the language of this person."""
    names = {"name": lifecycle.name_of(person), "room": room.name}
    return {
        "agent": {"name": gettext("test question"), "color": "teal"},
        "question": gettext("Do you see this card?"),
        "header": gettext("Test"),
        "options": [gettext("Yes, and I clicked it"), gettext("Yes, but I would like another colour")],
        "context": {"text": gettext("%(name)s is testing %(room)s.") % names},
        "timeout_seconds": TIMEOUT_SECONDS,
    }


def ask(person: lifecycle.Person, room: Room, key_text: str) -> Question:
    """Ask it with this key, under the checks of the API: BadKey, Missing, MissingScope, TooMany.

    Without a key it is a question of this person, which shows only that cards arrive.
    """
    key = _key_to_ask_with(room, key_text) if key_text else None
    rate_limits.check_asks(key)
    question, _ = lifecycle.ask(room, key, parse_ask(body(person, room)), by=person)
    return question


def _key_to_ask_with(room: Room, key_text: str) -> AgentKey:
    key = access.key_from_header(f"Bearer {key_text}")
    access.room_of_key(key, room.slug)
    access.check_scope(key, Scope.ASK)
    return key
