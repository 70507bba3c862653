"""Care: what a careful question, or all questions of a room, need beside an answer. No database here.

Four options, each off unless the question or its room asks for it:

- `first`: named people, or people with a role, are asked first; others may not decide yet.
- `votes`: this many people have to choose the same.
- `undo_seconds`: a decision is held back for some seconds, in which it can be undone.
- `escalate_seconds`: after this time without an answer managers are notified, and all people may decide.

Where people are named, `group:NAME` names all people of a group of the room.

A question with an undo window alone needs one vote: the click that answers it.

Errors that a manager can make in the settings of a room are translated; only agents read the other ones.
"""

from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext, ngettext
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rooms.contract.types import FilledText, Payload, wrong

# More people than any team lets vote on one question; a card can name about as many.
MOST_PEOPLE = 20
# With a longer window it is better to answer at once, and let the agent ask again.
LONGEST_UNDO_SECONDS = 300
# As long as the longest deadline.
LONGEST_ESCALATION_SECONDS = 30 * 24 * 3600
# The default where people are asked first: they must not block a question without limit.
ESCALATION_SECONDS = 15 * 60

# No user name begins with it: Django's own has no colons.
GROUP_PREFIX = "group:"

USERNAME_LENGTH = 254  # as long as the columns that store user names


def group_in(name: str) -> str | None:
    """The group that is named in place of a person, or None."""
    return name.removeprefix(GROUP_PREFIX) if name.startswith(GROUP_PREFIX) else None


def names_group(names: list[str]) -> bool:
    """Whether there may be any number of people behind these names."""
    return any(group_in(name) is not None for name in names)


def _few_and_unique(people: list[str]) -> list[str]:
    if len(people) > MOST_PEOPLE:
        counts = {"count": len(people), "allowed": MOST_PEOPLE}
        raise wrong(gettext("names %(count)s people, %(allowed)s are allowed") % counts)
    if len(set(people)) < len(people):
        raise wrong(gettext("names a person twice"))
    return people


People = Annotated[
    list[Annotated[FilledText, Field(max_length=USERNAME_LENGTH)]],
    Field(json_schema_extra={"maxItems": MOST_PEOPLE}),
    AfterValidator(_few_and_unique),
]
Seconds = Annotated[int, Field(strict=True, ge=1)]


def _people_or_first(first: object) -> object:
    """`"ana"` and `["ana", "ben"]` are short for `{"people": …}`."""
    if isinstance(first, str):
        first = [first]
    return {"people": first} if isinstance(first, list) else first


def _number_or_votes(votes: object) -> object:
    """`2` is short for `{"needed": 2}`."""
    return {"needed": votes} if isinstance(votes, int) and not isinstance(votes, bool) else votes


class Careful(Payload):
    """Refuses unknown fields, unlike other payloads: a misspelt one would mean less care than was meant."""

    model_config = ConfigDict(extra="forbid")


class First(Careful):
    """Who is asked first: these people, and all people with the role."""

    people: People = []
    role: Literal["manager", "member"] | None = None

    @model_validator(mode="after")
    def names_people(self) -> Self:
        if not self.people and self.role is None:
            raise wrong("is empty: give people, a role, or both")
        return self


class Votes(Careful):
    """How many people have to choose the same, and who may vote if not all people of the room."""

    needed: Annotated[int, Field(strict=True, ge=2, le=MOST_PEOPLE)]
    of: People = []

    @field_validator("of")
    @classmethod
    def enough(cls, of: list[str], info: ValidationInfo) -> list[str]:
        needed = info.data.get("needed", 0)
        if of and len(of) < needed and not names_group(of):
            raise wrong(f"names {len(of)} people, but {needed} votes are needed")
        return of

    def among(self, people: list[str]) -> list[str]:
        """Those of the people who may vote. A group may have any people in common with others."""
        if not self.of or names_group(self.of):
            return people
        return [name for name in people if name in self.of or group_in(name) is not None]


class Care(Careful):
    """The care that a question, or every question of a room, asks for."""

    first: Annotated[First | None, BeforeValidator(_people_or_first)] = None
    votes: Annotated[Votes | None, BeforeValidator(_number_or_votes)] = None
    undo_seconds: Annotated[Seconds, Field(le=LONGEST_UNDO_SECONDS)] | None = None
    escalate_seconds: Annotated[Seconds, Field(le=LONGEST_ESCALATION_SECONDS)] | None = None

    @model_validator(mode="after")
    def first_can_decide(self) -> Self:
        if self.first and self.votes and self.first.role is None:
            voters = self.votes.among(self.first.people)
            if len(voters) < self.votes.needed and not names_group(voters):
                sentence = ngettext(
                    "asks %(count)s voter first, but %(needed)s votes are needed",
                    "asks %(count)s voters first, but %(needed)s votes are needed",
                    len(voters),
                )
                raise wrong(sentence % {"count": len(voters), "needed": self.votes.needed})
        return self

    @property
    def people(self) -> list[str]:
        """All people who are named, each once."""
        named = [*(self.first.people if self.first else ()), *(self.votes.of if self.votes else ())]
        return list(dict.fromkeys(named))

    @property
    def takes_votes(self) -> bool:
        """Whether a click counts as a vote: other votes are needed, or there is an undo window."""
        return self.votes is not None or self.undo_seconds is not None

    @property
    def votes_needed(self) -> int:
        return self.votes.needed if self.votes else 1

    @property
    def is_for_people(self) -> bool:
        """Whether it matters who decides, so that an agent cannot report an answer from elsewhere."""
        return self.votes is not None or self.first is not None

    def problem_with_default(self, timeout_seconds: float | None) -> str | None:
        """Why a question with this deadline may have no default, or None."""
        if self.is_for_people:
            return (
                "cannot count here: votes or named people have to decide this question, "
                "as it says itself or as its room does"
            )
        if timeout_seconds and self.escalate_seconds and timeout_seconds <= self.escalate_seconds:
            # Otherwise the default would count before the managers are notified.
            seconds = self.escalate_seconds
            return f"needs a timeout_seconds of more than escalate_seconds, which is {seconds} here"
        return None


def care_of(stored: dict[str, Any] | None) -> Care | None:
    """The care that is stored with a question or room; not checked again."""
    if not stored:
        return None
    first, votes = stored.get("first"), stored.get("votes")
    return Care.model_construct(
        first=First.model_construct(**first) if first else None,
        votes=Votes.model_construct(**votes) if votes else None,
        undo_seconds=stored.get("undo_seconds"),
        escalate_seconds=stored.get("escalate_seconds"),
    )


def has_unknown_options(stored: dict[str, Any] | None) -> bool:
    """Whether a newer version has stored an option of care that this one would not follow."""
    known: dict[str, set[str]] = {
        "first": set(First.model_fields),
        "votes": set(Votes.model_fields),
        "undo_seconds": set(),
        "escalate_seconds": set(),
    }
    given = {name: value for name, value in (stored or {}).items() if value is not None}
    return any(
        name not in known or (isinstance(value, dict) and not value.keys() <= known[name])
        for name, value in given.items()
    )


def combined(room: Care | None, asked: Care | None) -> Care | None:
    """The care of room and question together. An agent can ask for more than its room, never for less."""
    if room is None or asked is None:
        both = room or asked
    else:
        both = Care.model_construct(
            first=room.first or asked.first,
            votes=_stricter(room.votes, asked.votes),
            undo_seconds=max(filter(None, (room.undo_seconds, asked.undo_seconds)), default=None),
            # A room that sets who is asked first also sets for how long.
            escalate_seconds=(room.escalate_seconds or (None if room.first else asked.escalate_seconds)),
        )
    first, votes = (both.first, both.votes) if both else (None, None)
    if both and first and votes and first.role is None and not votes.among(first.people):
        # No person could decide before it escalates. Votes are the stricter of the two, so they stay.
        both = both.model_copy(update={"first": None})
    if both and both.first and both.escalate_seconds is None:
        both = both.model_copy(update={"escalate_seconds": ESCALATION_SECONDS})
    return both if both and any(both.model_dump().values()) else None


def _stricter(room: Votes | None, asked: Votes | None) -> Votes | None:
    if room is None or asked is None:
        return room or asked
    needed = max(room.needed, asked.needed)
    if room.of:
        most = needed if names_group(room.of) else len(room.of)
        return Votes.model_construct(needed=min(needed, most), of=room.of)
    # If the question names fewer people than the votes that the room needs, all people of the room may vote.
    return Votes.model_construct(
        needed=needed, of=asked.of if len(asked.of) >= needed or names_group(asked.of) else []
    )
