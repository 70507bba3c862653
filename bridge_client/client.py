"""The API client: ask, wait, withdraw, report answers, send and read messages.

Every call is retried over restarts and broken connections until its deadline. No question is asked twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union
from urllib.parse import quote

from bridge_client.errors import ClientError, ProblemError, SettingsError
from bridge_client.results import Choice, Memory, Question, Result
from bridge_client.settings import Settings, check
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline, longest_wait, question_deadline
from bridge_client.transport.http import Transport
from bridge_client.transport.retries import OnRetry, Retries
from bridge_client.transport.waiting import (
    end_wait,
    question_path,
    wait_for_messages,
    wait_until_settled,
)

# A restart takes a few seconds; a bridge that is down for longer will not be back soon.
PATIENCE_SECONDS = 30.0
# The server's defaults.
PAGE_SIZE = 50
MEMORIES = 3

Prompts = Union[Sequence[Mapping[str, Any]], Mapping[str, Any]]


class Client:
    """A client for one room of one bridge; `care` is for each question without its own."""

    def __init__(
        self,
        url: str,
        key: str,
        room: str = "",
        *,
        care: Mapping[str, Any] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> None:
        key = key.strip()  # from a file it may end with a line break, which no header accepts
        check(url, key)
        self.transport = Transport(url, key)
        self._key = key
        self._room = room
        self._care = care
        self._patience_seconds = patience_seconds
        self._on_retry = on_retry

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> Client:
        return cls(
            settings.url,
            settings.key,
            settings.room,
            care=settings.care,
            patience_seconds=patience_seconds,
            on_retry=on_retry,
        )

    def in_room(self, room: str) -> Client:
        """A client for another room with the same bridge, key and care."""
        return Client(
            self.transport.url,
            self._key,
            room,
            care=self._care,
            patience_seconds=self._patience_seconds,
            on_retry=self._on_retry,
        )

    def __repr__(self) -> str:
        return f"Client({self.transport.url!r}, room={self._room!r})"

    @property
    def room(self) -> str:
        if not self._room:
            raise SettingsError("Missing: the room to ask in (--room or ASK_BRIDGE_ROOM)")
        return self._room

    # ---- questions

    def ask(
        self,
        questions: Prompts,
        *,
        agent: str = "",
        color: str = "",
        session_id: str = "",
        tool_use_id: str = "",
        context: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        default: Mapping[str, Any] | None = None,
        care: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
        cancellation: Cancellation | None = None,
    ) -> Question:
        """Ask the room, once, however many retries it takes.

        `questions` is a list of prompts, or one object in any shape that the server takes. The same
        `session_id` and `tool_use_id`, or the same `idempotency_key`, return the same question again.
        `timeout_seconds` is the question's own deadline, at which `default` counts. `care` says who is asked
        first, how many have to agree, and for how long a choice can be undone; `{}` is none.
        """
        body: dict[str, Any] = (
            dict(questions) if isinstance(questions, Mapping) else {"questions": list(questions)}
        )
        if agent or color:
            body["agent"] = {**({"name": agent} if agent else {}), **({"color": color} if color else {})}
        given = {
            "session_id": session_id or None,
            "tool_use_id": tool_use_id or None,
            "context": dict(context) if context else None,
            "timeout_seconds": timeout_seconds,
            "default": default,
            "care": care,
        }
        body.update({name: value for name, value in given.items() if value is not None})
        body = self._with_care(body)
        if not idempotency_key and not (body.get("session_id") and body.get("tool_use_id")):
            idempotency_key = os.urandom(16).hex()
        data = self._call(
            "POST",
            f"{self.room_path}/questions",
            body=body,
            headers=_idempotency_header(idempotency_key),
            cancellation=cancellation,
        )
        return Question.from_wire(data)

    def _with_care(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with its own care, else with the client's."""
        if self._care is None or body.get("care") is not None:
            return body
        return {**body, "care": self._care}

    def _with_care_as_text(self, content: str) -> str:
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            return content  # the bridge replies what is wrong with it
        careful = self._with_care(body) if isinstance(body, dict) else body
        return content if careful is body else json.dumps(careful)

    def wait(
        self,
        question_id: str,
        timeout_seconds: float | None = None,
        *,
        ends_wait: bool = True,
        cancellation: Cancellation | None = None,
    ) -> Result:
        """The result of the question, or StillOpen after `timeout_seconds` (None: no limit).

        When a signal or a cancellation ends the wait early, the client tells the server that the agent no
        longer waits. After a timeout as well, unless `ends_wait` is False because the caller will wait again.
        """
        try:
            question = wait_until_settled(
                self.transport,
                question_id,
                Deadline(timeout_seconds),
                cancellation or Cancellation(),
                self._on_retry,
            )
        except ClientError:
            raise
        except BaseException:
            end_wait(self.transport, question_id)
            raise
        if question.is_open and ends_wait:
            end_wait(self.transport, question_id)
        return question.result

    def ask_and_wait(
        self,
        questions: Prompts,
        *,
        wait_seconds: float | None = None,
        ends_wait: bool = True,
        cancellation: Cancellation | None = None,
        **fields: Any,
    ) -> Result:
        """`ask` with all its `fields`, then `wait`."""
        question = self.ask(questions, cancellation=cancellation, **fields)
        return self.wait(question.id, wait_seconds, ends_wait=ends_wait, cancellation=cancellation)

    def ask_until(
        self,
        questions: Prompts,
        timeout_seconds: float | None,
        *,
        cancellation: Cancellation | None = None,
        **fields: Any,
    ) -> Result:
        """Ask a question with `timeout_seconds` as its deadline, and wait for its end.

        The bridge expires the question. StillOpen is returned only if the bridge is late with that, or if the
        same question was asked before without a deadline.
        """
        deadline = question_deadline(timeout_seconds)
        question = self.ask(questions, timeout_seconds=deadline, cancellation=cancellation, **fields)
        return self.wait(question.id, longest_wait(question, timeout_seconds), cancellation=cancellation)

    def read(self, question_id: str) -> Question:
        """The question as it is now. Neither renews the agent's lease nor counts as delivery."""
        return Question.from_wire(self._call("GET", question_path(question_id)))

    def questions(self, status: str = "") -> Iterator[Question]:
        """The room's questions, oldest first."""
        after: str | None = None
        while True:
            query = {"limit": PAGE_SIZE, **({"status": status} if status else {})}
            if after:
                query["after"] = after
            page = self._call("GET", f"{self.room_path}/questions", query=query)
            for data in page["questions"]:
                yield Question.from_wire(data)
            after = page["next"]
            if not after:
                return

    def memory(self, text: str, limit: int = MEMORIES) -> list[Memory]:
        """Earlier answers of the room to similar questions, the most similar first."""
        found = self._call("GET", f"{self.room_path}/memory", query={"q": text, "limit": limit})
        return [
            Memory(Question.from_wire(each["question"]), float(each["similarity"]))
            for each in found["memories"]
        ]

    def stop_waiting(self, question_id: str) -> None:
        """Tell the bridge that this agent no longer waits; the question stays open."""
        self._call("DELETE", f"{question_path(question_id)}/wait")

    def withdraw(self, question_id: str) -> Question:
        """Withdraw the question; one that is withdrawn already stays so."""
        try:
            return Question.from_wire(self._call("DELETE", question_path(question_id)))
        except ProblemError as error:
            # The first try may have succeeded although its reply was lost.
            settled = error.body.get("question")
            if error.status == 409 and isinstance(settled, dict) and settled.get("status") == "withdrawn":
                return Question.from_wire(settled)
            raise

    def report_answer(
        self,
        question_id: str,
        answers: Mapping[str, Any] | Sequence[Choice],
        via: str = "terminal",
        *,
        by: str = "",
    ) -> Question:
        """Report an answer that was given elsewhere; ProblemError 409 if the question is settled already.

        With the scope `answer` and via="api", `by` is the user name of the person who answered.
        """
        given = answers if isinstance(answers, Mapping) else [choice.to_wire() for choice in answers]
        body = {"answers": given, "via": via, **({"by": by} if by else {})}
        return Question.from_wire(self._call("POST", f"{question_path(question_id)}/answer", body=body))

    # ---- the timeline

    def send_message(
        self,
        content: str,
        *,
        sender: str = "",
        type: str = "message",
        color: str = "",
        sender_type: str = "agent",
    ) -> dict[str, Any]:
        """Add a message to the room's timeline, or ask with the type AskUserQuestion.

        A question is never asked twice. Any other message is retried only if it certainly did not arrive.
        """
        is_question = type == "AskUserQuestion"
        if is_question:
            content = self._with_care_as_text(content)
        body = {"content": content, "sender_type": sender_type, "type": type}
        body.update({name: value for name, value in (("sender", sender), ("color", color)) if value})
        sent: dict[str, Any] = self._call(
            "POST",
            f"{self.room_path}/messages",
            body=body,
            headers=_idempotency_header(os.urandom(16).hex()) if is_question else None,
            is_repeatable=is_question,
        )
        return sent

    def messages(
        self, after: str = "", *, wait_seconds: float = 0, limit: int = PAGE_SIZE
    ) -> tuple[list[dict[str, Any]], str | None]:
        """A page of the timeline after this id, and the id after which the next page begins, or None.

        If the page is empty, wait up to `wait_seconds` for a message.
        """
        path = f"{self.room_path}/messages"
        query: dict[str, Any] = {"limit": limit}
        if after:
            query["after"] = after
        if wait_seconds:
            patience = Deadline(wait_seconds + self._patience_seconds)
            retries = Retries(patience, on_retry=self._on_retry, is_wait=True)
            page = wait_for_messages(self.transport, path, query, Deadline(wait_seconds), retries)
        else:
            page = self._call("GET", path, query=query)
        return page["messages"], page["next"]

    def events(
        self, last_event_id: str = "", *, cancellation: Cancellation | None = None
    ) -> Iterator[dict[str, Any]]:
        """New messages, or all after this id, without end; reconnects automatically."""
        from bridge_client.transport.events import follow

        path = f"{self.room_path}/events"
        return follow(self.transport, path, last_event_id, cancellation or Cancellation(), self._on_retry)

    # ---- requests

    @property
    def room_path(self) -> str:
        """The path of the room in the API."""
        return f"/api/v1/rooms/{quote(self.room, safe='')}"

    def _call(
        self,
        method: str,
        path: str,
        *,
        is_repeatable: bool = True,
        cancellation: Cancellation | None = None,
        **options: Any,
    ) -> Any:
        retries = Retries(Deadline(self._patience_seconds), cancellation, self._on_retry)
        while True:
            try:
                return self.transport.request(method, path, cancellation=cancellation, **options).body
            except ClientError as error:
                retries.pause(error, is_repeatable=is_repeatable)


def _idempotency_header(key: str) -> dict[str, str]:
    # A header is ASCII, but a key may hold any character.
    return {"Idempotency-Key": quote(key, safe=" !#$&'()*+,/:;<=>?@[]^`{|}~")} if key else {}
