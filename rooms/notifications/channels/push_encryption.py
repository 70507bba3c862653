"""Cryptography of web push: messages for one browser (RFC 8291), signed by the site (VAPID, RFC 8292)."""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
# Header of the content encoding aes128gcm (RFC 8188): random salt, record size, our public key as key id.
SALT_BYTES = 16
RECORD_BYTES = 4096
TAG_BYTES = 16
# Padding delimiter of the last record; there is only one record.
LAST_RECORD = b"\x02"
# A push service need not accept more than 4096 bytes (RFC 8030), header included.
HEADER_BYTES = SALT_BYTES + 4 + 1 + 65
LONGEST_TEXT = 4096 - HEADER_BYTES - len(LAST_RECORD) - TAG_BYTES
# Of a coordinate of the curve, and of each half of a signature.
NUMBER_BYTES = 32


class TooLong(ValueError):
    """More than push services accept."""


def encrypt(
    text: bytes,
    browser_key: ec.EllipticCurvePublicKey,
    auth_secret: bytes,
    *,
    own_key: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """The body of a push message; own key and salt are new for each, and passed only by tests."""
    if len(text) > LONGEST_TEXT:
        raise TooLong(f"A push message has {LONGEST_TEXT} bytes at most; this one has {len(text)}.")
    own_key = own_key or ec.generate_private_key(CURVE)
    salt = salt or os.urandom(SALT_BYTES)
    own_point = point_of(own_key.public_key())
    shared = own_key.exchange(ec.ECDH(), browser_key)
    info = b"WebPush: info\0" + point_of(browser_key) + own_point
    secret = _derived(shared, auth_secret, info, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD_BYTES.to_bytes(4) + len(own_point).to_bytes(1) + own_point
    return header + AESGCM(key).encrypt(nonce, text + LAST_RECORD, None)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def authorization(own_key: ec.EllipticCurvePrivateKey, claims: Mapping[str, Any]) -> str:
    """The Authorization header: a JSON web token signed with ES256, and the key to verify it with."""
    head = {"typ": "JWT", "alg": "ES256"}
    token = ".".join(encoded(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
    numbers = decode_dss_signature(own_key.sign(token.encode(), ec.ECDSA(SHA256())))
    signature = b"".join(number.to_bytes(NUMBER_BYTES) for number in numbers)
    return f"vapid t={token}.{encoded(signature)},k={encoded(point_of(own_key.public_key()))}"


# ---- keys as text ----------------------------------------------------------------------------------------


def private_key(text: str) -> ec.EllipticCurvePrivateKey:
    """A key from its number in base64url or plain base64; ValueError if it is not one."""
    return ec.derive_private_key(int.from_bytes(decoded(text.replace("+", "-").replace("/", "_"))), CURVE)


def public_key(text: str) -> ec.EllipticCurvePublicKey:
    """A key from its uncompressed point in base64url; ValueError if it is not one."""
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decoded(text))


def point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encoded(data: bytes) -> str:
    """Base64url without padding, as web push uses everywhere."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    text = text.rstrip("=")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
