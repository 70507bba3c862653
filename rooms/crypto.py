"""Keyed hashes and locked texts: only this site makes and opens them, also after SECRET_KEY was rotated."""

import hmac
from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def seal(purpose: str, text: str, signing_key: str | bytes | None = None) -> str:
    """The text's keyed hash; one made for another purpose does not fit."""
    return salted_hmac(purpose, text, signing_key, algorithm="sha256").hexdigest()


def is_seal_of(purpose: str, text: str, given: str) -> bool:
    """Compared in constant time, also with the keys before the present one."""
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(seal(purpose, text, key), given) for key in signing_keys)


def needs_renewal(purpose: str, text: str, given: str) -> bool:
    """Whether a seal of this text was made with a key before the present one."""
    return bool(settings.SECRET_KEY_FALLBACKS) and not hmac.compare_digest(seal(purpose, text), given)


class CannotUnlock(Exception):
    """Locked with a SECRET_KEY that this site no longer knows."""


def lock(purpose: str, text: str) -> str:
    """The text so that a copy of the database does not tell it: unlike a hash, we can read it again."""
    return _locks(purpose).encrypt(text.encode()).decode()


def unlock(purpose: str, locked: str) -> str:
    try:
        return _locks(purpose).decrypt(locked.encode()).decode()
    except InvalidToken:
        raise CannotUnlock from None


def relock(purpose: str, locked: str) -> str:
    """The same text, locked with the present SECRET_KEY."""
    return lock(purpose, unlock(purpose, locked))


def _locks(purpose: str) -> MultiFernet:
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    digests = [salted_hmac(purpose, "lock", key, algorithm="sha256").digest() for key in signing_keys]
    return MultiFernet([Fernet(urlsafe_b64encode(digest)) for digest in digests])
