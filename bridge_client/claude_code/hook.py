"""The flow of the Claude Code hook: ask the room before the tool runs, report to the room after it.

Both sides run it: `ask-bridge hook` over HTTP, and the bridge's own hook endpoint over its database. This
module has no I/O of its own: each side passes in its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Protocol, TypeVar

from bridge_client.claude_code import envelopes
from bridge_client.claude_code.answers import choices_from_claude, questions_of
from bridge_client.claude_code.decisions import Decision, decide
from bridge_client.results import Choice, Question, Result
from bridge_client.transport.deadlines import EXPIRY_GRACE_SECONDS, question_deadline

# ---- before the tool runs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class HookCall:
    """One PreToolUse or PermissionRequest: what to ask, how long to wait, what to reply."""

    envelope: Mapping[str, Any]
    timeout_seconds: float
    is_headless: bool = False

    def ask(
        self, send: Callable[[dict[str, Any]], Question], *, agent: str, context: Mapping[str, str]
    ) -> Question:
        """The question of this tool use; `send` asks the room with a body of the API.

        Without a terminal the model gets the message that there is no answer, and acts on it. So the question
        has a deadline at the same moment. At a terminal it stays open while the dialog is shown.
        """
        body = {
            "agent": {"name": agent} if agent else None,
            "session_id": envelopes.session_id(self.envelope),
            "questions": questions_of(self._tool_input),
            "context": dict(context),
            "timeout_seconds": question_deadline(self.timeout_seconds) if self.is_headless else None,
        }
        body = {name: value for name, value in body.items() if value}
        question = send({**body, "tool_use_id": envelopes.tool_use_id(self.envelope)})
        if question.is_used_up and envelopes.has_derived_id(self.envelope):
            question = send({**body, "tool_use_id": envelopes.next_tool_use_id(self.envelope)})
        return question

    @property
    def wait_seconds(self) -> float:
        """How long to wait for the answer. The bridge may report a passed deadline a little later."""
        return self.timeout_seconds + (EXPIRY_GRACE_SECONDS if self.is_headless else 0)

    def decide(self, result: Result) -> Decision:
        """What the result of the question means for the tool."""
        repeats_answers = envelopes.may_lack_answers(self.envelope)
        return decide(result, self._tool_input, self.timeout_seconds, repeats_answers=repeats_answers)

    def output(self, decision: Decision) -> dict[str, Any] | None:
        """The output of the hook; None leaves the question to the terminal's dialog."""
        return envelopes.output(self.envelope["hook_event_name"], decision, self.is_headless)

    @property
    def _tool_input(self) -> dict[str, Any]:
        return envelopes.tool_input(self.envelope)


# ---- after the tool has run ------------------------------------------------------------------------------


class Refusal(Enum):
    """Why the room did not take the answer that was given in the terminal."""

    SETTLED = "settled"
    NEEDS_PEOPLE = "needs_people"
    MISSING_SCOPE = "missing_scope"


class OpenQuestion(Protocol):
    """A question of the room, as the client or the server represents it."""

    @property
    def tool_use_id(self) -> str: ...

    @property
    def prompts(self) -> list[dict[str, Any]]: ...


AnyQuestion = TypeVar("AnyQuestion", bound=OpenQuestion)


class Room(Protocol[AnyQuestion]):
    """The interface to the room that `report` needs."""

    def open_questions(self, session_id: str) -> Iterable[AnyQuestion]: ...

    def answer(self, question: AnyQuestion, choices: list[Choice]) -> Refusal | None: ...

    def withdraw(self, question: AnyQuestion) -> None:
        """Withdraw the question if it is still open."""


def report(envelope: Mapping[str, Any], room: Room[AnyQuestion]) -> dict[str, Any] | None:
    """Close the open card with the answer from the terminal; returns the output of the hook, or None."""
    reported = envelopes.reported_answers(envelope)
    if not reported.answers:
        return None
    open_questions = room.open_questions(envelopes.session_id(envelope))
    question = envelopes.question_of(envelope, open_questions)
    if question is None:
        return None
    refusal = room.answer(
        question, choices_from_claude(question.prompts, reported.answers, reported.annotations)
    )
    if refusal in (Refusal.NEEDS_PEOPLE, Refusal.MISSING_SCOPE):
        # Particular people have to decide: Claude asks again, as a new question. Or the key may only ask: it
        # cannot report the choice, but it can withdraw a question that needs no answer any more.
        room.withdraw(question)
    return envelopes.ask_again_output() if refusal is Refusal.NEEDS_PEOPLE else None
