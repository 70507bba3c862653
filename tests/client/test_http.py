"""HTTP requests: prefixes, certificates, and replies that do not come from a bridge."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridge_client import Client, ProblemError, Unreachable
from tests.client.loopback import Front, reply, tunnel
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.certificates import make_certificate

GO_ON = {"question": "Go on?", "options": ["Yes", "No"]}


@pytest.fixture
def make_client(agent: Agent) -> Callable[[str], Client]:
    return lambda url: Client(url, agent.key, agent.room, patience_seconds=1)


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_bridge_under_a_prefix_is_reached(bridge: Bridge, make_client, agent: Agent, ending: str) -> None:
    with Front(bridge.site.port, prefix="/tools/ask") as front:
        client = make_client(front.url + ending)
        question = client.ask(GO_ON)
        client.wait(question.id, 0)
        client.send_message("hello")
        client.withdraw(question.id)
    assert all(request.target.startswith("/tools/ask/api/v1/") for request in front.requests)
    assert agent.read(question.id)["status"] == "withdrawn"


def test_every_call_sends_key_and_user_agent(front: Front, make_client, agent: Agent) -> None:
    make_client(front.url).ask(GO_ON)
    (request,) = front.requests
    assert request.headers["authorization"] == f"Bearer {agent.key}"
    assert request.headers["user-agent"].startswith("ask-bridge/")


def test_a_page_instead_of_json_is_an_error(front: Front, make_client) -> None:
    front.always = reply(200)
    with pytest.raises(ProblemError, match="text/html instead of JSON") as refused:
        make_client(front.url).ask(GO_ON)
    assert refused.value.code == "not_json"


def test_a_redirect_is_an_error_and_not_followed(front: Front, make_client) -> None:
    front.always = reply(301, Location="https://elsewhere.test/ask")
    with pytest.raises(ProblemError, match=r"redirects to https://elsewhere\.test/ask"):
        make_client(front.url).ask(GO_ON)
    assert len(front.requests) == 1


def test_json_of_another_server_is_no_question(bridge: Bridge, make_client) -> None:
    client = make_client(f"http://127.0.0.1:{bridge.site.port}")
    reply = client.transport.request("GET", "/healthz")
    assert reply.body == {"status": "ok"}
    with pytest.raises(ProblemError, match="not a question"):
        type(client.ask(GO_ON)).from_wire(reply.body)


# ---- certificates ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), "localhost", "bridge.test")


@pytest.fixture
def tls_front(bridge: Bridge, certificate: Path) -> Iterator[Front]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Front(bridge.site.port, context=context) as running:
        yield running


def test_a_trusted_certificate_is_enough(tls_front: Front, make_client, certificate, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert make_client(tls_front.url).ask(GO_ON).is_open


def test_an_untrusted_certificate_is_an_error_without_retry(tls_front: Front, make_client) -> None:
    with pytest.raises(Unreachable, match="certificate is not trusted") as refused:
        make_client(tls_front.url).ask(GO_ON)
    assert refused.value.is_permanent
    assert tls_front.requests == []


def test_an_encrypted_bridge_is_reached_through_a_proxy(
    front: Front, tls_front: Front, make_client, certificate, monkeypatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("https_proxy", front.url)
    front.always, front.tunnel_port = tunnel, tls_front.own_port
    question = make_client("https://bridge.test/").ask(GO_ON)
    assert question.is_open
    (connect,) = front.requests
    assert (connect.method, connect.target) == ("CONNECT", "bridge.test:443")
    assert b"abk_" not in connect.head
