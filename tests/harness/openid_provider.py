"""An OpenID provider on this machine: the package oidc-provider-mock, as a process (`openid_process.py`)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.harness.sites import START_SECONDS, free_port
from tests.harness.timing import eventually


class OpenIDProvider:
    """Knows the people that it is told about; its page asks who of them signs in."""

    def __init__(self, *, requires_nonce: bool = True) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "tests.harness.openid_process", str(self.port)]
        self._command += [] if requires_nonce else ["--without-nonce"]
        self.start()

    def start(self) -> None:
        """Start it, also again: it then has a new key and knows nobody."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(self._answers, START_SECONDS)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a site that uses it."""
        return {
            "OIDC_ISSUER": self.issuer,
            "OIDC_CLIENT_ID": "ask-bridge",
            "OIDC_CLIENT_SECRET": "a secret of the client",
            "OIDC_NAME": "Example Ltd",
        }

    def know(self, subject: str, **claims: Any) -> None:
        """A person with an account there."""
        status, _ = self._request("PUT", f"/users/{subject}", json.dumps(claims), "application/json")
        assert status == 204

    def approve(self, address: str, subject: str) -> str:
        """Sign this person in where the site has sent the browser; the address that it is sent back to."""
        return self._decide(address, {"sub": subject})

    def deny(self, address: str) -> str:
        return self._decide(address, {"action": "deny"})

    def _decide(self, address: str, fields: dict[str, str]) -> str:
        assert address.startswith(self.issuer)
        path = address.removeprefix(self.issuer)
        status, location = self._request("POST", path, urlencode(fields), "application/x-www-form-urlencoded")
        assert status == 302
        parts = urlsplit(location)
        return f"{parts.path}?{parts.query}"

    def _request(self, method: str, path: str, body: str, kind: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
        try:
            connection.request(method, path, body=body, headers={"Content-Type": kind})
            response = connection.getresponse()
            return response.status, response.headers.get("Location", "")
        finally:
            connection.close()

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the provider ended"
        try:
            return self._request("GET", "/jwks", "", "text/plain")[0] == 200
        except OSError:
            return False

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def openid_provider(*, requires_nonce: bool = True) -> Iterator[OpenIDProvider]:
    provider = OpenIDProvider(requires_nonce=requires_nonce)
    try:
        yield provider
    finally:
        provider.end()
