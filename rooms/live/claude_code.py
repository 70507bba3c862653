"""Consumer of Claude Code's HTTP hooks, which `rooms.api.claude_code` admits."""

import asyncio
import math

from bridge_client.claude_code.decisions import BRIDGE_STOPPED, undecided_because
from bridge_client.claude_code.hook import HookCall
from bridge_client.results import Question as QuestionResult
from rooms import lifecycle
from rooms.api.grants import HookGrant
from rooms.contract.problems import Problem
from rooms.db.pool import in_database
from rooms.live.consumer import COMMENT_SECONDS, JSON
from rooms.live.hub import hub
from rooms.live.waits import AnswerWait
from rooms.models import Question


class ClaudeCodeHook(AnswerWait):
    """A hook of Claude Code that waits for the result of its question."""

    call: HookCall
    _comment_at = math.inf
    _is_comment_due = False

    async def open(self) -> None:
        grant: HookGrant | None = await self.ask_host()
        if grant is not None:
            self.call = grant.call
            self._comment_at = asyncio.get_running_loop().time() + COMMENT_SECONDS
            await self.wait_for_result(grant.wait)

    def next_due(self) -> float:
        return min(super().next_due(), self._comment_at)

    def on_due(self) -> None:
        self._is_comment_due = asyncio.get_running_loop().time() < super().next_due()
        self.wake()

    async def look(self) -> None:
        has_reason = self.question is not None or self.is_revoked or hub.is_closing
        if self._is_comment_due and not has_reason:
            # Without a query: a database that is away for a moment must not end a wait of hours.
            self._is_comment_due = False
            self._comment_at += COMMENT_SECONDS
            self.due = self.next_due()
            await self._keep_alive()
        else:
            await super().look()

    async def _keep_alive(self) -> None:
        """Send a space before the JSON, so that proxies keep the connection open."""
        if not self.has_started:
            await self.start(200, {"Content-Type": JSON, "Cache-Control": "no-store"})
        await self.write(b" ")

    async def respond_question(self, question: Question) -> None:
        decision = self.call.decide(QuestionResult.from_wire(self.object_of(question)).result)
        await self.respond_json(self.call.output(decision) or {})

    async def reply_open(self, question: Question) -> None:
        """The time is up. Claude Code goes on without an answer, and the card shows at once that it left."""
        is_last = hub.remove_wait(self)
        try:
            await self.reply(question)
        finally:
            if is_last:
                await in_database(lifecycle.wait_ended, self.question_id)

    async def reply_at_stop(self) -> None:
        """The process stops, which is not the same as no answer in time."""
        await self.respond_json(self.call.output(BRIDGE_STOPPED) or {})

    async def respond_problem(self, problem: Problem) -> None:
        if self.has_started:
            # The status has been sent; without JSON Claude Code would see a broken hook.
            await self.respond_json(self.call.output(undecided_because(problem)) or {})
        else:
            await super().respond_problem(problem)
