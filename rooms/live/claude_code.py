"""Consumer of Claude Code's HTTP hooks, which `rooms.api.claude_code` admits."""

import asyncio
import math

from bridge_client.claude_code.decisions import BRIDGE_STOPPED
from bridge_client.claude_code.hook import HookCall
from bridge_client.results import Question as QuestionResult
from rooms import lifecycle
from rooms.api.grants import HookGrant
from rooms.db.pool import in_database
from rooms.live.consumer import COMMENT_SECONDS, JSON
from rooms.live.hub import hub
from rooms.live.waits import AnswerWait
from rooms.models import Question


class ClaudeCodeHook(AnswerWait):
    """A hook of Claude Code that waits for the result of its question."""

    call: HookCall
    _comment_at = math.inf

    async def open(self) -> None:
        grant: HookGrant | None = await self.admit()
        if grant is not None:
            self.call = grant.call
            self._comment_at = asyncio.get_running_loop().time() + COMMENT_SECONDS
            await self.wait_for_result(grant.wait)

    def next_due(self) -> float:
        return min(super().next_due(), self._comment_at)

    async def look(self) -> None:
        if asyncio.get_running_loop().time() >= self._comment_at:
            self._comment_at += COMMENT_SECONDS
            await self._keep_alive()
        await super().look()

    async def _keep_alive(self) -> None:
        """Send a space before the JSON, so that proxies keep the connection open."""
        if not self.has_started:
            await self.start(200, {"Content-Type": JSON, "Cache-Control": "no-store"})
        await self.write(b" ")

    async def reply(self, question: Question) -> None:
        decision = self.call.decide(QuestionResult.from_wire(self.object_of(question)).result)
        await self.respond_json(self.call.output(decision) or {})

    async def reply_open(self, question: Question) -> None:
        """The time is up. Claude Code goes on without an answer, and the card shows at once that it left."""
        is_last = hub.remove_wait(self)
        await self.reply(question)
        if is_last:
            await in_database(lifecycle.wait_ended, self.question_id)

    async def reply_at_stop(self) -> None:
        """The process stops, which is not the same as no answer in time."""
        await self.respond_json(self.call.output(BRIDGE_STOPPED) or {})
