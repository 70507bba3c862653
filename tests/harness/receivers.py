"""Servers on this machine that receive notifications: a webhook receiver, a push service, a mail server."""

import hmac
import json
import re
import socketserver
import ssl
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


@dataclass(frozen=True)
class Call:
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Receiver:
    """Records the requests to it; `answer` makes the replies."""

    port: int = 0
    calls: list[Call] = field(default_factory=list)
    answer: Callable[[Call], Answer] = lambda call: (200, {}, b"ok")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def take(self, call: Call) -> Answer:
        self.calls.append(call)
        return self.answer(call)

    @property
    def ids(self) -> list[str]:
        return [call.headers["Idempotency-Key"] for call in self.calls]


@contextmanager
def receiving(receiver: Receiver | None = None, certificate: Path | None = None) -> Iterator[Receiver]:
    receiver = receiver or Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, headers, text = receiver.take(Call(self.path, dict(self.headers.items()), body))
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(text))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST

        def log_message(self, *args: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None: ...  # a client may hang up in the middle

    with Server(("127.0.0.1", receiver.port), Handler) as server:
        receiver.port = server.server_port
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


# ---- web push --------------------------------------------------------------------------------------------


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """HKDF with SHA-256 (RFC 5869), for at most 32 bytes."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")[:length]


def decrypted(body: bytes, key: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """Decrypt like a browser (RFC 8188, RFC 8291), without code of the app."""
    salt, record_size, name_length = body[:16], int.from_bytes(body[16:20]), body[20]
    sender_point, record = body[21 : 21 + name_length], body[21 + name_length :]
    assert len(record) <= record_size
    sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender_point)
    own_point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    info = b"WebPush: info\0" + own_point + sender_point
    secret = derived(key.exchange(ec.ECDH(), sender), auth, info, 32)
    content_key = derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    text, mark, padding = AESGCM(content_key).decrypt(nonce, record, None).rpartition(b"\x02")
    assert mark, "not the last record"
    assert padding.strip(b"\0") == b""
    return text


@dataclass
class PushService(Receiver):
    """A browser's push service and, behind it, the browser, which alone can read what comes."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"0123456789abcdef"
    # The key from the subscription; senders with another key are refused.
    application_key: str = ""

    def subscription(self, name: str = "device") -> dict[str, Any]:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": encoded(point), "auth": encoded(self.auth)}
        return {"endpoint": f"{self.url}/push/{name}", "expirationTime": None, "keys": keys}

    def take(self, call: Call) -> Answer:
        problem = self.problem_of(call)
        return (403, {}, problem.encode()) if problem else super().take(call)

    def problem_of(self, call: Call) -> str:
        """What a real service would refuse (RFC 8030, 8291, 8292)."""
        found = re.fullmatch(r"vapid t=([^.]+)\.([^.]+)\.([^,]+),k=(.+)", call.headers["Authorization"])
        if not found:
            return "no VAPID"
        head, claims, signature, key = found.groups()
        if self.application_key and key != self.application_key:
            return "another application"
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(key))
        raw = decoded(signature)
        der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        public.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
        said = json.loads(decoded(claims))
        checks = {
            "alg": json.loads(decoded(head))["alg"] == "ES256",
            "aud": said["aud"] == self.url,
            "exp": time.time() < said["exp"] <= time.time() + 24 * 3600,
            "sub": said["sub"].startswith(("mailto:", "https://")),
            "TTL": call.headers["TTL"].isdecimal(),
            "Topic": re.fullmatch(r"[\w-]{1,32}", call.headers["Topic"], re.ASCII) is not None,
            "Content-Encoding": call.headers["Content-Encoding"] == "aes128gcm",
        }
        return ", ".join(name for name, is_right in checks.items() if not is_right)

    def read(self, call: Call) -> Any:
        """The decrypted message."""
        return json.loads(decrypted(call.body, self.key, self.auth))

    @property
    def messages(self) -> list[Any]:
        return [self.read(call) for call in self.calls]


@contextmanager
def push_service(application_key: str = "", port: int = 0) -> Iterator[PushService]:
    service = PushService(port=port, application_key=application_key)
    with receiving(service):
        yield service


# ---- mail ------------------------------------------------------------------------------------------------


@dataclass
class MailServer:
    """Records mails; `refusal` is its reply to recipients instead."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refusal: str = ""
    # Called when a mail is there, before it is confirmed.
    on_mail: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def ids(self) -> list[str]:
        return [mail["Message-ID"] for mail in self.mails]


@contextmanager
def mail_server(port: int = 0) -> Iterator[MailServer]:
    box = MailServer(port)

    class Handler(socketserver.StreamRequestHandler):
        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

        def handle(self) -> None:
            self.say("220 mail.test")
            while line := self.rfile.readline():
                match line.split(maxsplit=1)[0].upper():
                    case b"EHLO" | b"HELO":
                        self.say("250 mail.test")
                    case b"RCPT" if box.refusal:
                        self.say(box.refusal)
                    case b"DATA":
                        self.say("354 go on")
                        self.take()
                    case b"QUIT":
                        self.say("221 bye")
                        return
                    case _:
                        self.say("250 ok")

        def take(self) -> None:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
            box.mails.append(message_from_bytes(b"".join(lines), policy=default))  # type: ignore[arg-type]
            box.on_mail()
            self.say("250 taken")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", box.port), Handler) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
