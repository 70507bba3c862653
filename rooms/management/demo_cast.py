"""People, agents and questions of the sample history."""

from functools import cache
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model

from rooms import access, audit, lifecycle
from rooms.contract.asks import Ask
from rooms.contract.choices import as_json
from rooms.contract.payload import parse_ask
from rooms.management import demo_texts as texts
from rooms.models import AgentKey, AuditEntry, Room

# Enough people to look like a busy room.
MOST_PEOPLE = 20


class Person(NamedTuple):
    """A person who answers; without a user id if the account no longer exists."""

    user_id: Any
    username: str
    person_name: str

    @property
    def actor(self) -> audit.Actor:
        return audit.Actor(AuditEntry.ActorType.PERSON, self.username)


class Asked(NamedTuple):
    """The parsed parts of a sample question, which are the same each time it is asked."""

    ask: Ask
    prompts: list[dict[str, Any]]
    default_choices: list[dict[str, Any]] | None
    body_hash: str


def agents_of(room: Room) -> list[AgentKey]:
    """The keys of the sample agents. A key created here cannot be used: its text is not kept."""
    known = {key.label: key for key in room.keys.usable().filter(label__in=texts.AGENTS)}
    return [known.get(label) or access.create_key(room, label=label)[0] for label in texts.AGENTS]


def people_of(room: Room) -> list[Person]:
    """People who may answer in the room, and some former ones."""
    users = get_user_model()._default_manager.order_by("pk")
    if not room.is_open:
        users = users.filter(pk__in=room.memberships.values("user"))
    present = [user for user in users[:MOST_PEOPLE] if user.is_active]
    return [
        *(Person(user.pk, user.get_username(), lifecycle.name_of(user)) for user in present),
        *(Person(None, username, name) for username, name in texts.FORMER_PEOPLE),
    ]


@cache
def asked(number: int, service: str) -> Asked:
    """The sample question with this number, about this service."""
    ask = parse_ask(about(service, texts.ASKS[number]))
    prompts = [prompt.model_dump(by_alias=True) for prompt in ask.questions]
    defaults = ask.default_choices
    default_choices = None if defaults is None else as_json(defaults)
    return Asked(ask, prompts, default_choices, lifecycle.hash_of(prompts, default_choices))


def about(service: str, text: Any) -> Any:
    """Insert the name of the service into a text, or into all texts of a nested value."""
    match text:
        case str():
            return text.replace("{service}", service)
        case dict():
            return {about(service, name): about(service, value) for name, value in text.items()}
        case list():
            return [about(service, value) for value in text]
        case _:
            return text
