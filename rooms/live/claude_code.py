"""HTTP endpoint for the hooks of Claude Code, for machines without the `ask-bridge` command.

It takes the envelopes of PreToolUse, PermissionRequest and PostToolUse and replies in the output format of
hooks. An envelope that it does not understand gets `{}`: other agents run the hooks of Claude Code as well,
and an error would deny their tool.
The flow itself is in `bridge_client.claude_code.hook`, because `ask-bridge hook` runs the same one over HTTP.
The server imports only pure functions of the client, which work on the JSON of the API.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.core.handlers.asgi import ASGIRequest

from bridge_client.claude_code import envelopes
from bridge_client.claude_code.decisions import undecided_because
from bridge_client.claude_code.hook import HookCall, Refusal, report
from bridge_client.results import Choice
from bridge_client.results import Question as QuestionResult
from rooms import access, lifecycle, serializers
from rooms.api.endpoint import invalid_parameter, read_json
from rooms.api.questions import ask_within_rate, report_terminal
from rooms.contract.limits import FOLDER_LENGTH, HOOK_TIMEOUT_SECONDS, LONGEST_HOOK_TIMEOUT_SECONDS
from rooms.contract.problems import Problem
from rooms.contract.types import InvalidPayload
from rooms.db.pool import in_database
from rooms.live.exchange import Exchange
from rooms.live.waits import wait_until_settled
from rooms.models import AgentKey, Question

logger = logging.getLogger(__name__)


async def claude_code(exchange: Exchange, room: str) -> None:
    """Ask the room what Claude Code asks, and reply as a hook; `{}` changes nothing for Claude Code."""
    await exchange.read_body()
    envelope = await in_database(_read_envelope, exchange.request, room)
    if problem := envelopes.problem_with(envelope):
        _log_not_understood(room, problem)
        await exchange.respond_json({})
    elif not envelopes.is_about_questions(envelope):
        await exchange.respond_json({})
    elif envelopes.is_report(envelope):
        await exchange.respond_json(await in_database(_report, exchange.request, room, envelope))
    else:
        await _ask_and_wait(exchange, room, envelope)


async def _ask_and_wait(exchange: Exchange, room: str, envelope: dict[str, Any]) -> None:
    request = exchange.request
    call = HookCall(envelope, _timeout_seconds(request), is_headless=request.GET.get("headless") == "1")
    try:
        question_id = await in_database(_ask, request, call)
    except Problem as problem:
        if problem.body["code"] != "invalid_question":
            raise
        _log_not_understood(room, str(problem))
        await exchange.respond_json(call.output(undecided_because(problem)) or {})
        return
    question = await wait_until_settled(exchange, question_id, call.wait_seconds, exchange.keep_alive)
    if question is None:
        return
    decision = call.decide(_as_client(question, request).result)
    await exchange.respond_json(call.output(decision) or {})
    if question.is_open:
        # Claude Code continues without an answer: no agent waits any more, and the card shows that at once.
        await in_database(lifecycle.wait_ended, question_id)
    else:
        await in_database(lifecycle.deliver, question_id)


def _log_not_understood(room: str, problem: str) -> None:
    # %r escapes control characters: the reason may quote text that an agent sent.
    logger.warning("A hook envelope for the room %s was not understood: %r", room, problem)


def _read_envelope(request: ASGIRequest, room: str) -> Any:
    """The body as JSON, or None if it is not JSON; raises without a key of this room."""
    key = access.key_from_header(request.headers.get("Authorization", ""))
    access.room_of_key(key, room)
    try:
        return read_json(request)
    except Problem as problem:
        if problem.status not in (400, 415):
            raise
        return None


def _ask(request: ASGIRequest, call: HookCall) -> str:
    key = access.key_from_header(request.headers.get("Authorization", ""))

    def send(body: dict[str, Any]) -> QuestionResult:
        question, _ = ask_within_rate(request, key, body)
        question.room = key.room
        return _as_client(question, request)

    agent = request.GET.get("agent") or envelopes.AGENT
    cwd = str(call.envelope.get("cwd") or "")[:FOLDER_LENGTH]
    return call.ask(send, agent=agent, context={"cwd": cwd}).id


def _as_client(question: Question, request: ASGIRequest) -> QuestionResult:
    """The question as the client would have read it from the wire."""
    return QuestionResult.from_wire(serializers.question_object(question, request.build_absolute_uri))


def _report(request: ASGIRequest, room: str, envelope: dict[str, Any]) -> dict[str, Any]:
    key = access.key_from_header(request.headers.get("Authorization", ""))
    try:
        return report(envelope, _RoomOfKey(key)) or {}
    except InvalidPayload as error:
        _log_not_understood(room, str(error))
        return {}


class _RoomOfKey:
    """`bridge_client.claude_code.hook.Room`, implemented with the database."""

    def __init__(self, key: AgentKey) -> None:
        self._key = key

    def open_questions(self, session_id: str) -> Iterable[Question]:
        questions = Question.objects.open().select_related("room")
        return questions.filter(room_id=self._key.room_id, session_id=session_id)

    def answer(self, question: Question, choices: list[Choice]) -> Refusal | None:
        try:
            report_terminal(self._key, question, [choice.to_wire() for choice in choices])
        except lifecycle.AlreadySettled:
            return Refusal.SETTLED
        except lifecycle.NeedsPeople:
            return Refusal.NEEDS_PEOPLE
        return None

    def withdraw(self, question: Question) -> None:
        with suppress(lifecycle.AlreadySettled):
            lifecycle.withdraw(question, by=self._key)


def _timeout_seconds(request: ASGIRequest) -> float:
    text = request.GET.get("timeout") or str(HOOK_TIMEOUT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        raise invalid_parameter("timeout", "must be a number of seconds") from None
    return min(seconds, LONGEST_HOOK_TIMEOUT_SECONDS) if seconds > 0 else 0
