"""How much one agent or person can hold open: bounded, and refused with a time to come back."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.actors import Agent, eventually
from tests.world import World, world

POPULAR = 100  # WAITS_PER_QUESTION


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world("embedded", tmp_path_factory.mktemp("bounds") / "data", ["room-00"]) as running:
        yield running


def test_the_101st_wait_for_a_question_is_told_to_come_back(bridge: World) -> None:
    agent: Agent = bridge.agent()
    question = agent.ask()
    path = f"/api/v1/questions/{question['id']}?wait=30"

    def refusal() -> object:
        reply = agent.call("GET", path.replace("30", "0.1"))
        return reply if reply.status == 429 else None

    with ExitStack() as stack:
        waits = [stack.enter_context(agent.waiting(question["id"], 30)) for _ in range(POPULAR)]
        refused = eventually(refusal)
        assert refused.json()["code"] == "too_many_requests"  # type: ignore[attr-defined]
        assert refused.headers["Retry-After"] == "10"  # type: ignore[attr-defined]
        bridge.person().answer(question, "SQLite")
        assert {wait.result()["status"] for wait in waits} == {"answered"}
    assert agent.call("GET", path).status == 200
