"""Long-polls of agents: for an answer, for messages, and the event stream of a room.

Always in this order: register with the hub, read the database, wait. A change in between wakes the wait.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.utils import timezone

from rooms import access, lifecycle, serializers, timeline
from rooms.api.endpoint import wait_seconds
from rooms.api.messages import messages_page
from rooms.contract import problems
from rooms.contract.limits import PAGE_LIMIT
from rooms.contract.scopes import Scope
from rooms.db.pool import in_database
from rooms.live.connections import AnswerWait, Connection
from rooms.live.events import encode_event
from rooms.live.exchange import COMMENT_SECONDS, Exchange
from rooms.live.hub import hub
from rooms.models import Question, Room


async def wait_for_answer(exchange: Exchange, question_id: str, status: int = 200) -> None:
    """Reply when the question is settled, or with the open question when the time is up."""
    seconds = wait_seconds(exchange.request)
    question = await wait_until_settled(exchange, question_id, seconds)
    if question is None:
        return
    if question.is_open and hub.is_closing and exchange.request.method == "GET":
        await exchange.respond_problem(problems.shutting_down())
        return
    await exchange.respond_json(serializers.question_object(question, exchange.absolute), status)
    if not question.is_open:
        await in_database(lifecycle.deliver, question_id)


async def wait_until_settled(
    exchange: Exchange,
    question_id: str,
    seconds: float,
    still_waiting: Callable[[], Awaitable[None]] | None = None,
) -> Question | None:
    """The question once it is settled, the time is up or the process stops; None after a disconnect.

    `still_waiting` is called every COMMENT_SECONDS.
    """
    clock = asyncio.get_running_loop().time
    connection = AnswerWait()
    hub.add_wait(question_id, connection)
    watching = None
    try:
        question, connection.key_id, due_seconds = await in_database(
            _start_waiting, exchange.request, question_id
        )
        watching = exchange.watch_disconnect(connection)
        exchange.release_request()
        deadline, due = clock() + seconds, clock() + due_seconds
        while question is None and not connection.is_disconnected and not hub.is_closing:
            if connection.is_revoked:
                raise access.BadKey
            left = min(deadline, due) - clock()
            pause = min(left, COMMENT_SECONDS) if still_waiting else left
            if await connection.sleep(pause):
                question = connection.question
                # At shutdown there is no time for one query for each wait.
                if question is None and not hub.is_closing:
                    question = await in_database(_settled_question, question_id)
            elif pause == left and due < deadline:
                # Expire the question at its own deadline instead of at the next sweep.
                due = math.inf
                question = await in_database(_settled_question, question_id)
            elif pause == left:
                break
            elif still_waiting:
                await still_waiting()
    finally:
        is_last_wait = hub.remove_wait(question_id, connection)
        if watching:
            watching.cancel()
    if connection.is_disconnected:
        if is_last_wait:
            await in_database(lifecycle.wait_ended, question_id)
        return None
    if question is None:
        question = await in_database(_read_question, question_id)
    if question.is_open and is_last_wait and not hub.is_closing:
        # From now on only the next poll shows that the agent is still running.
        await in_database(lifecycle.wait_paused, question_id)
    return question


def _start_waiting(request: ASGIRequest, question_id: str) -> tuple[Question | None, int, float]:
    """The question if it is settled already, the key's id, and the seconds until the question expires."""
    key = access.key_from_header(request.headers.get("Authorization", ""))
    question = access.question_of_key(key, question_id)
    access.check_scope(key, Scope.ASK)
    question = lifecycle.expire_if_due(question)
    if not question.is_open:
        return question, key.pk, math.inf
    # The wait is registered with the hub already, so a result from now on wakes it.
    lifecycle.wait_started(question_id)
    expires_at = question.expires_at
    return None, key.pk, (expires_at - timezone.now()).total_seconds() if expires_at else math.inf


def _settled_question(question_id: str) -> Question | None:
    question = lifecycle.expire_if_due(_read_question(question_id))
    return None if question.is_open else question


def _read_question(question_id: str) -> Question:
    question = access.QUESTION.first(id=question_id)
    if question is None:
        raise access.Missing  # its room was deleted
    return question


async def ask_and_wait(exchange: Exchange, room: str) -> None:
    """Let Django store the question, then wait for its answer in the same request."""
    wait_seconds(exchange.request)
    reply: list[dict[str, Any]] = []

    async def keep(message: dict[str, Any]) -> None:
        reply.append(message)

    await exchange.application(exchange.scope, exchange.receive, keep)
    status = reply[0]["status"] if reply else 0
    if status in (200, 201):
        body = b"".join(message.get("body", b"") for message in reply)
        await wait_for_answer(exchange, json.loads(body)["id"], status)
    else:
        for message in reply:
            await exchange.send(message)


async def wait_for_messages(exchange: Exchange, room: str) -> None:
    """Reply when the timeline has entries after the cursor, or with none when the time is up."""
    seconds = wait_seconds(exchange.request)
    key = await in_database(_key_of_room, exchange.request, room)
    connection = Connection()
    hub.add_listener(key.room_id, key.pk, connection)
    watching = exchange.watch_disconnect(connection)
    try:
        page, results = await in_database(messages_page, exchange.request, key, room)
        await in_database(_start_listening, key.pk)
        deadline = asyncio.get_running_loop().time() + seconds
        while not page["messages"] and not connection.is_disconnected and not hub.is_closing:
            was_woken = await connection.sleep(deadline - asyncio.get_running_loop().time())
            if connection.is_revoked:
                raise access.BadKey
            page, results = await in_database(messages_page, exchange.request, key, room)
            if not was_woken:
                break
    finally:
        hub.remove_listener(key.room_id, key.pk, connection)
        watching.cancel()
    if connection.is_disconnected:
        await in_database(_stop_listening, key.pk)
        return
    if hub.is_closing and not page["messages"]:
        await exchange.respond_problem(problems.shutting_down())
        return
    await exchange.respond_json(page)
    if results:
        await in_database(lifecycle.deliver_all, results)
    if not hub.is_closing:
        await in_database(_pause_listening, key.pk)


async def stream_events(exchange: Exchange, room: str) -> None:
    """Stream the timeline as JSON events, from the cursor on or from now on."""
    key = await in_database(_key_of_room, exchange.request, room)
    connection = Connection()
    hub.add_listener(key.room_id, key.pk, connection)
    watching = None
    try:
        cursor, position = await in_database(_cursor_of, exchange.request, key.room)
        await in_database(_start_listening, key.pk)
        await exchange.open_stream(cursor)
        watching = exchange.watch_disconnect(connection)
        while not connection.is_disconnected and not connection.is_revoked and not hub.is_closing:
            entries = await in_database(timeline.entries_after, key.room, position, PAGE_LIMIT)
            for entry in entries:
                data = json.dumps(serializers.message_object(entry))
                await exchange.write(encode_event("", data, entry.pk))
                position = entry.position
            if not connection.is_disconnected:
                await _mark_sent(key.pk, entries)
            if not entries and not await connection.sleep(COMMENT_SECONDS):
                await exchange.write(b": keep-alive\n\n")
    finally:
        hub.remove_listener(key.room_id, key.pk, connection)
        if watching:
            watching.cancel()
    if connection.is_disconnected:
        await in_database(_stop_listening, key.pk)
    await exchange.finish()


async def _mark_sent(key_id: int, entries: list[timeline.Entry]) -> None:
    """After sending entries: deliver the results of this key, renew the leases of its new questions."""
    results = timeline.results_for(key_id, entries)
    if results:
        await in_database(lifecycle.deliver_all, results)
    asked = [entry for entry in entries if isinstance(entry, Question) and entry.key_id == key_id]
    not_leased = [question.pk for question in asked if question.is_open and not question.agent_active]
    if not_leased:
        await in_database(lifecycle.renew_leases, not_leased)


def _start_listening(key_id: int) -> None:
    """A held poll or event stream counts as waiting for the open questions of its key."""
    lifecycle.renew_leases(lifecycle.asked_with(key_id))


def _pause_listening(key_id: int) -> None:
    """The poll was answered; the next one is expected at once."""
    lifecycle.pause_waits(_waited_for_by_listening(key_id))


def _stop_listening(key_id: int) -> None:
    """The agent disconnected."""
    for question_id in _waited_for_by_listening(key_id):
        lifecycle.wait_ended(question_id)


def _waited_for_by_listening(key_id: int) -> list[str]:
    """The key's open questions that no connection of this process waits for any more."""
    if hub.is_listening(key_id):
        return []
    return [question_id for question_id in lifecycle.asked_with(key_id) if not hub.is_waited_for(question_id)]


def _key_of_room(request: ASGIRequest, room: str) -> Any:
    key = access.key_from_header(request.headers.get("Authorization", ""))
    access.room_of_key(key, room)
    return key


def _cursor_of(request: ASGIRequest, room: Room) -> tuple[str, int]:
    """The id and position after which the stream begins: the named entry, or the newest."""
    named = request.headers.get("Last-Event-ID") or request.GET.get("after")
    return (named, timeline.position_of(room, named)) if named else timeline.last_entry(room)
