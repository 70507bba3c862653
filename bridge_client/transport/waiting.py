"""Waiting for an answer or for messages: one long-poll after another, over restarts of the bridge."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from bridge_client.errors import ClientError, Unreachable
from bridge_client.results import Question
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline
from bridge_client.transport.http import CONNECT_SECONDS, READ_SECONDS, Transport
from bridge_client.transport.retries import OnRetry, Retries

# Below the 60 seconds after which proxies cut a silent connection, and below the server's own 55.
POLL_SECONDS = 50.0
# The minimum: a proxy that cuts earlier is broken for other requests as well.
SHORTEST_POLL_SECONDS = 5.0
# A wait that was held for so long had reached the bridge. If it breaks, that is a new outage.
HELD_SECONDS = 1.0
# A bridge under WSGI cannot hold a wait and replies at once: poll about as often as a page does.
POLL_AGAIN_SECONDS = 2.0
# The last try is at the deadline itself, and Claude Code stops a hook a few seconds after that.
LAST_TRY_SECONDS = 2.0
# How long a person who pressed Esc may have to wait; the lease expires within half a minute anyway.
END_WAIT_SECONDS = 2.0


def question_path(question_id: str) -> str:
    return f"/api/v1/questions/{quote(question_id, safe='')}"


def wait_until_settled(
    transport: Transport,
    question_id: str,
    deadline: Deadline,
    cancellation: Cancellation,
    on_retry: OnRetry | None = None,
) -> Question:
    """The question as soon as it is settled, or as it is at the deadline."""
    retries = Retries(deadline, cancellation, on_retry, is_wait=True)
    for body in _replies(transport, question_path(question_id), {}, deadline, retries, cancellation):
        question = Question.from_wire(body)
        if not question.is_open:
            break
    return question


def wait_for_messages(
    transport: Transport, path: str, query: Mapping[str, Any], deadline: Deadline, retries: Retries
) -> dict[str, Any]:
    """The first page that has messages, or the empty one at the deadline."""
    page: dict[str, Any]
    for page in _replies(transport, path, query, deadline, retries, Cancellation()):
        if page["messages"]:
            break
    return page


def _replies(
    transport: Transport,
    path: str,
    query: Mapping[str, Any],
    deadline: Deadline,
    retries: Retries,
    cancellation: Cancellation,
) -> Iterator[Any]:
    """The body of one long-poll after another; the last one is from the deadline."""
    longest = POLL_SECONDS
    while True:
        seconds = min(longest, deadline.seconds_left)
        started = time.monotonic()
        is_last_try = retries.is_last_try
        try:
            reply = transport.request(
                "GET",
                path,
                query={**query, "wait": f"{seconds:.3f}"},
                connect_seconds=LAST_TRY_SECONDS if is_last_try else CONNECT_SECONDS,
                read_seconds=LAST_TRY_SECONDS if is_last_try else seconds + READ_SECONDS,
                cancellation=cancellation,
            )
        except ClientError as error:
            lasted = time.monotonic() - started
            if SHORTEST_POLL_SECONDS < lasted < seconds:
                # A proxy with a short timeout: stay below it, so that the card does not flicker.
                longest = max(SHORTEST_POLL_SECONDS, lasted * 0.8)
            if lasted > HELD_SECONDS and isinstance(error, Unreachable) and error.was_sent:
                retries.succeeded()
            retries.pause(error)
            continue
        retries.succeeded()
        yield reply.body
        if not deadline.seconds_left:
            return
        if time.monotonic() - started < min(seconds, POLL_AGAIN_SECONDS):
            cancellation.sleep(min(POLL_AGAIN_SECONDS, deadline.seconds_left))


def end_wait(transport: Transport, question_id: str) -> None:
    """Tell the server that this agent no longer waits: best effort, within END_WAIT_SECONDS."""

    def send() -> None:
        with suppress(ClientError):
            transport.request(
                "DELETE",
                f"{question_path(question_id)}/wait",
                connect_seconds=END_WAIT_SECONDS,
                read_seconds=END_WAIT_SECONDS,
            )

    # In a thread, because even a name lookup may block for longer.
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(END_WAIT_SECONDS)
