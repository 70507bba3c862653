"""Votes on a careful question: who agrees with whom, and what they decided. No database here."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NotRequired

from typing_extensions import TypedDict


class Vote(TypedDict):
    """As it is stored with its question."""

    user_id: str
    username: str
    name: str
    at: str
    choices: list[dict[str, Any]]
    # The label of the key that passed it on; absent where the person voted on the page.
    through: NotRequired[str]


def with_vote(votes: Iterable[Vote], vote: Vote) -> list[Vote]:
    """A person has one vote: their last."""
    return [*(other for other in votes if other["user_id"] != vote["user_id"]), vote]


def agreeing(votes: Iterable[Vote], vote: Vote) -> list[Vote]:
    """Those that choose the same, whatever they note beside it; in the order in which they were cast."""
    return [other for other in votes if _chosen(other) == _chosen(vote)]


def decision(votes: list[Vote]) -> list[Vote]:
    """The votes that made up a decision: the last one decided, and those before it that agree."""
    return agreeing(votes, votes[-1]) if votes else []


def _chosen(vote: Vote) -> list[tuple[list[str], str]]:
    return [(choice["selectedOptions"], choice["customInput"] or "") for choice in vote["choices"]]


def decided_choices(votes: list[Vote]) -> list[dict[str, Any]]:
    """What was decided; the notes of all who decided it, with their names if they are several.

    The further lines of a note are indented then, so that none of them looks like the note of another person.
    """
    *_, last = votes
    choices = []
    for place, choice in enumerate(last["choices"]):
        notes = [(vote["name"], vote["choices"][place]["notes"]) for vote in votes]
        if len(votes) > 1:
            written = [f"{name}: " + "\n    ".join(note.splitlines()) for name, note in notes if note]
        else:
            written = [note for _, note in notes if note]
        choices.append({**choice, "notes": "\n".join(written) or None})
    return choices


def cast_at(vote: Vote) -> datetime:
    return datetime.fromisoformat(vote["at"])
