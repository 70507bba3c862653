"""Messages over the API: the timeline page by page, and what agents post into it."""

import json
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from rooms import access, lifecycle, serializers, timeline
from rooms.access import rate_limits
from rooms.access.admission import admission_of
from rooms.api.endpoint import (
    endpoint,
    page_limit,
    read_json,
    refuse_constant,
    wait_seconds,
)
from rooms.api.grants import ListenGrant
from rooms.api.questions import _answer_for, ask_within_rate
from rooms.contract import problems
from rooms.contract.payload import NewMessage, ResponseContent
from rooms.contract.prompts import parse_prompts
from rooms.contract.replies import JsonReply
from rooms.contract.scopes import Scope
from rooms.contract.types import FieldError, InvalidPayload, parse
from rooms.models import AgentKey


def list_messages(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    own_room = access.room_of_key(key, room)
    after = request.GET.get("after")
    position = timeline.position_of(own_room, after) if after else 0
    limit = page_limit(request)
    if "wait" in request.GET:
        seconds = wait_seconds(request)
        if admission := admission_of(request):
            return admission.admit(ListenGrant(key, position, limit, seconds))
        lifecycle.renew_leases_of_key(key.pk)  # a wait of zero seconds renews the leases
    page, results = messages_page(key, position, limit)
    lifecycle.deliver_all(results)
    return JsonReply(page)


def messages_page(key: AgentKey, position: int, limit: int) -> tuple[serializers.MessageList, list[str]]:
    """One page of the timeline, and the ids of this key's questions whose results are on it."""
    entries = timeline.entries_after(key.room, position, limit + 1)
    page: serializers.MessageList = {
        "messages": [serializers.message_object(entry) for entry in entries[:limit]],
        "next": entries[limit - 1].pk if len(entries) > limit else None,
    }
    return page, timeline.results_for(key.pk, entries[:limit])


def open_events(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    """The event stream of the room; under WSGI a page of the same entries."""
    own_room = access.room_of_key(key, room)
    admission = admission_of(request)
    if admission is None:
        return list_messages(request, key, room)
    named = request.headers.get("Last-Event-ID") or request.GET.get("after")
    cursor, position = (
        (named, timeline.position_of(own_room, named)) if named else timeline.last_entry(own_room)
    )
    return admission.admit(ListenGrant(key, position, cursor=cursor))


def post_message(request: HttpRequest, key: AgentKey, room: str) -> HttpResponse:
    access.room_of_key(key, room)
    body = read_json(request)
    try:
        message = parse(NewMessage, body)
    except InvalidPayload as error:
        raise problems.invalid(error, "invalid_message") from error
    entry = POST_BY_TYPE[message.type](request, key, message)
    return JsonReply(serializers.message_object(entry), status=201)


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
    """Answer a single prompt by labels, or several by their texts; a vote for a careful question."""
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
    # A vote that does not decide yet adds no entry, so the reply is the open question.
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


# One function for each of `MESSAGE_TYPES`.
POST_BY_TYPE: dict[str, Callable[[HttpRequest, AgentKey, NewMessage], timeline.Entry]] = {
    "message": _post_line,
    "log": _post_line,
    "AskUserQuestion": _post_question,
    "AskUserQuestionResponse": _post_response,
}


messages = endpoint(GET=list_messages, POST=post_message)
events = endpoint(GET=open_events)
