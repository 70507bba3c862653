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

from django.http import HttpRequest, HttpResponse

from bridge_client.claude_code import envelopes
from bridge_client.claude_code.decisions import undecided_because
from bridge_client.claude_code.hook import HookCall, Refusal, report
from bridge_client.results import Choice
from bridge_client.results import Question as QuestionResult
from rooms import access, lifecycle, serializers
from rooms.access.admission import Admission, admission_of
from rooms.api.endpoint import endpoint, invalid_parameter, read_json
from rooms.api.grants import HookGrant, WaitGrant
from rooms.api.questions import ask_within_rate, report_terminal
from rooms.contract.limits import FOLDER_LENGTH, HOOK_TIMEOUT_SECONDS, LONGEST_HOOK_TIMEOUT_SECONDS
from rooms.contract.problems import Problem
from rooms.contract.replies import JsonReply
from rooms.contract.types import InvalidPayload
from rooms.models import AgentKey, Question

logger = logging.getLogger(__name__)


def hook(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    """Ask the room what Claude Code asks; `{}` changes nothing for Claude Code."""
    access.room_of_key(key, room)
    envelope = _read_envelope(request)
    if problem := envelopes.problem_with(envelope):
        _log_not_understood(room, problem)
        return JsonReply({})
    if not envelopes.is_about_questions(envelope):
        return JsonReply({})
    if envelopes.is_report(envelope):
        return JsonReply(_report(key, room, envelope))
    admission = admission_of(request)
    # Under WSGI a request cannot wait, so Claude Code goes on as without a hook.
    return _ask(request, key, envelope, admission) if admission else JsonReply({})


def _log_not_understood(room: str, problem: str) -> None:
    # %r escapes control characters: the reason may quote text that an agent sent.
    logger.warning("A hook envelope for the room %s was not understood: %r", room, problem)


def _ask(request: HttpRequest, key: AgentKey, envelope: dict[str, Any], admission: Admission) -> HttpResponse:
    call = HookCall(envelope, _timeout_seconds(request), is_headless=request.GET.get("headless") == "1")

    def send(body: dict[str, Any]) -> QuestionResult:
        question, _ = ask_within_rate(request, key, body)
        question.room = key.room
        return QuestionResult.from_wire(serializers.question_object(question, request.build_absolute_uri))

    agent = request.GET.get("agent") or envelopes.AGENT
    cwd = str(call.envelope.get("cwd") or "")[:FOLDER_LENGTH]
    try:
        asked = call.ask(send, agent=agent, context={"cwd": cwd})
    except Problem as problem:
        if problem.body["code"] != "invalid_question":
            raise
        _log_not_understood(key.room.slug, str(problem))
        return JsonReply(call.output(undecided_because(problem)) or {})
    wait = WaitGrant(key.pk, asked.id, call.wait_seconds, asked.url)
    return admission.admit(HookGrant(wait, call))


def _read_envelope(request: HttpRequest) -> Any:
    """The body as JSON, or None if it is not JSON."""
    try:
        return read_json(request)
    except Problem as problem:
        if problem.status not in (400, 415):
            raise
        return None


def _report(key: AgentKey, room: str, envelope: dict[str, Any]) -> dict[str, Any]:
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


def _timeout_seconds(request: HttpRequest) -> float:
    text = request.GET.get("timeout") or str(HOOK_TIMEOUT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        raise invalid_parameter("timeout", "must be a number of seconds") from None
    return min(seconds, LONGEST_HOOK_TIMEOUT_SECONDS) if seconds > 0 else 0


claude_code = endpoint(POST=hook)
