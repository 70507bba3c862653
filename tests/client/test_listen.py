"""`ask-bridge listen`: new messages of the room as they arrive."""

import json
import signal
import subprocess
from typing import Any

from tests.client.conftest import Command, ends
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.timing import eventually


def read_content(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    content: str = json.loads(process.stdout.readline())["content"]
    return content


def test_listen_prints_each_message_at_once(front: Front, agent: Agent, make_command: Any) -> None:
    with make_command(front.url, agent).start("listen") as process:
        eventually(lambda: front.bytes_sent)
        agent.send("one")
        assert read_content(process) == "one"
        agent.send("zwei äöü")
        assert read_content(process) == "zwei äöü"
        process.send_signal(signal.SIGTERM)
        assert ends(process)[0] == 143


def test_listen_reconnects_after_a_restart(own_bridge: Bridge, make_command: Any) -> None:
    agent = own_bridge.agent()
    first = agent.send("one")
    command = make_command(f"http://127.0.0.1:{own_bridge.site.port}", agent)
    with command.start("listen", agent.room, "--after", first["id"], ASK_BRIDGE_ROOM="") as process:
        agent.send("two")
        assert read_content(process) == "two"
        own_bridge.site.stop(signal.SIGKILL)
        agent.site = own_bridge.start_again()
        agent.send("three")
        assert read_content(process) == "three"


def test_listen_reconnects_after_an_outage(front: Front, agent: Agent, make_command: Any) -> None:
    with make_command(front.url, agent).start("listen") as process:
        eventually(lambda: front.bytes_sent)
        front.fail_for_a_while()
        agent.send("one")
        assert read_content(process) == "one"


def test_a_closed_pipe_is_no_error(command: Command, agent: Agent) -> None:
    first = agent.send("one")
    with command.start("listen", "--after", first["id"]) as process:
        agent.send("two")
        assert read_content(process) == "two"
        assert process.stdout
        process.stdout.close()
        agent.send("three")
        assert process.wait(10) == 0
        assert process.stderr
        assert process.stderr.read() == ""
        process.stdout = None
