"""Questions over the API: ask, list, read, withdraw, answer, find similar ones.

Each view parses, calls one verb and responds. Under ASGI a call that waits is admitted here, and then stays
open in `rooms.live`; under WSGI it is answered at once.
"""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse

from rooms import access, lifecycle, serializers, timeline
from rooms.access import rate_limits
from rooms.access.admission import admission_of
from rooms.api.endpoint import (
    endpoint,
    invalid_parameter,
    page_limit,
    read_json,
    wait_seconds,
)
from rooms.api.grants import WaitGrant
from rooms.contract import problems
from rooms.contract.limits import IDENTIFIER_LENGTH, QUESTION_LENGTH
from rooms.contract.payload import Named, ReportedAnswer, parse_ask
from rooms.contract.replies import JsonReply
from rooms.contract.scopes import Scope
from rooms.contract.types import FieldError, InvalidPayload, parse
from rooms.db.transactions import optional_writes
from rooms.history import similar, writer
from rooms.models import AgentKey, Answer, Question
from rooms.rendering.option_memory import SHOWN

# Enough to index the answers of the last second; an agent does not wait for a long backlog.
CATCH_UP_SECONDS = 0.05


def ask(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    own_room = access.room_of_key(key, room)
    seconds = wait_seconds(request)
    question, is_new = ask_within_rate(request, key, read_json(request))
    question.room = own_room
    status = 201 if is_new else 200
    if admission := admission_of(request):
        return admission.admit(WaitGrant(key.pk, question.pk, seconds, _url(request, question), status))
    reply = _question(request, question, status)
    if not question.is_open:
        lifecycle.deliver(question.pk)  # an agent that repeats its ask after a crash gets the answer here
    return reply


def ask_within_rate(request: HttpRequest, key: AgentKey, body: Any) -> tuple[Question, bool]:
    """Ask with a body in any accepted shape, after checking scope and rate limit; True if it is new."""
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
    return JsonReply(
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
        seconds = wait_seconds(request)
        if admission := admission_of(request):
            return admission.admit(WaitGrant(key.pk, question.pk, seconds, _url(request, question)))
        look_for_result(question)
        question = access.question_of_key(key, question_id)
    return _question(request, question)


def _url(request: HttpRequest, question: Question) -> str:
    return request.build_absolute_uri(serializers.path_of(question))


def look_for_result(question: Question) -> None:
    """A wait of zero seconds: renews the lease of an open question, delivers a settled one."""
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
    """Answer with what an unnamed person chose in the terminal of the agent that asked."""
    access.check_scope(key, Scope.TERMINAL)
    access.check_own(key, question)
    return lifecycle.answer(question, answers, via=Answer.Via.TERMINAL, key=key)


def _answer_for(key: AgentKey, question: Question, answers: Sequence[Any], by: Named | None) -> Question:
    """Answer for a named person who chose elsewhere, such as in a chat; a vote for a careful question."""
    access.check_scope(key, Scope.ANSWER)
    if by is None:
        message = "is required: name the person who answers by their user name"
        raise InvalidPayload([FieldError(field="by", message=message)])
    person = access.person_to_answer_for(question.room, by.username)
    return lifecycle.answer(question, answers, via=Answer.Via.API, user=person, key=key)


def _question(request: HttpRequest, question: Question, status: int = 200) -> HttpResponse:
    return JsonReply(serializers.question_object(question, request.build_absolute_uri), status=status)


def remember(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    own_room = access.room_of_key(key, room)
    text = request.GET.get("q", "")
    if not text.strip():
        raise invalid_parameter("q", "must be the text of a question")
    if len(text) > QUESTION_LENGTH:
        raise invalid_parameter("q", f"is longer than {QUESTION_LENGTH:,} characters")
    limit = page_limit(request, SHOWN, similar.MOST)
    with optional_writes():
        writer.catch_up(CATCH_UP_SECONDS)
    found = similar.find_similar(own_room.pk, similar.Fingerprint.of(text), limit)
    memories = [
        serializers.MemoryObject(
            question=serializers.question_object(earlier, request.build_absolute_uri), similarity=similarity
        )
        for earlier, similarity in found
    ]
    return JsonReply(serializers.MemoryList(memories=memories))


questions = endpoint(GET=list_questions, POST=ask)
question = endpoint(GET=read_question, DELETE=withdraw)
wait = endpoint(DELETE=stop_waiting)
answer = endpoint(POST=report_answer)
remembered = endpoint(GET=remember)
