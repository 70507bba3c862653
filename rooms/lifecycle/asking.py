"""Asking: an ask becomes one open question, however often the agent sends it."""

import hashlib
import json
from datetime import timedelta

from django.db import IntegrityError

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.contract.asks import Ask
from rooms.contract.care import care_of, combined
from rooms.contract.choices import as_json
from rooms.contract.colors import color_of
from rooms.contract.types import FieldError, InvalidPayload
from rooms.db import timezone
from rooms.db.compiled import Select, insert
from rooms.db.transactions import writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.exceptions import AskedDifferently
from rooms.lifecycle.leases import GRACE_SECONDS
from rooms.lifecycle.revisions import announce, next_audited_revision
from rooms.lifecycle.versions import check_room_understood
from rooms.models import AgentKey, Question, Room

ASKED_BEFORE = Select(
    lambda room, hash: Question.objects.with_answer().filter(room=room, idempotency_hash=hash)
)


def ask(
    room: Room, key: AgentKey | None, asked: Ask, idempotency_key: str = "", *, by: Person | None = None
) -> tuple[Question, bool]:
    """A new open question and True; or the one that this agent asked before, as it is now, and False.

    InvalidPayload if it has a default that its care, or the care of the room, does not allow.
    Without a key it is a test question of the person `by`. NeedsNewerVersion if the room asks for a care that
    this process does not know.
    """
    check_room_understood(room)
    question = _new_question(room, key, asked)
    idempotency_hash = idempotency_hash_of(key, asked, idempotency_key)
    body_hash = hash_of(
        question.prompts, question.default_choices, *([asked.care.model_dump()] if asked.care else ())
    )
    question.idempotency_hash, question.body_hash = idempotency_hash, body_hash
    if idempotency_hash:
        before = _asked_before(room, idempotency_hash, body_hash)
        if before:
            return before, False
    care = care_of(question.care)
    if care and question.default_choices is not None:
        problem = care.problem_with_default(asked.timeout_seconds)
        if problem:
            raise InvalidPayload([FieldError(field="default", message=problem)])
    content = audit.content_digest(audit.asked_content(question))
    named = {"content": content, "agent": question.agent_name}
    entry = audit.entry(Action.ASKED, room, actor_of(key or by), question.pk, **named)
    try:
        with writing():
            # Locks the row of the room: if it is archived later, this question is withdrawn with the others.
            revision = next_audited_revision(entry, in_active_room=True)
            question.position = question.revision = revision
            insert(question)
            announce(room.pk, revision, question.pk, asked=question)
    except IntegrityError:
        # The same ask came in twice at the same time, and the other one was committed first.
        before = _asked_before(room, idempotency_hash, body_hash) if idempotency_hash else None
        if not before:
            raise
        return before, False
    return question, True


def _new_question(room: Room, key: AgentKey | None, asked: Ask) -> Question:
    """The question as it will be stored, without its hashes and its revision."""
    now = timezone.now()
    defaults = asked.default_choices
    timeout_seconds = asked.timeout_seconds
    care = combined(care_of(room.care), asked.care)
    escalate_seconds = care.escalate_seconds if care else None
    question = Question(
        room=room,
        key=key,
        agent_name=asked.agent.name,
        agent_color=asked.agent.color or color_of(asked.agent.name),
        session_id=asked.session_id,
        tool_use_id=asked.tool_use_id,
        prompts=[prompt.model_dump(by_alias=True) for prompt in asked.questions],
        context={name: text for name, text in asked.context.model_dump().items() if text},
        default_choices=None if defaults is None else as_json(defaults),
        care=care.model_dump() if care else None,
        asked_at=now,
        is_attended=True,
        waiting_until=now + timedelta(seconds=GRACE_SECONDS),
        expires_at=now + timedelta(seconds=timeout_seconds) if timeout_seconds else None,
        escalates_at=now + timedelta(seconds=escalate_seconds) if escalate_seconds else None,
    )
    # A new question has no answer: avoids the query that would look for one.
    question._state.fields_cache["answer"] = None
    return question


def _asked_before(room: Room, idempotency_hash: str, body_hash: str) -> Question | None:
    before = ASKED_BEFORE.first(room=room.pk, hash=idempotency_hash)
    if before and before.body_hash != body_hash:
        raise AskedDifferently
    return before


def idempotency_hash_of(key: AgentKey | None, asked: Ask, idempotency_key: str) -> str | None:
    """Equal for asks with the same tool use and any agent key, or with the same idempotency and agent key."""
    if idempotency_key:
        return hash_of("key", key.pk if key else None, idempotency_key)
    if asked.session_id and asked.tool_use_id:
        return hash_of("tool use", asked.session_id, asked.tool_use_id)
    return None


def hash_of(*parts: object) -> str:
    """SHA-256 of the parts as canonical JSON: equal for equal parts, and of fixed length."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
