"""Scenarios: the load on a running target, and what is recorded."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from itertools import count as count_from
from itertools import cycle
from time import perf_counter

from bench import record as measures
from bench.connections import PATIENCE_SECONDS, AgentConnection, Call, Failed
from bench.plan import Plan
from bench.protocols import Key
from bench.record import Record
from bench.services import Sample, Service
from bench.viewers import Request, Viewers
from tests.harness.figures import percentile

# Between two clicks: whatever the last one left to do is done, and the next agent waits.
PAUSE_SECONDS = 0.02
# Enough to keep one process busy, few enough not to measure its queue.
ASKING_AT_ONCE = 4
OPENING_AT_ONCE = 40
# Within this time all background readers of the rooms have run.
AFTERMATH_SECONDS = 2.2
# What a form or a publisher is told.
TAKEN = (201, 202, 303)


@dataclass
class Waiting:
    """A question, and the agent that waits for its answer."""

    key: Key
    question_id: str
    agent: AgentConnection
    # The processes that the agent waits at and that the click goes to: another one where there is one.
    number: int


@dataclass(frozen=True)
class Growth:
    """What so many more cost, and nothing else that happens meanwhile."""

    added: int
    before: Sample
    after: Sample

    def each(self, what: str) -> float:
        grown: float = getattr(self.after, what) - getattr(self.before, what)
        return grown / self.added


class Scenario:
    """One target in one round, with all actions."""

    def __init__(self, name: str, service: Service, plan: Plan, record: Record) -> None:
        self.name, self.service, self.plan, self.record = name, service, plan, record
        self.dialect = service.dialect
        self._asking: list[Call] = []
        self._clicking: list[Call] = []
        self._logins = cycle(service.logins)
        self._numbers = count_from()

    def note(self, measure: str, value: float) -> None:
        self.record.add(self.name, measure, value)

    def connect(self) -> None:
        """Keep-alive connections for asks and clicks, as clients and browsers have them."""
        ports = self.service.ports
        self._asking = [Call(ports[n % len(ports)]) for n in range(ASKING_AT_ONCE)]
        self._clicking = [Call(port) for port in ports]

    def disconnect(self) -> None:
        for call in (*self._asking, *self._clicking):
            call.close()

    async def _sample(self) -> Sample:
        """Of a target that has done what it had to do."""
        await self.service.rest()
        return self.service.sample()

    # ---- asks

    async def warm_up(self) -> None:
        await self._ask_many(self.plan.asks // 2)
        await self.service.rest()

    async def measure_asks(self) -> None:
        """How much of the server's time one takes, with all that it leaves to do."""
        before = self.service.cpu_seconds()
        await self._ask_many(self.plan.asks)
        await asyncio.sleep(AFTERMATH_SECONDS)
        self.note(measures.ASK_CPU, (self.service.cpu_seconds() - before) / self.plan.asks)

    async def _ask_many(self, count: int) -> list[tuple[Key, str]]:
        keys = [self.service.next_key() for _ in range(count)]
        asked: list[tuple[Key, str]] = []

        async def ask_in_turn(call: Call) -> None:
            while keys:
                asked.append(await self._ask(keys.pop(), call))

        await asyncio.gather(*map(ask_in_turn, self._asking))
        return asked

    async def _ask(self, key: Key, call: Call) -> tuple[Key, str]:
        body = await call.request(self.dialect.ask(key), 201)
        return key, str(json.loads(body)["id"])

    # ---- click → agent

    async def measure_agents(self) -> None:
        """One click after the other while all others wait."""
        crowd: deque[Waiting] = deque()
        questions = await self._ask_many(max(self.plan.agents))
        # Of the last and largest step: past all that comes with the first ones.
        for count in self.plan.agents:
            before, added = await self._sample(), count - len(crowd)
            await self._grow(crowd, questions, count)
            growth = Growth(added, before, await self._sample())
            seconds = await self._click_through(crowd)
            if seconds:
                self.note(measures.agent_p50(count), percentile(seconds, 0.5))
                self.note(measures.agent_p99(count), percentile(seconds, 0.99))
        self.note(measures.AGENT_BYTES, growth.each("memory_bytes"))
        self.note(measures.AGENT_THREADS, growth.each("threads"))
        self.note(measures.AGENT_HANDLES, growth.each("database_handles"))
        # There was no click for these: a wait that ended was refused.
        self.note(measures.LOST, sum(waiting.agent.answered_at.done() for waiting in crowd))
        for waiting in crowd:
            waiting.agent.close()

    async def _grow(self, crowd: deque[Waiting], questions: list[tuple[Key, str]], count: int) -> None:
        while len(crowd) < count:
            some = min(OPENING_AT_ONCE, count - len(crowd))
            crowd.extend(await asyncio.gather(*(self._wait(*questions.pop()) for _ in range(some))))

    async def _click_through(self, crowd: deque[Waiting]) -> list[float]:
        """Answer the longest wait, and start another one."""
        seconds = []
        for _ in range(self.plan.clicks):
            await asyncio.sleep(PAUSE_SECONDS)
            if (took := await self._click(crowd.popleft())) is not None:
                seconds.append(took)
            crowd.append(await self._wait(*await self._ask(self.service.next_key(), self._asking[0])))
        return seconds

    async def _wait(self, key: Key, question_id: str) -> Waiting:
        number = next(self._numbers) % len(self.service.ports)
        request = self.dialect.wait(key, question_id)
        agent = self.dialect.agent(self.service.ports[number], request)
        await agent.connect()
        return Waiting(key, question_id, agent, number)

    async def _click(self, waiting: Waiting) -> float | None:
        """Seconds until the agent has its answer; None if it never got it."""
        call = self._clicking[(waiting.number + 1) % len(self._clicking)]
        request = self.dialect.click(next(self._logins), waiting.key.room, waiting.question_id)
        await call.connect()
        clicked_at = perf_counter()
        _check(await call.send(request))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await waiting.agent.answered_at - clicked_at
        except (TimeoutError, Failed):
            self.note(measures.LOST, 1)
            return None
        finally:
            waiting.agent.close()

    # ---- click → pages

    async def measure_viewers(self) -> None:
        """One click, and the last of all pages that shows it."""
        audience = Viewers()
        for count in self.plan.viewers:
            before, added = await self._sample(), count - len(audience)
            await self._watch(audience, added)
            growth = Growth(added, before, await self._sample())
            seconds = [await self._fan_out(audience) for _ in range(self.plan.fanouts)]
            self.note(measures.last_viewer(count), percentile(seconds, 0.5))
        if self.dialect.takes_questions:
            self.note(measures.VIEWER_BYTES, growth.each("memory_bytes"))
            self.note(measures.VIEWER_THREADS, growth.each("threads"))
            self.note(measures.VIEWER_HANDLES, growth.each("database_handles"))
        self.note(measures.LOST, audience.dropped)
        audience.close()

    async def measure_return(self) -> None:
        """All pages connect at once to a process that has just started."""
        audience = Viewers()
        # The first one at each process comes before them: it loads what every first one loads.
        await self._watch(audience, len(self.service.ports))
        requests = await self._requests(self.plan.returning)
        came_at = perf_counter()
        served_at = await audience.grow(requests, self.dialect.welcome, at_once=len(requests))
        self.note(measures.come_back(self.plan.returning), served_at - came_at)
        audience.close()

    async def _watch(self, audience: Viewers, count: int) -> None:
        await audience.grow(await self._requests(count), self.dialect.welcome)

    async def _requests(self, count: int) -> list[Request]:
        """Ports and words of so many pages; of each person only one is really loaded."""
        room, ports = self.service.room, self.service.ports
        streams = []
        for login in self.service.logins:
            page = self.dialect.page(login, room)
            html = await self._clicking[0].request(page, 200) if page else b""
            streams.append(self.dialect.watch(login, room, html))
        return [(ports[n % len(ports)], streams[n % len(streams)]) for n in range(count)]

    async def _fan_out(self, audience: Viewers) -> float:
        """Seconds from the click to the last page."""
        question_id = str(next(self._numbers))
        if self.dialect.takes_questions:
            asked = audience.expect(self.dialect.asked)
            _, question_id = await self._ask(self.service.room_key, self._asking[0])
            await audience.seen(asked)
        await asyncio.sleep(PAUSE_SECONDS)
        seen = audience.expect(self.dialect.clicked(question_id))
        request = self.dialect.click(next(self._logins), self.service.room, question_id)
        await self._clicking[0].connect()
        clicked_at = perf_counter()
        _check(await self._clicking[0].send(request))
        return await audience.seen(seen) - clicked_at


def _check(reply: tuple[int, bytes]) -> None:
    status, body = reply
    if status not in TAKEN:
        raise Failed(f"a click was answered with {status}: {body[:400]!r}")
