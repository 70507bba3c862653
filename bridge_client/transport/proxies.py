"""The proxy between this machine and the bridge, as the environment names it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from bridge_client.errors import SettingsError

LOOPBACK = ("localhost", "::1")


@dataclass(frozen=True)
class Proxy:
    """Where it listens, and the headers that it needs."""

    host: str
    port: int
    headers: dict[str, str] = field(repr=False)


def proxy_for(scheme: str, host: str) -> Proxy | None:
    """The proxy of `http_proxy`, `https_proxy` and `no_proxy`; never one for this machine itself."""
    if is_loopback(host) or not any(name.lower() == f"{scheme}_proxy" for name in os.environ):
        return None
    # Imported late: it takes a fifth of the time between the start of a hook and its first request.
    from urllib.request import getproxies_environment, proxy_bypass

    address = getproxies_environment().get(scheme)
    if not address or proxy_bypass(host):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{scheme}_proxy names a proxy that is not http://host:port")
    return Proxy(parts.hostname, parts.port or 80, _authorization(parts.username, parts.password))


def is_loopback(host: str) -> bool:
    return host in LOOPBACK or host.startswith("127.")


def _authorization(username: str | None, password: str | None) -> dict[str, str]:
    if not username:
        return {}
    from base64 import b64encode

    pair = f"{unquote(username)}:{unquote(password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}
