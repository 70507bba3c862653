"""Ten quiet minutes behind nginx: no connection is lost."""

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import sleep

import pytest

from tests.harness.agents import Agent
from tests.harness.nginx import Deployment, SecurePerson, deployment, read_until
from tests.harness.timing import Stopwatch, eventually

# Longer than any timeout on the path; SOAK_SECONDS=60 is enough to try the test itself.
QUIET_SECONDS = float(os.environ.get("SOAK_SECONDS") or 600)
AT_ONCE_SECONDS = 0.5
ENVELOPE = {
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "session_id": "soak",
    "tool_use_id": "toolu_soak",
    "tool_input": {
        "questions": [
            {"question": "Go on?", "header": "Go", "options": [{"label": "PostgreSQL"}, {"label": "SQLite"}]}
        ]
    },
}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("deployed"), rooms=5) as running:
        yield running


@pytest.fixture
def agent(deployed: Deployment) -> Agent:
    return deployed.agent()


@pytest.fixture
def person(deployed: Deployment) -> SecurePerson:
    return deployed.person()


def test_streams_waits_and_a_hook_outlast_a_long_silence(
    deployed: Deployment, agent: Agent, person: SecurePerson
) -> None:
    front = deployed.front
    waited_for = agent.ask()
    cookie = f"sessionid={person.cookies['sessionid']}"
    with ExitStack() as stack:
        hook_path = f"{agent.path}/hooks/claude-code?timeout={QUIET_SECONDS + 60}"
        hook = stack.enter_context(agent.background("POST", hook_path, ENVELOPE))
        hooked = eventually(lambda: [each for each in agent.open_questions() if each["tool_use_id"]])[0]
        room = stack.enter_context(person.stream(agent.room))
        inbox = stack.enter_context(person.stream(None))
        events = stack.enter_context(agent.events())
        command = front.curl(f"/rooms/{agent.room}/stream", "--cookie", cookie)
        over_http_2 = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(over_http_2.terminate)
        assert over_http_2.stdout
        assert over_http_2.stdout.readline() == ": welcome\n"
        waiting = stack.enter_context(ThreadPoolExecutor(1)).submit(wait_again_and_again, agent, waited_for)

        # The only long sleep in the tests: the silence is what is tested.
        sleep(QUIET_SECONDS)

        watch = Stopwatch()
        asked = agent.ask()
        # No reconnect: the connections from before the silence bring this question at once.
        for stream in (room, inbox):
            while asked["id"] not in stream.next().data:
                pass
        while asked["id"] != events.next()["id"]:
            pass
        read_until(over_http_2.stdout, asked["id"])
        assert watch.seconds < AT_ONCE_SECONDS
        for question in (waited_for, hooked):
            person.answer(question, "SQLite")
        assert waiting.result(10)["status"] == "answered"
        assert "SQLite" in hook.reply().text


def wait_again_and_again(agent: Agent, question: dict[str, str]) -> dict[str, str]:
    """One long-poll after the other, each of the full length; none may fail."""
    while (result := agent.wait(question["id"], 55))["status"] == "open":
        pass
    return result
