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

from rooms.lifecycle.actors import Person, ending_by, name_of
from rooms.lifecycle.answering import answer, ask_back, decline
from rooms.lifecycle.approval import escalate, may_decide, release, undo
from rooms.lifecycle.asking import ask, hash_of, idempotency_hash_of
from rooms.lifecycle.deleting import delete_questions
from rooms.lifecycle.delivering import deliver, deliver_all, recall
from rooms.lifecycle.exceptions import (
    AlreadySettled,
    AskedDifferently,
    NeedsPeople,
    NotTheirTurn,
    RoomArchived,
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
from rooms.lifecycle.messages import post_message, say
from rooms.lifecycle.resubmissions import is_own_answer, is_own_refusal
from rooms.lifecycle.rooms import add_room, archive_room, close_questions_after, create_room, restore_room
from rooms.lifecycle.settling import (
    close_stale,
    close_unattended,
    expire,
    expire_if_due,
    withdraw,
    withdraw_open,
)
from rooms.lifecycle.sweeping import sweep

__all__ = [
    "GRACE_SECONDS",
    "LEASE_SECONDS",
    "AlreadySettled",
    "AskedDifferently",
    "NeedsPeople",
    "NotTheirTurn",
    "Person",
    "RoomArchived",
    "add_room",
    "answer",
    "archive_room",
    "ask",
    "ask_back",
    "asked_with",
    "close_questions_after",
    "close_stale",
    "close_unattended",
    "create_room",
    "decline",
    "delete_questions",
    "deliver",
    "deliver_all",
    "ending_by",
    "escalate",
    "expire",
    "expire_if_due",
    "hash_of",
    "idempotency_hash_of",
    "is_own_answer",
    "is_own_refusal",
    "may_decide",
    "name_of",
    "pause_waits",
    "post_message",
    "recall",
    "release",
    "renew_leases",
    "renew_leases_of_key",
    "restore_room",
    "say",
    "sweep",
    "undo",
    "wait_ended",
    "wait_paused",
    "wait_started",
    "withdraw",
    "withdraw_open",
]
