"""The agents' JSON API: each view parses, calls one verb and responds.

Under ASGI `live.py` takes the calls that wait before they come here; under WSGI they answer at once.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, serializers, timeline
from rooms.access import rate_limits
from rooms.api import openapi
from rooms.api.endpoint import (
    endpoint,
    invalid_parameter,
    page_limit,
    read_json,
    refuse_constant,
    wait_seconds,
)
from rooms.contract import problems
from rooms.contract.limits import IDENTIFIER_LENGTH, QUESTION_LENGTH
from rooms.contract.payload import (
    MESSAGE_TYPES,
    Named,
    NewMessage,
    ReportedAnswer,
    ResponseContent,
    parse_ask,
)
from rooms.contract.prompts import parse_prompts
from rooms.contract.scopes import Scope
from rooms.contract.types import FieldError, InvalidPayload, parse
from rooms.db import readiness
from rooms.db.transactions import optional_writes
from rooms.history import similar, writer
from rooms.models import AgentKey, Answer, Question

# What was answered a moment ago is remembered, and no agent waits for a long past to be read.
CATCH_UP_SECONDS = 0.05


# ---- questions -------------------------------------------------------------------------------------------


def ask(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    own_room = access.room_of_key(key, room)
    question, is_new = ask_within_rate(request, key, read_json(request))
    question.room = own_room
    reply = _question(request, question, status=201 if is_new else 200)
    if not question.is_open:
        lifecycle.deliver(question.pk)  # an agent that asks again after a crash has its answer now
    return reply


def ask_within_rate(request: HttpRequest, key: AgentKey, body: Any) -> tuple[Question, bool]:
    """One ask in any shape, within the key's scopes and its rate."""
    access.check_scope(key, Scope.ASK)
    try:
        asked = parse_ask(body)
        access.check_named_by_key(key, asked.care)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_question") from error
    idempotency_key = request.headers.get("Idempotency-Key", "")
    if len(idempotency_key) > IDENTIFIER_LENGTH:
        raise invalid_parameter("Idempotency-Key", f"is longer than {IDENTIFIER_LENGTH} characters")
    rate_limits.check_asks(key)
    try:
        return lifecycle.ask(key.room, key, asked, idempotency_key)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_question") from error


def list_questions(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    questions = Question.objects.with_answer().filter(room=access.room_of_key(key, room)).order_by("position")
    if status := request.GET.get("status"):
        if status not in Question.Status:
            raise invalid_parameter("status", f"must be one of {', '.join(Question.Status)}")
        questions = questions.filter(status=status)
    if after := request.GET.get("after"):
        questions = questions.filter(position__gt=timeline.position_of(key.room, after))
    limit = page_limit(request)
    page = list(questions[: limit + 1])
    return JsonResponse(
        serializers.QuestionList(
            questions=[
                serializers.question_object(question, request.build_absolute_uri) for question in page[:limit]
            ],
            next=page[limit - 1].pk if len(page) > limit else None,
        )
    )


def read_question(request: HttpRequest, key: AgentKey, question_id: str) -> HttpResponse:
    question = access.question_of_key(key, question_id)
    if "wait" in request.GET:
        access.check_scope(key, Scope.ASK)
        wait_seconds(request)
        look_for_result(question)
        question = access.question_of_key(key, question_id)
    return _question(request, question)


def look_for_result(question: Question) -> None:
    """A wait of no seconds: a sign of life, and the delivery of what is there."""
    question = lifecycle.expire_if_due(question)
    if question.is_open:
        lifecycle.wait_started(question.pk)
    else:
        lifecycle.deliver(question.pk)


def stop_waiting(request: HttpRequest, key: AgentKey, question_id: str) -> HttpResponse:
    question = access.question_of_key(key, question_id)
    access.check_scope(key, Scope.ASK)
    lifecycle.wait_ended(question.pk)
    return HttpResponse(status=204)


def withdraw(request: HttpRequest, key: AgentKey, question_id: str) -> HttpResponse:
    question = access.question_of_key(key, question_id)
    access.check_scope(key, Scope.ASK)
    access.check_own(key, question)
    return _question(request, lifecycle.withdraw(question, by=key))


def report_answer(request: HttpRequest, key: AgentKey, question_id: str) -> HttpResponse:
    question = access.question_of_key(key, question_id)
    body = read_json(request)
    try:
        reported = parse(ReportedAnswer, body)
        if reported.via == Answer.Via.TERMINAL:
            answered = report_terminal(key, question, reported.answers)
        else:
            answered = _answer_for(key, question, reported.answers, reported.by)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_answer") from error
    return _question(request, answered)


def report_terminal(key: AgentKey, question: Question, answers: Sequence[Any]) -> Question:
    """What a person, whom the agent cannot name, chose in the terminal of the agent that asked."""
    access.check_scope(key, Scope.TERMINAL)
    access.check_own(key, question)
    return lifecycle.answer(question, answers, via=Answer.Via.TERMINAL, key=key)


def _answer_for(key: AgentKey, question: Question, answers: Sequence[Any], by: Named | None) -> Question:
    """What a named person chose elsewhere, such as in a chat; to a careful question it is their vote."""
    access.check_scope(key, Scope.ANSWER)
    if by is None:
        message = "is required: name the person who answers by their user name"
        raise InvalidPayload([FieldError(field="by", message=message)])
    person = access.person_to_answer_for(question.room, by.username)
    return lifecycle.answer(question, answers, via=Answer.Via.API, user=person, key=key)


def _question(request: HttpRequest, question: Question, status: int = 200) -> HttpResponse:
    return JsonResponse(serializers.question_object(question, request.build_absolute_uri), status=status)


def remember(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    own_room = access.room_of_key(key, room)
    text = request.GET.get("q", "")
    if not text.strip():
        raise invalid_parameter("q", "must be the text of a question")
    if len(text) > QUESTION_LENGTH:
        raise invalid_parameter("q", f"is longer than {QUESTION_LENGTH:,} characters")
    limit = page_limit(request, similar.SHOWN, similar.MOST)
    with optional_writes():
        writer.catch_up(CATCH_UP_SECONDS)
    found = similar.remember(own_room.pk, similar.Likeness.of(text), limit)
    memories = [
        openapi.MemoryObject(
            question=serializers.question_object(earlier, request.build_absolute_uri), similarity=similarity
        )
        for earlier, similarity in found
    ]
    return JsonResponse(openapi.MemoryList(memories=memories))


def do_nothing_for_hook(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    """Under WSGI nobody can wait for an answer: Claude Code goes on as if there were no hook."""
    access.room_of_key(key, room)
    return JsonResponse({})


# ---- messages --------------------------------------------------------------------------------------------


def list_messages(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    page, results = messages_page(request, key, room)
    if "wait" in request.GET:
        lifecycle.renew_leases(lifecycle.asked_with(key.pk))  # a wait of no seconds is a sign of life
    lifecycle.deliver_all(results)
    return JsonResponse(page)


def messages_page(
    request: HttpRequest, key: AgentKey, room: str
) -> tuple[serializers.MessageList, list[str]]:
    """A page of the timeline, and the questions of this key whose results it delivers."""
    own_room = access.room_of_key(key, room)
    after = request.GET.get("after")
    position = timeline.position_of(own_room, after) if after else 0
    limit = page_limit(request)
    entries = timeline.entries_after(own_room, position, limit + 1)
    page: serializers.MessageList = {
        "messages": [serializers.message_object(entry) for entry in entries[:limit]],
        "next": entries[limit - 1].pk if len(entries) > limit else None,
    }
    return page, timeline.results_for(key.pk, entries[:limit])


def post_message(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    access.room_of_key(key, room)
    body = read_json(request)
    try:
        message = parse(NewMessage, body)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_message") from error
    entry = _POSTED[message.type](request, key, message)
    return JsonResponse(serializers.message_object(entry), status=201)


def _post_line(request: HttpRequest, key: AgentKey, message: NewMessage) -> timeline.Entry:
    access.check_scope(key, Scope.ASK)
    rate_limits.check_agent_messages(key)
    return lifecycle.post_message(
        key.room,
        key=key,
        sender=message.sender or key.label,
        sender_type=message.sender_type,
        kind=message.type,
        content=message.content,
        color=message.color,
    )


def _post_question(request: HttpRequest, key: AgentKey, message: NewMessage) -> timeline.Entry:
    body = _content_as_object(message)
    body.setdefault("agent", {"name": message.sender or key.label, "color": message.color})
    question, _ = ask_within_rate(request, key, body)
    return question


def _post_response(request: HttpRequest, key: AgentKey, message: NewMessage) -> timeline.Entry:
    """The answer to a single prompt by its labels, or to several by their texts; or a vote for it."""
    try:
        response = parse(ResponseContent, _content_as_object(message), at="content")
        question = access.question_of_key(key, response.question_id)
        choices: list[Any] = list(response.answers)
        if not choices:
            first = parse_prompts(question.prompts)[0]
            choices = [{"question": first.question, "selectedOptions": response.selected_options}]
        answered = _answer_for(key, question, choices, response.by)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_answer") from error
    # A vote that decides nothing yet adds no entry: the reply is then the question, still open.
    return answered if answered.is_open else answered.answer


def _content_as_object(message: NewMessage) -> dict[str, Any]:
    try:
        content = json.loads(message.content, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        error = FieldError(field="content", message=f"must be a JSON object for type {message.type}")
        raise problems.invalid(InvalidPayload([error]), "invalid_message")
    return content


_POSTED: dict[str, Callable[[HttpRequest, AgentKey, NewMessage], timeline.Entry]] = dict(
    zip(MESSAGE_TYPES, (_post_line, _post_line, _post_question, _post_response), strict=True)
)


# ---- without a key ---------------------------------------------------------------------------------------


@csrf_exempt
@login_not_required
def openapi_document(request: HttpRequest) -> HttpResponse:
    if request.method not in ("GET", "HEAD"):
        return problems.method_not_allowed(["GET"]).as_response()
    return JsonResponse(openapi.document())


@csrf_exempt
@login_not_required
def not_found(request: HttpRequest, **path: str) -> HttpResponse:
    return problems.not_found().as_response()


@csrf_exempt
@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """The database is reachable and takes writes; under ASGI `live.readyz` asks the channel layer as well."""
    state = readiness.database_state()
    return JsonResponse({"database": state}, status=200 if state == "ok" else 503)


# ---- the addresses ---------------------------------------------------------------------------------------

questions = endpoint(GET=list_questions, POST=ask)
question = endpoint(GET=read_question, DELETE=withdraw)
wait = endpoint(DELETE=stop_waiting)
answer = endpoint(POST=report_answer)
remembered = endpoint(GET=remember)
claude_code = endpoint(POST=do_nothing_for_hook)
messages = endpoint(GET=list_messages, POST=post_message)
events = endpoint(GET=list_messages)
