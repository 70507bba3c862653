"""Outgoing HTTP reaches public addresses only, whatever names, redirects or number formats are used."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from rooms.notifications import safe_http
from tests.harness.certificates import make_certificate
from tests.harness.receivers import Receiver, receiving

NETWORKS = "WEBHOOK_ALLOWED_NETWORKS"
LOOPBACK = {NETWORKS: ["127.0.0.0/8"]}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def post(url: str) -> safe_http.Reply:
    return safe_http.post(url, b"{}", {"Content-Type": "application/json"}, networks=NETWORKS)


# ---- where it does not go --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.1", "0.0.0.0", "0", "2130706433"),  # noqa: S104 - an address to refuse
        *("0x7f000001", "0177.0.0.1", "localhost"),
        *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]"),
        *(
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
        ),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]"),
        *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]"),
    ],
)
def test_private_and_special_addresses_are_refused(host: str, receiver: Receiver) -> None:
    with pytest.raises(safe_http.Refused):
        post(f"http://{host}:{receiver.port}/")
    assert receiver.calls == []


@pytest.mark.parametrize(
    "address",
    [
        # Site-local, other special ranges.
        *("fec0::1", "feff:ffff::1", "fec0::1%eth0", "5f00::1", "100::1", "3fff::1", "192.88.99.1"),
        # Metadata and services of clouds: Azure, Alibaba, Oracle, AWS, Google, IBM.
        *("168.63.129.16", "::ffff:168.63.129.16", "100.100.100.200", "192.0.0.192", "169.254.169.254"),
        *("fd00:ec2::254", "fd20:ce::254", "161.26.0.7", "166.9.48.1"),
        *("100.64.0.1", "100.127.255.254", "192.0.0.9"),
        # 10.0.0.1 and 127.0.0.1 inside: mapped, compatible, SIIT, NAT64, 6to4, Teredo, ISATAP.
        *("::ffff:10.0.0.1", "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1"),
        *("2002:a00:1::", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "2606:4700::5efe:10.0.0.1"),
        *("2606:4700::200:5efe:127.0.0.1",),
    ],
)
def test_addresses_that_only_look_public_are_refused(address: str) -> None:
    assert not safe_http.is_allowed(address, NETWORKS)


def test_an_allowed_network_may_be_one_of_those(settings: Any) -> None:
    settings.ASK_BRIDGE = {NETWORKS: ["168.63.129.16/32", "fec0::/10"]}
    assert safe_http.is_allowed("168.63.129.16", NETWORKS)
    assert safe_http.is_allowed("fec0::1", NETWORKS)
    assert not safe_http.is_allowed("169.254.169.254", NETWORKS)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "168.63.129.17", "166.12.0.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert safe_http.is_allowed(address, NETWORKS)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "gopher://example.org/",
            "ftp://example.org/",
            "//example.org",
            "example.org",
            "",
        ),
        *("http://", "http://[::1", "https://user:secret@example.org/", "http://example.org:0/"),
        *(
            "http://example.org:99999/",
            "http://example.org/\r\nX: y",
            "http://exa mple.org/",
            "http://exämple.org/",
            f"http://{'x' * 256}/",
        ),
    ],
)
def test_what_is_no_web_address_is_refused_without_a_lookup(url: str) -> None:
    with pytest.raises(safe_http.Refused):
        safe_http.check(url)


def resolves_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let the system's resolver say this, one answer after the other; returns what it was asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if not str(host).endswith(".test"):
            return real(host, port, *args, **options)
        asked.append(host)
        said = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in said]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def test_a_name_that_resolves_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    resolves_to(monkeypatch, ["127.0.0.1"])
    with pytest.raises(safe_http.Refused):
        post(f"http://inside.test:{receiver.port}/")
    # One public address beside it does not help.
    resolves_to(monkeypatch, ["1.1.1.1", "127.0.0.1"])
    with pytest.raises(safe_http.Refused):
        post(f"http://half.test:{receiver.port}/")
    assert receiver.calls == []


def test_a_name_that_changes_its_mind_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, settings: Any
) -> None:
    settings.ASK_BRIDGE = {"WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.1/32"]}
    asked = resolves_to(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
    assert post(f"http://rebinding.test:{receiver.port}/hook").status == 200
    assert asked == ["rebinding.test"]
    assert receiver.calls[0].headers["Host"] == f"rebinding.test:{receiver.port}"


def test_redirects_are_not_followed(receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    receiver.answer = lambda call: (302, {"Location": f"{receiver.url}/secret"}, b"")
    assert post(f"{receiver.url}/hook").status == 302
    assert [call.path for call in receiver.calls] == ["/hook"]


# ---- where it goes ---------------------------------------------------------------------------------------


def test_an_allowed_network_is_reached(receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    reply = post(f"{receiver.url}/hook?a=1")
    assert (reply.status, reply.text) == (200, "ok")
    call = receiver.calls[0]
    assert (call.path, call.body) == ("/hook?a=1", b"{}")
    assert call.headers["User-Agent"].startswith("Ask-Bridge/")


def test_a_network_is_open_to_those_it_was_opened_for(receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    with pytest.raises(safe_http.Refused, match="PUSH_ALLOWED_NETWORKS can allow it"):
        safe_http.post(receiver.url, b"{}", {}, networks="PUSH_ALLOWED_NETWORKS")
    assert receiver.calls == []


def test_tls_is_for_the_name_that_was_asked_for(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    certificate = make_certificate(tmp_path, "hooks.test")
    monkeypatch.setattr(safe_http, "_tls", lambda: ssl.create_default_context(cafile=str(certificate)))
    resolves_to(monkeypatch, ["127.0.0.1"])
    with receiving(certificate=certificate) as receiver:
        assert post(f"https://hooks.test:{receiver.port}/").status == 200
        assert receiver.calls[0].headers["Host"] == f"hooks.test:{receiver.port}"
        with pytest.raises(safe_http.Unreachable, match="certificate of other"):
            post(f"https://other.test:{receiver.port}/")
    assert len(receiver.calls) == 1


def test_a_long_answer_is_cut(receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    receiver.answer = lambda call: (200, {}, b"x" * 10_000_000)
    assert len(post(receiver.url).text) == safe_http.REPLY_BYTES


def test_no_server_there_is_a_sentence(settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(safe_http.Unreachable, match=r"127\.0\.0\.1 cannot be reached: Connection refused"):
        post(f"http://127.0.0.1:{port}/")


@contextmanager
def dripping(seconds: float, begin: bytes = b"") -> Iterator[int]:
    """Answers with a byte now and then, for ever."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.send(begin)
                while not stop.wait(seconds):
                    try:
                        connection.send(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nServer: x\r\n"])
def test_who_answers_by_drops_is_left(begin: bytes, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    monkeypatch.setattr(safe_http, "DEADLINE_SECONDS", 0.3)
    with dripping(0.05, begin) as port, pytest.raises(safe_http.Unreachable, match="did not answer in time"):
        post(f"http://127.0.0.1:{port}/")


def test_who_never_comes_to_the_end_is_left(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    monkeypatch.setattr(safe_http, "DEADLINE_SECONDS", 2)
    with dripping(0.05, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n") as port:
        assert len(post(f"http://127.0.0.1:{port}/").text) < safe_http.REPLY_BYTES


def test_a_silent_one_is_left(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    monkeypatch.setattr(safe_http, "TIMEOUT_SECONDS", 0.2)
    with dripping(60) as port, pytest.raises(safe_http.Unreachable, match="did not answer in time"):
        post(f"http://127.0.0.1:{port}/")


def test_all_addresses_of_a_host_share_one_deadline(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    resolves_to(monkeypatch, [f"127.0.0.{number}" for number in range(1, 40)])
    passed = 0.0

    def no_answer(address: Any, timeout: float) -> Any:
        nonlocal passed
        passed += timeout
        raise TimeoutError

    monkeypatch.setattr(safe_http, "monotonic", lambda: passed, raising=False)
    monkeypatch.setattr(socket, "create_connection", no_answer)
    with pytest.raises(safe_http.Unreachable, match="did not answer in time"):
        post("http://many.test/")
    assert passed == safe_http.DEADLINE_SECONDS


def test_who_is_silent_instead_of_greeting_by_tls_is_left(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    monkeypatch.setattr(safe_http, "DEADLINE_SECONDS", 0.3)
    began = monotonic()
    with dripping(60) as port, pytest.raises(safe_http.Unreachable, match="did not answer in time"):
        post(f"https://127.0.0.1:{port}/")
    assert monotonic() - began < safe_http.TIMEOUT_SECONDS


def test_a_wish_to_wait_is_read(receiver: Receiver, settings: Any) -> None:
    settings.ASK_BRIDGE = LOOPBACK
    for said, seconds in (("120", 120), ("9999999", safe_http.LONGEST_RETRY_AFTER_SECONDS), ("soon", 0)):
        receiver.answer = lambda call, said=said: (429, {"Retry-After": said}, b"")
        assert post(receiver.url).retry_after_seconds == seconds
