"""Results of MCP tools: JSON data, and the same as a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bridge_client.claude_code.answer_text import quoted
from bridge_client.claude_code.answers import claude_answers
from bridge_client.claude_code.decisions import undecided_because
from bridge_client.claude_code.sentences import (
    DO_NOT_ASK_AGAIN,
    all_names,
    as_name,
    declined_sentence,
    default_sentence,
    expired_sentence,
    no_answer_yet_sentence,
    withdrawn_sentence,
)
from bridge_client.errors import ClientError, ProblemError
from bridge_client.mcp.tools import WAIT
from bridge_client.results import (
    Answered,
    AskedBack,
    Choice,
    Declined,
    Expired,
    Memory,
    Person,
    Question,
    Result,
    StillOpen,
)

# Errors that the model can fix by changing its call; all others concern the setup or the network.
INVALID_STATUSES = (400, 404, 409, 413, 422)

NO_REPLY = "The bridge does not reply at the moment"


@dataclass(frozen=True)
class Outcome:
    """`data` is complete; `text` is for models whose client passes only texts."""

    data: dict[str, Any]
    text: str
    is_error: bool = False


def outcome_of(result: Result) -> Outcome:
    """The outcome of a settled or open question. Never an invented answer."""
    question = result.question
    if isinstance(result, StillOpen):
        return still_open(question.id, question.url, no_answer_yet_sentence(question))
    data: dict[str, Any] = {"status": question.status, "question_id": question.id}
    if isinstance(result, Answered):
        names = all_names(result.names or ["Somebody"])
        data.update(_answers(result.choices), by=_person(result.by), via=result.via, is_default=False)
        if result.votes:
            data["votes"] = [vote.to_wire() for vote in result.votes]
        return Outcome(data, f"{names} answered:\n{_as_lines(result.choices, question)}")
    if isinstance(result, Expired) and result.default:
        message = default_sentence(result)
        data.update(_answers(result.default), by=None, via="default", is_default=True, message=message)
        return Outcome(data, f"{message}\n{_as_lines(result.default, question)}")
    if isinstance(result, Declined):
        kind = "reply" if isinstance(result, AskedBack) else "skip"
        data.update(kind=kind, by=_person(result.by), reason=result.reason)
        message = declined_sentence(result)
    elif isinstance(result, Expired):
        message = f"{expired_sentence(question)}. {DO_NOT_ASK_AGAIN}"
    else:
        message = f"{withdrawn_sentence(question)} before it was answered. {DO_NOT_ASK_AGAIN}"
    return Outcome({**data, "message": message}, message)


def still_open(question_id: str, url: str, why: str) -> Outcome:
    """There is no decision yet, and the time of the call is over."""
    message = f"{why}; the question stays open."
    data = {
        "status": "still_open",
        "question_id": question_id,
        **({"url": url} if url else {}),
        "message": message,
        "next": f"call {WAIT} with this id",
    }
    return Outcome(data, f'{message} Call {WAIT} with {{"question_id": "{question_id}"}}.')


def remembered(memories: Sequence[Memory]) -> Outcome:
    """Earlier answers to similar questions."""
    answered = [(each, each.question.result) for each in memories]
    found = [(each, result) for each, result in answered if isinstance(result, Answered)]
    data = [
        {
            "question_id": each.question.id,
            "url": each.question.url,
            "similarity": each.similarity,
            "answers": [choice.to_wire() for choice in result.choices],
            "by": _person(result.by),
            "at": result.at,
        }
        for each, result in found
    ]
    lines = [
        f"{each.similarity:.0%} similar, {as_name(result.by.name) if result.by else 'somebody'} "
        f"on {result.at[:10]}:\n{_as_lines(result.choices, each.question)}"
        for each, result in found
    ]
    return Outcome({"memories": data}, "\n".join(lines) or "Nothing similar was answered before.")


def failed(error: ClientError, question_id: str = "") -> Outcome:
    """The bridge refused, or could not be reached."""
    data = {"question_id": question_id} if question_id else {}
    if isinstance(error, ProblemError) and error.status in INVALID_STATUSES:
        message = f"The bridge refused this. {_error_lines(error)}"
        return Outcome({"status": "invalid", **data, "message": message}, message, is_error=True)
    message = undecided_because(error).message
    return Outcome({"status": "unreachable", **data, "message": message}, message, is_error=True)


def _error_lines(error: ProblemError) -> str:
    fields = [each for each in error.body.get("errors") or [] if isinstance(each, dict)]
    lines = [f"{each.get('field')}: {each.get('message')}" for each in fields]
    return "\n".join([error.detail, *lines])


def _answers(choices: Sequence[Choice]) -> dict[str, Any]:
    return {"kind": "choice", "answers": [choice.to_wire() for choice in choices]}


def _person(person: Person | None) -> dict[str, str] | None:
    return {"username": person.username, "name": person.name} if person else None


def _as_lines(choices: Sequence[Choice], question: Question) -> str:
    answers = claude_answers(choices, question.prompts)
    return "\n".join(_as_line(choice, answers.get(choice.question, "")) for choice in choices)


def _as_line(choice: Choice, answer: str) -> str:
    note = f" (note: {quoted(choice.notes)})" if choice.notes else ""
    return f"- {quoted(choice.question)} = {answer}{note}"
