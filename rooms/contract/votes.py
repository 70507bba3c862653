"""Votes on a careful question: who agrees with whom, and what they decided. No database here."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NotRequired

from typing_extensions import TypedDict


class Vote(TypedDict):
    """A vote as it is stored with its question."""

    user_id: str
    username: str
    name: str
    at: str
    choices: list[dict[str, Any]]
    # The label of the key that sent it for the person; absent where they voted on the page.
    through: NotRequired[str]


def with_vote(votes: Iterable[Vote], vote: Vote) -> list[Vote]:
    """The votes with this one; a person has one vote, the last."""
    return [*(other for other in votes if other["user_id"] != vote["user_id"]), vote]


def agreeing(votes: Iterable[Vote], vote: Vote) -> list[Vote]:
    """The votes with the same choice, whatever their notes; in the order in which they were cast."""
    return [other for other in votes if _chosen(other) == _chosen(vote)]


def decision(votes: list[Vote]) -> list[Vote]:
    """The votes that made a decision: the last one, and those before it that agree."""
    return agreeing(votes, votes[-1]) if votes else []


def _chosen(vote: Vote) -> list[tuple[list[str], str]]:
    return [(choice["selectedOptions"], choice["customInput"] or "") for choice in vote["choices"]]


def decided_choices(votes: list[Vote]) -> list[dict[str, Any]]:
    """The choices that were decided, with the notes of all these votes; with names if there are several.

    Then the further lines of a note are indented, so that none looks like the note of another person.
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
