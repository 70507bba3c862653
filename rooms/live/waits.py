"""Consumers of agents: waits for an answer or for messages, and the event stream of a room.

Always in this order: register with the hub, read the database, wait. A change in between wakes the wait.
"""

import asyncio
import json
import math

from rooms import access, lifecycle, serializers, timeline
from rooms.api.grants import ListenGrant, WaitGrant
from rooms.api.messages import messages_page
from rooms.contract import problems
from rooms.contract.limits import PAGE_LIMIT
from rooms.db import timezone
from rooms.db.pool import in_database
from rooms.live.consumer import COMMENT_SECONDS, KEEP_ALIVE, LiveConsumer
from rooms.live.frames import encode_event
from rooms.live.hub import hub
from rooms.models import Question


class AnswerWait(LiveConsumer):
    """An agent that waits for the result of one question."""

    question_id = ""
    # When the wait ends, and when the question expires by itself; by the clock of the event loop.
    deadline = math.inf
    expires = math.inf
    status = 200
    # The address of the question's page, as the client reaches it.
    url = ""
    # The result, if the hub has handed it over.
    question: Question | None = None
    _was_last = False

    async def open(self) -> None:
        grant: WaitGrant | None = await self.ask_host()
        if grant is not None:
            await self.wait_for_result(grant)

    async def wait_for_result(self, grant: WaitGrant) -> None:
        """Wait as granted; replies at once if the question is settled."""
        now = asyncio.get_running_loop().time()
        self.question_id, self.key_id = grant.question_id, grant.key_id
        self.url, self.status = grant.url, grant.status
        self.deadline = now + grant.seconds
        hub.add_wait(self)
        question, expires_after_seconds = await in_database(_start_waiting, self.question_id)
        self.expires = now + expires_after_seconds
        self.due = self.next_due()
        if question is not None:
            self.hand_over(question)
        elif not grant.seconds:
            self.wake()  # the timer would take a moment

    def hand_over(self, question: Question) -> None:
        """The question is settled."""
        self.question = question
        self.wake()

    def next_due(self) -> float:
        return min(self.deadline, self.expires)

    async def look(self) -> None:
        now = asyncio.get_running_loop().time()
        if self.is_revoked:
            raise access.BadKey
        if now >= self.expires:
            self.expires = math.inf  # what follows expires the question, if it may expire now
        if self.question is None and hub.is_closing:
            await self.reply_at_stop()
            return
        question = self.question
        if question is None:
            # There is only a hint, or the time is up.
            question = await in_database(_current_question, self.question_id)
        if self.is_finished:
            return  # the client disconnected meanwhile
        if not question.is_open:
            await self.reply(question)
        elif now >= self.deadline:
            await self.reply_open(question)
        else:
            self.due = self.next_due()

    async def reply(self, question: Question) -> None:
        await self.respond_question(question)
        if not question.is_open:
            await in_database(lifecycle.deliver, self.question_id)

    async def respond_question(self, question: Question) -> None:
        await self.respond_json(self.object_of(question), self.status)

    async def reply_open(self, question: Question) -> None:
        """The time is up. From now on only the next poll shows that the agent is still running."""
        if hub.remove_wait(self):
            await in_database(lifecycle.wait_paused, self.question_id)
        await self.reply(question)

    async def reply_at_stop(self) -> None:
        """The process stops: ask the client to wait again, without a query for each of thousands of waits, or
        tell it the question that it has just asked."""
        if self.scope["method"] == "GET":
            raise problems.shutting_down()
        await self.reply(await in_database(_current_question, self.question_id))

    def object_of(self, question: Question) -> serializers.QuestionObject:
        """The question as the agent reads it."""
        return serializers.question_object(question, lambda path: self.url)

    def unregister(self) -> None:
        self._was_last = hub.remove_wait(self)

    def on_client_left(self) -> None:
        if self._was_last:
            hub.run(in_database(lifecycle.wait_ended, self.question_id))


def _start_waiting(question_id: str) -> tuple[Question | None, float]:
    """The question if it is settled already, and the seconds until it expires."""
    question = _current_question(question_id)
    if not question.is_open:
        return question, math.inf
    # The wait is registered with the hub already, so a result from now on wakes it.
    lifecycle.wait_started(question_id)
    expires_at = question.expires_at
    return None, (expires_at - timezone.now()).total_seconds() if expires_at else math.inf


def _current_question(question_id: str) -> Question:
    question = access.QUESTION.first(id=question_id)
    if question is None:
        raise access.Missing  # its room was deleted
    return lifecycle.expire_if_due(question)


class Listener(LiveConsumer):
    """An agent that waits for entries of its room. It counts as waiting for the open questions of its key."""

    grant: ListenGrant

    async def listen(self) -> None:
        """Begin to wait; for subclasses to implement."""

    async def open(self) -> None:
        grant: ListenGrant | None = await self.ask_host()
        if grant is None:
            return
        self.key_id, self.grant = grant.key.pk, grant
        hub.add_listener(grant.key.room_id, grant.key.pk, self)
        await in_database(lifecycle.renew_leases_of_key, grant.key.pk)
        await self.listen()
        self.wake()

    def unregister(self) -> None:
        hub.remove_listener(self.grant.key.room_id, self.grant.key.pk, self)

    def on_client_left(self) -> None:
        hub.run(in_database(_stop_listening, self.grant.key.pk))


class MessageWait(Listener):
    """A wait for entries after a cursor."""

    async def listen(self) -> None:
        self.due = asyncio.get_running_loop().time() + self.grant.seconds

    async def look(self) -> None:
        grant, is_due = self.grant, asyncio.get_running_loop().time() >= self.due
        if self.is_revoked:
            raise access.BadKey
        page, results = await in_database(messages_page, grant.key, grant.position, grant.limit)
        if self.is_finished:
            return  # the client disconnected meanwhile
        if not page["messages"]:
            if hub.is_closing:
                raise problems.shutting_down()
            if not is_due:
                return
        await self.respond_json(page)
        if results:
            await in_database(lifecycle.deliver_all, results)
        if not hub.is_closing:
            await in_database(_pause_listening, grant.key.pk)


class EventStream(Listener):
    """The timeline of a room as JSON events, from a cursor on."""

    position = 0

    async def listen(self) -> None:
        self.position = self.grant.position
        await self.open_stream(self.grant.cursor)

    async def look(self) -> None:
        now = asyncio.get_running_loop().time()
        while not (hub.is_closing or self.is_revoked or self.is_ending):
            entries = await in_database(
                timeline.entries_after, self.grant.key.room, self.position, PAGE_LIMIT
            )
            for entry in entries:
                data = json.dumps(serializers.message_object(entry))
                await self.write(encode_event("", data, entry.pk))
                self.position = entry.position
            if self.is_finished:
                return  # the client disconnected meanwhile
            await _mark_sent(self.grant.key.pk, entries)
            if not entries:
                break
        if hub.is_closing or self.is_revoked or self.is_ending:
            await self.finish()
        elif now >= self.due:
            await self.write(KEEP_ALIVE)
            self.due = now + COMMENT_SECONDS

    async def check_admission(self) -> None:
        """End the stream if the host no longer admits it; its client reconnects and gets the reason."""
        if await self.ask_host_again() is None:
            self.end()


async def _mark_sent(key_id: int, entries: list[timeline.Entry]) -> None:
    """After sending entries: deliver the results of this key, renew the leases of its new questions."""
    results = timeline.results_for(key_id, entries)
    if results:
        await in_database(lifecycle.deliver_all, results)
    asked = [entry for entry in entries if isinstance(entry, Question) and entry.key_id == key_id]
    not_leased = [question.pk for question in asked if question.is_open and not question.agent_active]
    if not_leased:
        await in_database(lifecycle.renew_leases, not_leased)


def _pause_listening(key_id: int) -> None:
    """The poll was answered; the next one is expected at once."""
    lifecycle.pause_waits(_waited_for_by_listening(key_id))


def _stop_listening(key_id: int) -> None:
    """The agent disconnected."""
    for question_id in _waited_for_by_listening(key_id):
        if hub.is_listening(key_id):
            return  # it has reconnected meanwhile
        lifecycle.wait_ended(question_id)


def _waited_for_by_listening(key_id: int) -> list[str]:
    """The key's open questions that no connection of this process waits for any more."""
    if hub.is_listening(key_id):
        return []
    return [question_id for question_id in lifecycle.asked_with(key_id) if not hub.is_waited_for(question_id)]
