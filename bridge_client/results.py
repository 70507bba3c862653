"""Questions and their results: types for the JSON of the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from bridge_client.errors import ProblemError


@dataclass(frozen=True)
class Question:
    """A question as the server last sent it; `data` is the whole JSON object."""

    data: dict[str, Any] = field(repr=False)
    id: str = ""
    status: str = ""

    @classmethod
    def from_wire(cls, data: Any) -> Question:
        if not isinstance(data, dict) or "id" not in data or "status" not in data:
            raise ProblemError(
                200, "not_a_question", "The reply is not a question: is that really the bridge?"
            )
        return cls(data=data, id=str(data["id"]), status=str(data["status"]))

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def url(self) -> str:
        """The page on which people answer it."""
        return str(self.data.get("url", ""))

    @property
    def prompts(self) -> list[dict[str, Any]]:
        """The questions in it, each with its options."""
        return list(self.data.get("questions") or [])

    @property
    def session_id(self) -> str:
        return self.data.get("session_id") or ""

    @property
    def tool_use_id(self) -> str:
        return self.data.get("tool_use_id") or ""

    @property
    def care(self) -> dict[str, Any]:
        """Who is asked first, how many have to agree, what can be undone; empty for a plain question."""
        return self.data.get("care") or {}

    @property
    def is_voted_on(self) -> bool:
        """Whether the question needs several votes and has at least one."""
        return bool((self.care.get("votes") or {}).get("cast"))

    @property
    def is_used_up(self) -> bool:
        """Settled, and the agent knows: it was delivered, answered in its terminal or withdrawn."""
        via = (self.data.get("answer") or {}).get("via")
        is_known = bool(self.data.get("delivered_at")) or via == "terminal" or self.status == "withdrawn"
        return not self.is_open and is_known

    @property
    def ended(self) -> str:
        """Why it expired or was withdrawn, as in the API; empty if neither happened."""
        return str((self.data.get("ended") or {}).get("reason", ""))

    @property
    def ended_by(self) -> Person | None:
        """The person who withdrew it."""
        return Person.from_wire((self.data.get("ended") or {}).get("by"))

    @property
    def result(self) -> Result:
        """What became of it so far."""
        answer = self.data.get("answer") or {}
        by = Person.from_wire(answer.get("by"))
        choices = [Choice.from_wire(choice) for choice in answer.get("answers") or []]
        if self.status == "answered":
            votes = [Vote.from_wire(vote) for vote in answer.get("votes") or []]
            return Answered(self, choices, by, str(answer.get("via", "")), str(answer.get("at", "")), votes)
        if self.status == "declined":
            declined = AskedBack if answer.get("kind") == "reply" else Declined
            return declined(self, by, answer.get("reason") or "")
        if self.status == "expired":
            return Expired(self, choices)
        if self.status == "withdrawn":
            return Withdrawn(self)
        return StillOpen(self)


@dataclass(frozen=True)
class Person:
    """A person, as logged in: never a name from the request."""

    username: str
    name: str

    @classmethod
    def from_wire(cls, data: dict[str, Any] | None) -> Person | None:
        return cls(str(data.get("username", "")), str(data.get("name", ""))) if data else None


@dataclass(frozen=True)
class Vote:
    """The vote of a person for what was decided."""

    by: Person
    at: str

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Vote:
        return cls(Person.from_wire(data.get("by")) or Person("", ""), str(data.get("at", "")))

    def to_wire(self) -> dict[str, Any]:
        return {"by": {"username": self.by.username, "name": self.by.name}, "at": self.at}


@dataclass(frozen=True)
class Choice:
    """What was decided for one prompt."""

    question: str
    header: str = ""
    selected_options: list[str] = field(default_factory=list)
    custom_input: str | None = None
    notes: str | None = None

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Choice:
        return cls(
            question=str(data.get("question", "")),
            header=data.get("header") or "",
            selected_options=list(data.get("selectedOptions") or []),
            custom_input=data.get("customInput"),
            notes=data.get("notes"),
        )

    def to_wire(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "selectedOptions": self.selected_options,
            "customInput": self.custom_input,
            "notes": self.notes,
        }


@dataclass(frozen=True)
class Answered:
    """A person chose; `via` says where: web, terminal or api.

    Where several had to agree, `by` is the person whose vote decided, and `votes` are all votes for it.
    """

    question: Question
    choices: list[Choice]
    by: Person | None
    via: str
    at: str
    votes: list[Vote] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of all who decided it; empty if they are not known."""
        if self.votes:
            return [vote.by.name for vote in self.votes]
        return [self.by.name] if self.by else []


@dataclass(frozen=True)
class Declined:
    """A person chose not to answer."""

    question: Question
    by: Person | None
    reason: str


@dataclass(frozen=True)
class AskedBack(Declined):
    """A person wrote to the agent instead of choosing: `reason` is what they wrote."""


@dataclass(frozen=True)
class Expired:
    """The question's deadline passed, or it was closed because no agent waited (`question.ended`).

    `default` is what the question named for its deadline, or empty.
    """

    question: Question
    default: list[Choice]


@dataclass(frozen=True)
class Withdrawn:
    """An agent or a person withdrew the question, or its room was archived (`question.ended`)."""

    question: Question


@dataclass(frozen=True)
class StillOpen:
    """There is no answer yet; the question stays open."""

    question: Question


@dataclass(frozen=True)
class Memory:
    """An earlier question that a person answered, and how similar it is: 1 for the same words."""

    question: Question
    similarity: float


Result = Union[Answered, Declined, Expired, Withdrawn, StillOpen]
