"""The event stream of a room: server-sent events, with reconnects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

from bridge_client.errors import ClientError
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline
from bridge_client.transport.http import Transport
from bridge_client.transport.retries import OnRetry, Retries, jittered

# The server sends a comment every 15 seconds: after three missing ones the stream is dead.
SILENCE_SECONDS = 45
# Shorter than the server's `retry` for browsers, because there are fewer agents than pages.
REOPEN_SECONDS = 0.5


def follow(
    transport: Transport,
    path: str,
    last_event_id: str,
    cancellation: Cancellation,
    on_retry: OnRetry | None,
) -> Iterator[dict[str, Any]]:
    """Messages one by one; a reconnect resumes after the last one, so none is missed or repeated."""
    retries = Retries(Deadline(None), cancellation, on_retry)
    while True:
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        try:
            with transport.stream(
                path, headers=headers, read_seconds=SILENCE_SECONDS, cancellation=cancellation
            ) as response:
                for event_id, data in read_events(response):
                    retries.succeeded()
                    # The first event has only an id: the cursor if the stream breaks before any message.
                    last_event_id = event_id or last_event_id
                    if data:
                        yield json.loads(data)
        except ClientError as error:
            retries.pause(error)
        else:
            # Closed by a server that stops: it comes back, or another one takes over.
            cancellation.sleep(jittered(REOPEN_SECONDS))


def read_events(response: HTTPResponse) -> Iterator[tuple[str, str]]:
    """Id and data of each server-sent event until the stream ends."""
    event_id, lines = "", []
    while True:
        line = response.readline().decode("utf-8", "replace")
        if not line.endswith("\n"):
            return  # the end, or an event that was cut off: the server sends it again
        name, _, value = line.rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            lines.append(value)
        elif name == "id":
            event_id = value
        elif not name and not value and (lines or event_id):
            yield event_id, "\n".join(lines)
            event_id, lines = "", []
