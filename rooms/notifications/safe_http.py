"""HTTP client for URLs that users chose, protected against server-side request forgery (SSRF).

A manager of a room, or any user with a browser, chooses where the site sends something. So a host name is
resolved once, each of its addresses has to be public or explicitly allowed, and the connection goes to
exactly that address: changing the DNS record afterwards (DNS rebinding) has no effect. Redirects are not
followed, and slow or endless responses are cut off.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPMessage
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Event, Timer
from time import monotonic
from urllib.parse import SplitResult, urlsplit

from django.utils.translation import gettext

from rooms import __version__
from rooms.conf import setting
from rooms.models.notifications import HOST_LENGTH

PORTS = {"http": 80, "https": 443}
# To connect, and for each read.
TIMEOUT_SECONDS = 5
# For the whole request, however many addresses a host has and however slowly it sends: well within the lease
# of a notice.
DEADLINE_SECONDS = 10
# Enough for an error message.
REPLY_BYTES = 4096
# Of the response, in an error message: one or two lines on a page.
SHOWN_CHARACTERS = 200
# A longer Retry-After counts as this.
LONGEST_RETRY_AFTER_SECONDS = 6 * 3600

# Not public although `ipaddress` of some Python version says so, or although the range is.
NOT_PUBLIC = [
    ip_network(network)
    for network in (
        # An IPv4 address inside an IPv6 one, which routers may translate back: compatible, SIIT,
        # NAT64 (well-known and local), 6to4, Teredo.
        *("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
        # Site-local before ULA, SRv6, discard, documentation, the relays of 6to4.
        *("fec0::/10", "5f00::/16", "100::/64", "3fff::/20", "192.88.99.0/24"),
        # IETF protocols, with the metadata of Oracle (192.0.0.192); shared by providers, with that of Alibaba
        # (100.100.100.200).
        *("192.0.0.0/24", "100.64.0.0/10"),
        # Public ranges that are internal inside a cloud: of Azure, and the services of IBM.
        *("168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"),
    )
]
# ISATAP: the lower half of an IPv6 address of any prefix is this, with or without its universal bit, and an
# IPv4 address.
ISATAP = {0x00005EFE, 0x02005EFE}

Address = IPv4Address | IPv6Address


class Refused(Exception):
    """A permanent failure: the sentence says why."""


class Gone(Refused):
    """The receiver says that it no longer exists."""


class Unreachable(Exception):
    """A temporary failure; the receiver may say when to retry."""

    def __init__(self, sentence: str, retry_after_seconds: int = 0) -> None:
        super().__init__(sentence)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True)
class Reply:
    status: int
    headers: HTTPMessage
    text: str

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def in_words(self) -> str:
        """The response as one line for people."""
        said = " ".join(self.text.split())[:SHOWN_CHARACTERS]
        named = {"status": self.status, "said": said}
        return gettext("The receiver replied %(status)s: %(said)s") % named if said else self._status_in_words

    @property
    def _status_in_words(self) -> str:
        return gettext("The receiver replied %(status)s.") % {"status": self.status}

    @property
    def retry_after_seconds(self) -> int:
        """The Retry-After header in seconds; a date is ignored, because hardly any server sends one."""
        text = self.headers.get("Retry-After", "").strip()
        return min(int(text), LONGEST_RETRY_AFTER_SECONDS) if text.isascii() and text.isdecimal() else 0


def check(url: str) -> SplitResult:
    """The parts of a URL that could be sent to, checked without a DNS lookup; or Refused."""
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0  # raises for one that is no number
    except ValueError:
        raise Refused(gettext("This is not a web address.")) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        raise Refused(gettext("This is not a web address: it must begin with https:// or http://."))
    if len(parts.netloc) > HOST_LENGTH:
        raise Refused(gettext("The host name in this address is too long."))
    if parts.username is not None or parts.password is not None:
        raise Refused(gettext("The address must not contain a user name or password."))
    if not url.isascii() or not url.isprintable() or " " in url:
        raise Refused(gettext("The address contains invalid characters."))
    return parts


def post(url: str, body: bytes, headers: Mapping[str, str], *, networks: str) -> Reply:
    """POST it and return the response; the setting `networks` allows more than public addresses."""
    parts = check(url)
    target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    named = {"User-Agent": f"Ask-Bridge/{__version__}", "Connection": "close", **headers}
    try:
        with _connected(parts, networks) as (connection, is_late):
            connection.request("POST", target, body, named)
            # The socket stays open until the response is closed.
            with connection.getresponse() as response:
                if is_late.is_set():
                    raise TimeoutError  # its headers end where the connection was cut
                text = response.read(REPLY_BYTES).decode(errors="replace")
                return Reply(response.status, response.headers, text)
    except ssl.SSLCertVerificationError as problem:
        named = {"host": str(parts.hostname), "problem": problem.verify_message}
        raise Unreachable(gettext("The certificate of %(host)s is not valid: %(problem)s.") % named) from None
    except TimeoutError:
        raise Unreachable(gettext("%(host)s did not answer in time.") % {"host": parts.hostname}) from None
    except (OSError, HTTPException) as problem:
        named = {"host": str(parts.hostname), "problem": _reason(problem)}
        raise Unreachable(gettext("%(host)s cannot be reached: %(problem)s.") % named) from None


def addresses_of(parts: SplitResult, networks: str) -> list[str]:
    """The addresses of a host, if all are allowed; or Refused. Resolved once, against DNS rebinding."""
    host = parts.hostname or ""
    try:
        found = socket.getaddrinfo(host, _port(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable(gettext("The host %(host)s was not found.") % {"host": host}) from None
    addresses = list(dict.fromkeys(str(address[4][0]) for address in found))
    for address in addresses:
        if not is_allowed(address, networks):
            sentence = gettext(
                "%(host)s is not a public address. The site’s setting %(setting)s can allow it."
            )
            raise Refused(sentence % {"host": host, "setting": networks})
    return addresses


def is_allowed(text: str, networks: str) -> bool:
    """Whether connecting to this address is allowed: public, or in a network of this setting."""
    address: Address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    allowed = [ip_network(network) for network in setting(networks)]
    return any(address in network for network in allowed) or _is_public(address)


def _is_public(address: Address) -> bool:
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_private
    is_isatap = isinstance(address, IPv6Address) and (int(address) >> 32) & 0xFFFFFFFF in ISATAP
    is_listed = any(address in network for network in NOT_PUBLIC)
    return address.is_global and not is_special and not is_isatap and not is_listed


@contextmanager
def _connected(parts: SplitResult, networks: str) -> Iterator[tuple[HTTPConnection, Event]]:
    """A connection that is cut at the deadline of the whole request, and an event that is set if it was."""
    connection = HTTPConnection(parts.hostname or "", _port(parts), timeout=TIMEOUT_SECONDS)
    connection.default_port = PORTS[parts.scheme]  # the Host header names only another port
    connection.auto_open = 0  # reconnecting would resolve the host again
    deadline = monotonic() + DEADLINE_SECONDS
    connection.sock = sock = _socket(parts, addresses_of(parts, networks), deadline)
    # A receiver that sends a byte now and then never times out: a timer cuts the connection.
    is_late = Event()
    timer = Timer(max(0, deadline - monotonic()), _cut, [sock, is_late])
    timer.start()
    try:
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        yield connection, is_late
    except (OSError, HTTPException):
        if monotonic() >= deadline:
            raise TimeoutError from None  # cut by the timer
        raise
    finally:
        timer.cancel()
        connection.close()


def _port(parts: SplitResult) -> int:
    return parts.port or PORTS[parts.scheme]


def _socket(parts: SplitResult, addresses: list[str], deadline: float) -> socket.socket:
    """Connected to the first of the host's addresses that answers."""
    problem: OSError = OSError("no address")
    for address in addresses:
        # Also if the DNS lookup alone took that long: the caller has given up by then.
        if (left := deadline - monotonic()) <= 0:
            raise TimeoutError
        try:
            connected = socket.create_connection((address, _port(parts)), min(TIMEOUT_SECONDS, left))
        except OSError as refused:
            problem = refused
            continue
        connected.settimeout(TIMEOUT_SECONDS)
        if parts.scheme == "http":
            return connected
        # TLS verifies the host name. The handshake comes later, when the timer can cut it off.
        return _tls().wrap_socket(connected, server_hostname=parts.hostname, do_handshake_on_connect=False)
    raise problem


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _cut(sock: socket.socket, is_late: Event) -> None:
    is_late.set()
    with suppress(OSError):  # closed a moment ago
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # below TLS, whose own shutdown is not thread-safe


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
