"""Ids that sort by time and cannot be guessed."""

import secrets
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Crockford's alphabet in lower case: digits before letters in every collation, no i, l, o or u to misread.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

# 55 bits of microseconds last until the year 3111; 80 random bits make two ids of one microsecond differ.
TIME_CHARACTERS = 11
RANDOM_CHARACTERS = 16
LENGTH = len("q_") + TIME_CHARACTERS + RANDOM_CHARACTERS


def _encode(number: int, width: int) -> str:
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(5 * (width - 1), -1, -5))


def id_at(prefix: str, at: datetime, random: str = "") -> str:
    """An id that sorts by this time."""
    microseconds = (at - EPOCH) // timedelta(microseconds=1)
    return f"{prefix}_{_encode(microseconds, TIME_CHARACTERS)}{random or new_nonce()}"


def moment_of(id: str) -> datetime | None:
    """When this id was made; None if it is no id of ours."""
    prefix, _, rest = id.partition("_")
    if len(id) != LENGTH or len(prefix) != 1 or not set(rest) <= set(ALPHABET):
        return None
    microseconds = 0
    for character in rest[:TIME_CHARACTERS]:
        microseconds = microseconds * 32 + ALPHABET.index(character)
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def new_nonce() -> str:
    """The random part of an id, made before the id itself."""
    return _encode(secrets.randbits(5 * RANDOM_CHARACTERS), RANDOM_CHARACTERS)


def is_nonce(text: str) -> bool:
    return len(text) == RANDOM_CHARACTERS and set(text) <= set(ALPHABET)


def _new_id(prefix: str, nonce: str = "") -> str:
    return id_at(prefix, datetime.now(UTC), nonce)


def new_question_id() -> str:
    return _new_id("q")


def new_answer_id() -> str:
    return _new_id("a")


def new_ending_id() -> str:
    return _new_id("x")


def new_message_id(nonce: str = "") -> str:
    return _new_id("m", nonce)


def new_audit_entry_id() -> str:
    return _new_id("e")


def new_notice_id() -> str:
    return _new_id("n")
