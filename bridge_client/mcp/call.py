"""A call of an MCP tool: asks and waits in a thread, reports progress, ends before the client's limit."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from bridge_client.claude_code.context import gather
from bridge_client.client import PATIENCE_SECONDS, Client
from bridge_client.errors import ClientError, Unreachable
from bridge_client.mcp.results import NO_REPLY, Outcome, failed, outcome_of, remembered, still_open
from bridge_client.results import Question, Result
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.deadlines import Deadline, question_deadline
from bridge_client.transport.in_flight import InFlight
from bridge_client.transport.retries import OnRetry

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

# Where Claude Code names the tool use that a call belongs to …
TOOL_USE_KEY = "claudecode/toolUseId"
# … and its session, in the environment of this process.
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"

# The time limit of usual clients, which are built on the official TypeScript SDK. Claude Code waits for more
# than a day, but at a terminal it moves a call to the background after 120 seconds, and the model must not
# take what comes later for a person's answer.
LIMIT_SECONDS = 60.0
CLAUDE_CODE_LIMIT_SECONDS = 115.0
CLAUDE_CODE = "claude-code"
# No client has a shorter limit; Claude Code raises a lower setting to this.
SHORTEST_LIMIT_SECONDS = 1.0
# For the reply: an answer that arrives after the client's limit is lost to the model.
MARGIN_SECONDS = 5.0
LARGEST_MARGIN = 0.2

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """How long one call may take, and how often it reports progress."""

    timeout_seconds: float | None = None
    progress_seconds: float = 10.0

    def limit_seconds(self, client_name: str, environ: Mapping[str, str]) -> float:
        """The flag, else the client's own setting, else the usual limit of such clients."""
        own = _milliseconds(environ.get("MCP_TOOL_TIMEOUT", ""))
        usual = CLAUDE_CODE_LIMIT_SECONDS if client_name == CLAUDE_CODE else LIMIT_SECONDS
        return max(SHORTEST_LIMIT_SECONDS, self.timeout_seconds or own or usual)


def _milliseconds(text: str) -> float | None:
    try:
        number = float(text) / 1000
    except ValueError:
        return None
    # Excludes NaN as well.
    return number if number > 0 else None


class Call:
    """A running tool call: its client and its deadlines."""

    def __init__(
        self,
        ctx: ServerRequestContext[Any],
        make_client: Callable[[float, OnRetry], Client],
        in_flight: InFlight,
        session_id: str,
        limits: Limits,
    ) -> None:
        self._ctx = ctx
        self._in_flight = in_flight
        self._session_id = session_id
        self._progress_seconds = limits.progress_seconds
        self._started = time.monotonic()
        params = ctx.session.client_params
        self.client_info = params.client_info if params else None
        limit = limits.limit_seconds(self.client_info.name if self.client_info else "", os.environ)
        margin = min(MARGIN_SECONDS, limit * LARGEST_MARGIN)
        self.wait_seconds = limit - margin
        self._deadline = Deadline(self.wait_seconds)
        # A thread whose connection hangs may be late; the MCP client gets a reply in time nevertheless.
        self._end = Deadline(limit - margin / 2)
        # At most half of the time for retries of the ask, so that some is left for people.
        self._patience_seconds = min(PATIENCE_SECONDS, self.wait_seconds / 2)
        self._outage_limit: Deadline | None = None
        self._client = make_client(self._patience_seconds, self._outage_began)

    def _outage_began(self, _: ClientError) -> None:
        self._outage_limit = Deadline(self._patience_seconds)

    @property
    def _is_bridge_down(self) -> bool:
        """Whether the bridge has been away for so long that it will not be back soon."""
        return self._outage_limit is not None and not self._outage_limit.seconds_left

    @property
    def tool_use_id(self) -> str:
        return str((self._ctx.meta or {}).get(TOOL_USE_KEY) or "")

    async def ask(
        self, questions: Any, agent: str, tool_use_id: str, care: Any = None, *, ends_with_call: bool = False
    ) -> Question:
        """Ask the room, once per tool use.

        With `ends_with_call` the question expires with the call: no later call can fetch the answer.
        """
        context = gather(os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
        deadline = question_deadline(self._deadline.seconds_left) if ends_with_call else None
        return await self._run(
            lambda cancellation: self._client.ask(
                {"questions": questions},
                agent=agent,
                session_id=self._session_id if tool_use_id else "",
                tool_use_id=tool_use_id,
                context=context,
                care=care,
                timeout_seconds=deadline,
                cancellation=cancellation,
            ),
            "Asking",
        )

    async def remember(self, text: str) -> Outcome:
        """Earlier answers to similar questions, or the error as an outcome."""
        try:
            return remembered(await self._run(lambda _: self._client.memory(text), "Looking it up"))
        except ClientError as error:
            return failed(error)

    async def wait(self, question_id: str, url: str = "", until: Deadline | None = None) -> Result:
        """The result of the question, or StillOpen shortly before the limit."""
        return await self._run(
            lambda cancellation: self._client.wait(
                question_id,
                (until or self._deadline).seconds_left,
                # The model will wait again; if it does not, the lease expires.
                ends_wait=False,
                cancellation=cancellation,
            ),
            f"Waiting for an answer at {url}" if url else "Waiting for an answer",
        )

    async def wait_for_end(self, question: Question) -> Result:
        """`wait` for a question whose deadline is the end of this call: the bridge expires it."""
        return await self.wait(question.id, question.url, self._end)

    async def settle(self, question_id: str, url: str = "") -> Outcome:
        """`wait`, with errors as outcomes. If the call ends during a restart, the model waits again."""
        try:
            return outcome_of(await self.wait(question_id, url))
        except ClientError as error:
            if error.is_temporary and not self._is_bridge_down:
                return still_open(question_id, url, NO_REPLY)
            return failed(error, question_id)

    async def _run(self, call: Callable[[Cancellation], T], doing: str) -> T:
        """Run the call in a thread; it is cancelled when this coroutine ends early."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run(cancellation: Cancellation) -> None:
            try:
                value = call(cancellation)
            except ClientError as error:
                _hand_over(loop, future, error)
            else:
                _hand_over(loop, future, value)

        name = os.urandom(8).hex()
        self._in_flight.start(name, run)
        try:
            while not future.done():
                seconds = time.monotonic() - self._started
                await self._ctx.session.report_progress(seconds, self.wait_seconds, doing)
                left = self._end.seconds_left
                if not left:
                    raise OutOfTime("It did not reply in time")
                await asyncio.wait({future}, timeout=min(self._progress_seconds, left))
            return future.result()
        finally:
            if not future.done():
                self._in_flight.cancel(name)


class OutOfTime(Unreachable):
    """The time of the call is over and the bridge has not replied."""


def _hand_over(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], value: T | ClientError) -> None:
    """Settle the future from another thread."""

    def hand_over() -> None:
        if future.done():
            return
        if isinstance(value, ClientError):
            future.set_exception(value)
        else:
            future.set_result(value)

    # The loop is closed: the MCP client has disconnected.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(hand_over)
