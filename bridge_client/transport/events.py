"""The room's timeline as it happens, over as many connections as it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any

from bridge_client.errors import ClientError
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline
from bridge_client.transport.retries import OnRetry, Retries

if TYPE_CHECKING:
    from bridge_client.client import Client

# The server writes a comment every 15 seconds: after three missing ones the stream is dead.
SILENCE_SECONDS = 45
# What the server itself tells browsers, less a little because we are not many.
REOPEN_SECONDS = 0.5


def follow(
    client: Client, last_event_id: str, cancellation: Cancellation, on_retry: OnRetry | None
) -> Iterator[dict[str, Any]]:
    """Messages one by one; after a break it goes on behind the last one, so none is missed or repeated."""
    retries = Retries(Deadline(None), cancellation, on_retry)
    while True:
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        try:
            with client.transport.stream(
                f"{client.room_path}/events",
                headers=headers,
                read_seconds=SILENCE_SECONDS,
                cancellation=cancellation,
            ) as response:
                for event_id, data in read_events(response):
                    retries.succeeded()
                    # The greeting has an id and nothing else: a bookmark for whoever is cut off before all.
                    last_event_id = event_id or last_event_id
                    if data:
                        yield json.loads(data)
        except ClientError as error:
            retries.pause(error)
        else:
            # Closed in good order, by a server that stops: it will be back, or another one is there.
            cancellation.sleep(REOPEN_SECONDS)


def read_events(response: HTTPResponse) -> Iterator[tuple[str, str]]:
    """Id and data of each server-sent event until the stream ends."""
    event_id, lines = "", []
    while True:
        line = response.readline().decode("utf-8", "replace")
        if not line.endswith("\n"):
            return  # the end, or an event that was cut in the middle: it comes again
        name, _, value = line.rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            lines.append(value)
        elif name == "id":
            event_id = value
        elif not name and not value and (lines or event_id):
            yield event_id, "\n".join(lines)
            event_id, lines = "", []
