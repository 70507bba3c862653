"""Proxies: which one is used, and how."""

from collections.abc import Callable

import pytest

from bridge_client import Client
from bridge_client.errors import SettingsError
from bridge_client.transport.proxies import proxy_for
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge

GO_ON = {"question": "Go on?", "options": ["Yes", "No"]}


@pytest.fixture
def make_client(agent: Agent) -> Callable[[str], Client]:
    return lambda url: Client(url, agent.key, agent.room, patience_seconds=1)


def test_a_proxy_from_the_environment_is_used(front: Front, make_client, agent: Agent, monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", front.url.replace("http://", "http://ana:pass%20word@"))
    question = make_client("http://bridge.test").ask(GO_ON)
    (request,) = front.requests
    assert request.target == f"http://bridge.test{agent.path}/questions"
    assert request.headers["host"] == "bridge.test"
    assert request.headers["proxy-authorization"] == "Basic YW5hOnBhc3Mgd29yZA=="
    assert agent.read(question.id)["status"] == "open"


def test_this_machine_itself_is_never_reached_through_a_proxy(
    bridge: Bridge, make_client, monkeypatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert make_client(f"http://127.0.0.1:{bridge.site.port}").ask(GO_ON).is_open
    assert make_client(f"http://localhost:{bridge.site.port}").ask(GO_ON).is_open


def test_no_proxy_is_respected(monkeypatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "intern.test,.corp.test")
    assert proxy_for("https", "portal.test").port == 3128
    assert proxy_for("https", "intern.test") is None
    assert proxy_for("https", "ask.corp.test") is None
    assert proxy_for("http", "portal.test") is None


def test_an_unsupported_proxy_is_an_error(monkeypatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://proxy.test:1080")
    with pytest.raises(SettingsError, match="https_proxy"):
        proxy_for("https", "portal.test")
