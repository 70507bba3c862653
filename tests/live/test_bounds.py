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
    with ExitStack() as stack:
        waits = [stack.enter_context(agent.waiting(question["id"], 30)) for _ in range(POPULAR + 1)]
        # Whichever comes last: nobody knows in which order the site hears of them.
        (refused,) = eventually(lambda: [wait for wait in waits if wait.has_begun])
        assert refused.reply().status == 429
        assert refused.result()["code"] == "too_many_requests"
        assert refused.reply().headers["Retry-After"] == "10"
        bridge.person().answer(question, "SQLite")
        waits.remove(refused)
        assert [wait.result()["status"] for wait in waits] == ["answered"] * POPULAR
    assert agent.wait(question["id"], 30)["status"] == "answered"
