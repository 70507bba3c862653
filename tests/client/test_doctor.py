"""`ask-bridge doctor`: one line for each check, and how to fix it."""

import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import Command
from tests.client.loopback import Front, Request, forward, hold_back, reply
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.certificates import make_certificate

MakeCommand = Callable[..., Command]


def checks(command: Command, **environment: str) -> dict[str, Any]:
    done = command.run("doctor", "--json", **environment)
    found = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.returncode == (0 if all(check["ok"] for check in found.values()) else 1)
    assert command.environment["ASK_BRIDGE_KEY"] not in done.stdout + done.stderr
    return found


def wrong(command: Command, **environment: str) -> dict[str, str]:
    """The failed checks and their fixes."""
    return {
        name: f"{check['found']}: {check['fix']}"
        for name, check in checks(command, **environment).items()
        if not check["ok"]
    }


def test_all_is_well_with_a_good_setup(command: Command, agent: Agent) -> None:
    done = command.run("doctor")
    assert done.returncode == 0, done.stdout
    names = [line.split()[1] for line in done.stdout.splitlines()]
    assert names == ["address", "tls", "key", "room", "streams", "clock", "version", "claude"]
    assert all(line.startswith("ok ") for line in done.stdout.splitlines())
    assert agent.open_questions() == []


def test_missing_settings_are_reported(command: Command) -> None:
    done = command.run("doctor", ASK_BRIDGE_ROOM="")
    assert done.returncode == 1
    assert "ASK_BRIDGE_ROOM" in done.stdout


def test_an_address_without_a_server(command: Command) -> None:
    assert "ASK_BRIDGE_URL" in wrong(command, ASK_BRIDGE_URL="http://127.0.0.1:9")["address"]


def test_an_address_without_the_prefix(bridge: Bridge, agent: Agent, make_command: MakeCommand) -> None:
    with Front(bridge.site.port, prefix="/tools/ask") as front:
        front.always = lambda front, client, request: (
            forward if request.target.startswith("/tools/ask") else reply(404)
        )(front, client, request)
        assert wrong(make_command(front.url, agent)) == {}
        found = wrong(make_command(front.url.replace("/tools/ask", ""), agent))
    assert "prefix" in found["address"]


def test_a_page_instead_of_the_bridge(front: Front, agent: Agent, make_command: MakeCommand) -> None:
    front.always = reply(200)
    assert "prefix" in wrong(make_command(front.url, agent))["address"]


def test_a_key_that_is_refused(command: Command) -> None:
    found = wrong(command, ASK_BRIDGE_KEY="abk_0000000000_" + "0" * 40)
    assert set(found) == {"key"}
    assert "Connect page" in found["key"]


def test_a_room_of_another_key(command: Command) -> None:
    found = wrong(command, ASK_BRIDGE_ROOM="room-499")
    assert set(found) == {"room"}
    assert "ASK_BRIDGE_ROOM" in found["room"]


def test_a_proxy_that_holds_streams_back(front: Front, agent: Agent, make_command: MakeCommand) -> None:
    def buffer_streams(front: Front, client: Any, request: Request) -> None:
        (hold_back if request.target.endswith("/events") else forward)(front, client, request)

    front.always = buffer_streams
    found = wrong(make_command(front.url, agent))
    assert set(found) == {"streams"}
    assert "proxy_buffering off" in found["streams"]


def test_a_clock_that_is_wrong(front: Front, agent: Agent, make_command: MakeCommand) -> None:
    def long_ago(front: Front, client: Any, request: Request) -> None:
        body = b'{"status": "ok"}'
        head = (
            f"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2015 00:00:00 GMT\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)

    front.next.append(long_ago)
    found = wrong(make_command(front.url, agent))
    assert set(found) == {"clock"}
    assert "NTP" in found["clock"]


def test_a_client_of_another_release(front: Front, agent: Agent, make_command: MakeCommand) -> None:
    def newer(front: Front, client: Any, request: Request) -> None:
        if not request.target.endswith("openapi.json"):
            forward(front, client, request)
            return
        body = b'{"info": {"version": "9.0.0"}}'
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    front.always = newer
    found = wrong(make_command(front.url, agent))
    assert set(found) == {"version"}
    assert "install ask-bridge 9.0.0" in found["version"]


def test_an_untrusted_certificate(
    bridge: Bridge, agent: Agent, make_command: MakeCommand, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Front(bridge.site.port, context=context) as front:
        command = make_command(front.url, agent)
        assert "SSL_CERT_FILE" in wrong(command)["tls"]
        assert wrong(command, SSL_CERT_FILE=str(certificate)) == {}


def test_an_unencrypted_connection(front: Front, agent: Agent, make_command: MakeCommand) -> None:
    command = make_command("http://bridge.test", agent)
    found = checks(command, http_proxy=front.url)
    assert "https://" in found["tls"]["fix"]
    assert f"through the proxy 127.0.0.1:{front.own_port}" in found["address"]["found"]


@pytest.mark.parametrize(
    ("printed", "is_ok"), [("2.1.325 (Claude Code)", True), ("1.0.3 (Claude Code)", False), ("?", False)]
)
def test_the_claude_code_on_this_machine(command: Command, tmp_path: Path, printed: str, is_ok: bool) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{printed}'\n")
    program.chmod(0o755)
    path = f"{program.parent}:{command.environment['PATH']}"
    assert checks(command, PATH=path)["claude"]["ok"] is is_ok
