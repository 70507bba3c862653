"""Keyed hashes: only this site can make them, and it still knows its own after SECRET_KEY was rotated."""

import hmac

from django.conf import settings
from django.utils.crypto import salted_hmac


def seal(purpose: str, text: str, signing_key: str | bytes | None = None) -> str:
    """The text's keyed hash; one made for another purpose does not fit."""
    return salted_hmac(purpose, text, signing_key, algorithm="sha256").hexdigest()


def is_seal_of(purpose: str, text: str, given: str) -> bool:
    """Compared in constant time, also with the keys before the present one."""
    signing_keys = [None, *settings.SECRET_KEY_FALLBACKS]
    return any(hmac.compare_digest(seal(purpose, text, key), given) for key in signing_keys)
