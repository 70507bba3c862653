"""Claude Code's own HTTP hooks: nothing to install on the agent's machine.

Takes the envelopes of PreToolUse, PermissionRequest and PostToolUse and answers in the hook's output format.
An envelope that it does not understand gets `{}`: other agents run the hooks of Claude Code as well, and an
error would deny their tool.
What Claude Code is told lives in `bridge_client`, because its command does the same from the other side:
pure functions over the wire's JSON, the only part of the client that the server knows.
"""

import logging
from contextlib import suppress
from typing import Any

from django.core.handlers.asgi import ASGIRequest

from bridge_client import envelopes
from bridge_client.answers import Decision, choices_from_claude, decide, questions_of, undecided_because
from bridge_client.results import Question as QuestionResult
from rooms import access, lifecycle, serializers
from rooms.api import views as api
from rooms.api.endpoint import invalid_parameter, read_json
from rooms.contract.limits import FOLDER_LENGTH, HOOK_TIMEOUT_SECONDS, LONGEST_HOOK_TIMEOUT_SECONDS
from rooms.contract.problems import Problem
from rooms.contract.types import InvalidPayload
from rooms.db.pool import in_database
from rooms.live.exchange import Exchange
from rooms.live.waits import wait_until_settled
from rooms.models import AgentKey, Question

logger = logging.getLogger(__name__)

# A question with a deadline is settled at it. This is only for one that was decided at the last moment and
# can still be undone; it has to fit between `timeout` and the longer one of Claude Code, 15 seconds later.
EXPIRY_GRACE_SECONDS = 10
# The least that an ask takes as its deadline is more than 0.
SHORTEST_DEADLINE_SECONDS = 0.001


async def claude_code(exchange: Exchange, room: str) -> None:
    """Ask the room what Claude Code asks, and reply as a hook would; `{}` leaves everything as it was."""
    await exchange.read_body()
    envelope = await in_database(_read_envelope, exchange.request, room)
    if problem := envelopes.what_is_not_understood(envelope):
        _log_not_understood(room, problem)
        await exchange.respond_json({})
    elif not envelopes.is_for_us(envelope):
        await exchange.respond_json({})
    elif envelopes.is_report(envelope):
        await exchange.respond_json(await in_database(_report, exchange.request, envelope))
    else:
        await _ask_the_room(exchange, room, envelope)


async def _ask_the_room(exchange: Exchange, room: str, envelope: dict[str, Any]) -> None:
    seconds = _timeout_seconds(exchange.request)
    is_headless = exchange.request.GET.get("headless") == "1"
    # Where the model is told for good that no answer came, the question is over at the same moment. At a
    # terminal it stays open: the dialog takes over.
    deadline_seconds = max(seconds, SHORTEST_DEADLINE_SECONDS) if is_headless else None
    try:
        question_id = await in_database(_ask, exchange.request, envelope, deadline_seconds)
    except Problem as problem:
        if problem.body["code"] != "invalid_question":
            raise
        _log_not_understood(room, str(problem))
        refused = undecided_because(problem)
        await exchange.respond_json(envelopes.output(envelope["hook_event_name"], refused, is_headless) or {})
        return
    longest = seconds + EXPIRY_GRACE_SECONDS if is_headless else seconds
    question = await wait_until_settled(exchange, question_id, longest, exchange.keep_alive)
    if question is None:
        return
    decision = _decide(question, envelope, seconds, exchange.request)
    output = envelopes.output(envelope["hook_event_name"], decision, is_headless)
    await exchange.respond_json(output or {})
    if question.is_open:
        # Claude Code goes on without an answer: nobody waits any more, and the card says so at once.
        await in_database(lifecycle.wait_ended, question_id)
    else:
        await in_database(lifecycle.deliver, question_id)


def _decide(question: Question, envelope: dict[str, Any], seconds: float, request: ASGIRequest) -> Decision:
    return decide(
        _as_client(question, request).result,
        envelopes.tool_input(envelope),
        seconds,
        repeats_answers=envelopes.knows_no_answers(envelope),
    )


def _log_not_understood(room: str, problem: str) -> None:
    # With escapes: the reason may quote what an agent sent.
    logger.warning("A hook envelope for the room %s was not understood: %r", room, problem)


def _read_envelope(request: ASGIRequest, room: str) -> Any:
    """What was sent, None if it is not even JSON; for the room's own key only."""
    key = access.key_from_header(request.headers.get("Authorization", ""))
    access.room_of_key(key, room)
    try:
        return read_json(request)
    except Problem as problem:
        if problem.status not in (400, 415):
            raise
        return None


def _ask(request: ASGIRequest, envelope: dict[str, Any], deadline_seconds: float | None) -> str:
    key = access.key_from_header(request.headers.get("Authorization", ""))
    asked = {
        "agent": {"name": request.GET.get("agent") or envelopes.AGENT},
        "session_id": str(envelope.get("session_id") or ""),
        "questions": questions_of(envelopes.tool_input(envelope)),
        "context": {"cwd": str(envelope.get("cwd") or "")[:FOLDER_LENGTH]},
        "timeout_seconds": deadline_seconds,
    }
    question = _ask_as(request, key, {**asked, "tool_use_id": envelopes.tool_use_id(envelope)})
    if question.is_used_up and envelopes.has_derived_id(envelope):
        question = _ask_as(request, key, {**asked, "tool_use_id": envelopes.next_tool_use_id(envelope)})
    return question.id


def _ask_as(request: ASGIRequest, key: AgentKey, asked: dict[str, Any]) -> QuestionResult:
    question, _ = api.ask_within_rate(request, key, asked)
    question.room = key.room
    return _as_client(question, request)


def _as_client(question: Question, request: ASGIRequest) -> QuestionResult:
    """The question as the client would have read it from the wire."""
    return QuestionResult.from_wire(serializers.question_object(question, request.build_absolute_uri))


def _report(request: ASGIRequest, envelope: dict[str, Any]) -> dict[str, Any]:
    """Close the card with what was answered in the terminal if it is open still; what Claude Code hears."""
    key = access.key_from_header(request.headers.get("Authorization", ""))
    reported = envelopes.reported_answers(envelope)
    question = _open_question_of(key.room_id, envelope)
    if question is None or not reported.answers:
        return {}
    choices = choices_from_claude(question.prompts, reported.answers, reported.annotations)
    try:
        answers = [choice.to_wire() for choice in choices]
        api.report_terminal(key, question, answers)
    except lifecycle.AlreadySettled:
        return {}  # somebody in the room was faster by a hair
    except lifecycle.NeedsPeople:
        with suppress(lifecycle.AlreadySettled):
            lifecycle.withdraw(question, by=key)  # it is asked again
        return envelopes.ask_again_output()
    except InvalidPayload as error:
        _log_not_understood(question.room.slug, str(error))
    return {}


def _open_question_of(room_id: int, envelope: dict[str, Any]) -> Question | None:
    open_questions = (
        Question.objects.open()
        .select_related("room")
        .filter(room_id=room_id, session_id=str(envelope.get("session_id") or ""))
    )
    return envelopes.question_of(envelope, open_questions)


def _timeout_seconds(request: ASGIRequest) -> float:
    text = request.GET.get("timeout") or str(HOOK_TIMEOUT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        raise invalid_parameter("timeout", "must be a number of seconds") from None
    return min(seconds, LONGEST_HOOK_TIMEOUT_SECONDS) if seconds > 0 else 0
