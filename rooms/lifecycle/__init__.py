"""The verbs that change questions and rooms. No other module writes their state.

    ask ─> open ─┬─ answer ────────────> answered ─┐
                 ├─ decline, ask_back ─> declined ─┤
                 ├─ expire ────────────> expired ──┼─> deliver: the result has reached the agent
                 ├─ close_stale ───────> expired ──┤
                 └─ withdraw ──────────> withdrawn ┘

    wait_started / wait_paused / wait_ended: an agent waits for an open question, or no longer does. The
    lease of 20 seconds (`LEASE_SECONDS`) and its renewal are in `leases.py`.

An answer to a careful question counts as a vote. Enough equal votes answer the question, or hold the decision
for the undo window: `undo` opens the question again, `release` makes the decision its answer. `escalate` lets
all people of the room decide. See `approval.py`, and `rooms/contract/care.py` for what can be asked for.

Each verb on a question is one transaction. It changes the question only if it is still in the state that the
verb needs, takes the room's next revision, writes an audit entry, and sends its signals after commit. The
first caller to settle a question wins in the database; every other one gets `AlreadySettled` with the
question as it is now.
"""

from rooms.lifecycle.actors import Person, ending_by
from rooms.lifecycle.anonymising import (
    Reasons,
    anonymise_earlier_answers,
    anonymise_messages,
    anonymise_questions,
    anonymise_rooms,
    forget_settings,
    questions_naming,
    redact_entries,
)
from rooms.lifecycle.answering import answer, ask_back, decline
from rooms.lifecycle.approval import escalate, may_decide, release, undo
from rooms.lifecycle.asking import ask, hash_of, idempotency_hash_of
from rooms.lifecycle.deleting import delete_questions, delete_rooms
from rooms.lifecycle.delivering import deliver, deliver_all, recall
from rooms.lifecycle.exceptions import (
    AlreadySettled,
    AskedDifferently,
    InvitationEnded,
    LastManager,
    NeedsNewerVersion,
    NeedsPeople,
    NotDecided,
    NotTheirTurn,
    RoomArchived,
    TooManyInvitations,
)
from rooms.lifecycle.identities import Identity, identity_of, identity_without_account
from rooms.lifecycle.invitations import (
    create_invitation,
    invitation_of,
    is_member,
    is_vouched_for,
    join,
    revoke_invitation,
)
from rooms.lifecycle.leases import (
    GRACE_SECONDS,
    LEASE_SECONDS,
    asked_with,
    pause_waits,
    renew_leases,
    renew_leases_of_key,
    wait_ended,
    wait_paused,
    wait_started,
)
from rooms.lifecycle.members import add_group, add_member, change_role, remove_member
from rooms.lifecycle.messages import correct, post_message, say
from rooms.lifecycle.removing import (
    Removed,
    count_old,
    kept_days,
    kept_since,
    remove_old,
    rooms_with_limit,
)
from rooms.lifecycle.resubmissions import is_own_answer, is_own_refusal
from rooms.lifecycle.rooms import (
    add_room,
    archive_room,
    change_room,
    close_questions_after,
    create_room,
    restore_room,
)
from rooms.lifecycle.settling import (
    close_stale,
    close_unattended,
    expire,
    expire_if_due,
    withdraw,
    withdraw_open,
)
from rooms.lifecycle.sweeping import sweep
from rooms.profiles import name_of

__all__ = [
    "GRACE_SECONDS",
    "LEASE_SECONDS",
    "AlreadySettled",
    "AskedDifferently",
    "Identity",
    "InvitationEnded",
    "LastManager",
    "NeedsNewerVersion",
    "NeedsPeople",
    "NotDecided",
    "NotTheirTurn",
    "Person",
    "Reasons",
    "Removed",
    "RoomArchived",
    "TooManyInvitations",
    "add_group",
    "add_member",
    "add_room",
    "anonymise_earlier_answers",
    "anonymise_messages",
    "anonymise_questions",
    "anonymise_rooms",
    "answer",
    "archive_room",
    "ask",
    "ask_back",
    "asked_with",
    "change_role",
    "change_room",
    "close_questions_after",
    "close_stale",
    "close_unattended",
    "correct",
    "count_old",
    "create_invitation",
    "create_room",
    "decline",
    "delete_questions",
    "delete_rooms",
    "deliver",
    "deliver_all",
    "ending_by",
    "escalate",
    "expire",
    "expire_if_due",
    "forget_settings",
    "hash_of",
    "idempotency_hash_of",
    "identity_of",
    "identity_without_account",
    "invitation_of",
    "is_member",
    "is_own_answer",
    "is_own_refusal",
    "is_vouched_for",
    "join",
    "kept_days",
    "kept_since",
    "may_decide",
    "name_of",
    "pause_waits",
    "post_message",
    "questions_naming",
    "recall",
    "redact_entries",
    "release",
    "remove_member",
    "remove_old",
    "renew_leases",
    "renew_leases_of_key",
    "restore_room",
    "revoke_invitation",
    "rooms_with_limit",
    "say",
    "sweep",
    "undo",
    "wait_ended",
    "wait_paused",
    "wait_started",
    "withdraw",
    "withdraw_open",
]
