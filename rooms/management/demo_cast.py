"""Who takes part in a made-up past, and what its agents ask."""

from functools import cache
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model

from rooms import access, audit, lifecycle
from rooms.contract.asks import Ask
from rooms.contract.choices import as_json
from rooms.contract.payload import parse_ask
from rooms.management import demo_texts as texts
from rooms.models import AgentKey, AuditEntry, Room

# More people than anybody tells apart in one room.
MOST_PEOPLE = 20


class Person(NamedTuple):
    """Who answers: with their account, or without one if they left since."""

    user_id: Any
    username: str
    person_name: str

    @property
    def actor(self) -> audit.Actor:
        return audit.Actor(AuditEntry.ActorType.PERSON, self.username)


class Asked(NamedTuple):
    """The part of a question that the same ask gives it every time."""

    ask: Ask
    prompts: list[dict[str, Any]]
    default_choices: list[dict[str, Any]] | None
    body_hash: str


def agents_of(room: Room) -> list[AgentKey]:
    """The room's keys with the names of made-up agents. Nobody knows the text of those made here."""
    known = {key.label: key for key in room.keys.usable().filter(label__in=texts.AGENTS)}
    return [known.get(label) or access.create_key(room, label=label)[0] for label in texts.AGENTS]


def people_of(room: Room) -> list[Person]:
    """Those who may answer in the room, and some who did once."""
    users = get_user_model()._default_manager.order_by("pk")
    if not room.is_open:
        users = users.filter(ask_bridge_memberships__room=room)
    present = [user for user in users[:MOST_PEOPLE] if user.is_active]
    return [
        *(Person(user.pk, user.get_username(), lifecycle.name_of(user)) for user in present),
        *(Person(None, username, name) for username, name in texts.FORMER_PEOPLE),
    ]


@cache
def asked(number: int, service: str) -> Asked:
    """One of the asks, about this service."""
    ask = parse_ask(about(service, texts.ASKS[number]))
    prompts = [prompt.model_dump(by_alias=True) for prompt in ask.questions]
    defaults = ask.default_choices
    default_choices = None if defaults is None else as_json(defaults)
    return Asked(ask, prompts, default_choices, lifecycle.hash_of(prompts, default_choices))


def about(service: str, text: Any) -> Any:
    """The same text, or texts within texts, about this service."""
    match text:
        case str():
            return text.replace("{service}", service)
        case dict():
            return {about(service, name): about(service, value) for name, value in text.items()}
        case list():
            return [about(service, value) for value in text]
        case _:
            return text
