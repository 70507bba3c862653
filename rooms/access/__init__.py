"""Access checks: people by login and membership, agents by key. Forbidden looks like missing.

`people` and `keys` hold the checks, `locks` the reasons why a person may not decide a question, `rate_limits`
the limits per minute.
"""

from rooms.access.exceptions import (
    BadKey,
    MayNotAnswer,
    Missing,
    MissingScope,
    NotOwnQuestion,
    NotRotatable,
    SignedOut,
)
from rooms.access.keys import (
    OVERLAP,
    check_own,
    check_scope,
    create_key,
    key_from_header,
    question_of_key,
    revoke_keys,
    room_of_key,
    rotate_key,
)
from rooms.access.people import (
    QUESTION,
    check_may_answer,
    check_named,
    check_named_by_key,
    manager_names,
    may_answer,
    may_manage,
    may_see,
    named_users,
    person_to_answer_for,
    question_for,
    room_for,
    user_of_session,
    visible_rooms,
)

__all__ = [
    "OVERLAP",
    "QUESTION",
    "BadKey",
    "MayNotAnswer",
    "Missing",
    "MissingScope",
    "NotOwnQuestion",
    "NotRotatable",
    "SignedOut",
    "check_may_answer",
    "check_named",
    "check_named_by_key",
    "check_own",
    "check_scope",
    "create_key",
    "key_from_header",
    "manager_names",
    "may_answer",
    "may_manage",
    "may_see",
    "named_users",
    "person_to_answer_for",
    "question_for",
    "question_of_key",
    "revoke_keys",
    "room_for",
    "room_of_key",
    "rotate_key",
    "user_of_session",
    "visible_rooms",
]
