"""Keyed hashes and encrypted texts, with keys derived from SECRET_KEY and SECRET_KEY_FALLBACKS."""

import hmac
from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def keyed_hash(purpose: str, text: str, signing_key: str | bytes | None = None) -> str:
    """HMAC-SHA256 of the text as hex; each purpose has its own key."""
    return salted_hmac(purpose, text, signing_key, algorithm="sha256").hexdigest()


def is_keyed_hash_of(purpose: str, text: str, given: str) -> bool:
    """Compare in constant time, with the hash under each known key."""
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(keyed_hash(purpose, text, key), given) for key in signing_keys)


def needs_renewal(purpose: str, text: str, given: str) -> bool:
    """Whether this hash was made with one of the fallback keys."""
    return bool(settings.SECRET_KEY_FALLBACKS) and not hmac.compare_digest(keyed_hash(purpose, text), given)


class CannotDecrypt(Exception):
    """The text was encrypted with a SECRET_KEY that this site no longer has."""


def encrypt(purpose: str, text: str) -> str:
    """The text encrypted: unreadable in a copy of the database alone, which lacks SECRET_KEY."""
    return _cipher(purpose).encrypt(text.encode()).decode()


def decrypt(purpose: str, encrypted: str) -> str:
    try:
        return _cipher(purpose).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise CannotDecrypt from None


def re_encrypt(purpose: str, encrypted: str) -> str:
    """The same text, encrypted with the current SECRET_KEY."""
    return encrypt(purpose, decrypt(purpose, encrypted))


def _cipher(purpose: str) -> MultiFernet:
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    # "lock" is part of the key: with another word stored texts could not be decrypted.
    digests = [salted_hmac(purpose, "lock", key, algorithm="sha256").digest() for key in signing_keys]
    return MultiFernet([Fernet(urlsafe_b64encode(digest)) for digest in digests])
