"""The life of a question, and the only writer of it.

    ask ─> open ─┬─ answer ────────────> answered ─┐
                 ├─ decline, ask_back ─> declined ─┤
                 ├─ expire ────────────> expired ──┼─> deliver: the result has reached the agent
                 └─ withdraw ──────────> withdrawn ┘

    wait_started / wait_paused / wait_ended: an agent is, or no longer is, waiting for an open question.

Each verb on a question is one transaction. It changes the question only if it is still in the state that the
verb needs, takes the room's next revision, leaves an audit entry, and sends its signals after commit. The
first to settle a question wins in the database; everybody else gets `AlreadySettled` with the question as it
is now.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from copy import copy
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import IntegrityError, connections, transaction
from django.utils import timezone

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.colors import color_of
from rooms.database import alias, in_batches, writing
from rooms.models import (
    PERSON_NAME_LENGTH,
    AgentKey,
    Answer,
    Membership,
    Message,
    Question,
    QuestionQuerySet,
    Room,
)
from rooms.payload import Ask, Choice, check_choices, check_reply, parse_prompts
from rooms.prepared import Select, Update, insert
from rooms.signals import question_asked, question_settled, result_ready, room_changed

# How long an agent counts as waiting after its last sign of life. Held waits renew it every few seconds;
# a killed agent has to show as gone within 30 s, and one between two long-polls must not flicker.
LEASE_SECONDS = 20
# How long an agent counts as waiting between two long-polls. A machine that vanished without a word is known
# only by not coming back: with the longest wait of 55 seconds it shows within a minute.
PAUSE_SECONDS = 3

SETTLE = Update(
    lambda id: Question.objects.open().filter(pk=id),
    *("status", "settled_at", "delivered_at", "revision", "settled_position"),
)
# What changes beside the state of a question, by other hands than those that settle it.
MARKS = ("agent_active", "waiting_until", "last_seen_at")
MARKS_OF = Select(lambda id: Question.objects.filter(pk=id).values_list(*MARKS))

# One sweep settles at most this many questions, so that it never holds up the next.
SWEEP_LIMIT = 200


# One statement where Django's own would be two: every change of every question begins with it.
NEXT_REVISION = (
    f"UPDATE {Room._meta.db_table} SET revision = revision + 1, changed_at = %s "  # noqa: S608 - a name of ours
    "WHERE id = %s RETURNING revision, archived_at"
)


# What `request.user` is; the pages let only signed-in people come this far.
Person = AbstractBaseUser | AnonymousUser


class AlreadySettled(Exception):
    """Somebody or something was first; `question` is what they left."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is {question.status}")
        self.question = question


class RoomArchived(Exception):
    """Nothing new can be asked in this room; or the room is gone altogether."""


class AskedDifferently(Exception):
    """The same idempotency key came with another question."""


# ---- asking ----------------------------------------------------------------------------------------------


def ask(
    room: Room, key: AgentKey | None, asked: Ask, idempotency_key: str = "", *, by: Person | None = None
) -> tuple[Question, bool]:
    """A new open question and True; or the one this agent asked before, as it is now, and False.

    Without a key it is a test question of the person `by`.
    """
    idempotency_hash = idempotency_hash_of(key, asked, idempotency_key)
    prompts = [prompt.model_dump(by_alias=True) for prompt in asked.questions]
    defaults = asked.default_choices
    default_choices = None if defaults is None else as_json(defaults)
    body_hash = hash_of(prompts, default_choices)
    if idempotency_hash:
        before = _asked_before(room, idempotency_hash, body_hash)
        if before:
            return before, False
    now = timezone.now()
    timeout = asked.timeout_seconds
    question = Question(
        room=room,
        key=key,
        agent_name=asked.agent.name,
        agent_color=asked.agent.color or color_of(asked.agent.name),
        session_id=asked.session_id,
        tool_use_id=asked.tool_use_id,
        idempotency_hash=idempotency_hash,
        body_hash=body_hash,
        prompts=prompts,
        context={name: text for name, text in asked.context.model_dump().items() if text},
        default_choices=default_choices,
        asked_at=now,
        expires_at=now + timedelta(seconds=timeout) if timeout else None,
    )
    # Known to have none, so that nobody looks for it.
    question._state.fields_cache["answer"] = None
    try:
        with writing():
            # With the room's row locked: archiving comes before this ask or finds its question.
            revision = _next_revision(room.pk, in_active_room=True)
            question.position = question.revision = revision
            insert(question)
            _announce(room.pk, revision, question.pk, asked=question)
            audit.record(Action.ASKED, room.slug, actor_of(key or by), question.pk, agent=question.agent_name)
    except IntegrityError:
        # The same ask came in twice at once, and the other one was first.
        before = _asked_before(room, idempotency_hash, body_hash) if idempotency_hash else None
        if not before:
            raise
        return before, False
    return question, True


def _asked_before(room: Room, idempotency_hash: str, body_hash: str) -> Question | None:
    before = Question.objects.with_answer().filter(room=room, idempotency_hash=idempotency_hash).first()
    if before and before.body_hash != body_hash:
        raise AskedDifferently
    return before


def idempotency_hash_of(key: AgentKey | None, asked: Ask, idempotency_key: str) -> str | None:
    """A tool use is the same for whoever repeats it; a key of the agent's choosing only for itself."""
    if idempotency_key:
        return hash_of("key", key.pk if key else None, idempotency_key)
    if asked.session_id and asked.tool_use_id:
        return hash_of("tool use", asked.session_id, asked.tool_use_id)
    return None


def hash_of(*parts: object) -> str:
    """The same for what is the same, whatever its length."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


# ---- settling --------------------------------------------------------------------------------------------


def answer(
    question: Question,
    choices: Sequence[Choice | dict[str, Any]],
    *,
    via: Answer.Via,
    user: Person | None = None,
    key: AgentKey | None = None,
) -> Question:
    """Settle with what a person chose, or an agent with its key says that one chose in the terminal.

    Only what was offered, or a text of one's own, can be chosen.
    """
    checked = check_choices(parse_prompts(question.prompts), choices)
    given = Answer(via=via, choices=as_json(checked), **_person(user))
    actor = actor_of(user or key, audit.AGENT)
    return _settle_in_time(question, Question.Status.ANSWERED, Action.ANSWERED, actor, given)


def decline(question: Question, user: Person, reason: str = "") -> Question:
    """Settle without a choice: a person pressed Skip."""
    given = Answer(via=Answer.Via.WEB, reason=reason, **_person(user))
    return _settle_in_time(question, Question.Status.DECLINED, Action.DECLINED, actor_of(user), given)


def ask_back(question: Question, user: Person, text: str) -> Question:
    """Settle without a choice, but with words for the agent, who may ask again."""
    # Declined, so that agents who know nothing of replies take it for what it also is: nothing was chosen.
    given = Answer(via=Answer.Via.WEB, reason=check_reply(text), asks_back=True, **_person(user))
    return _settle_in_time(question, Question.Status.DECLINED, Action.ASKED_BACK, actor_of(user), given)


def withdraw(question: Question, by: audit.Who = None) -> Question:
    """Settle because the agent took its question back, or an admin did."""
    return _settle(question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor_of(by, audit.AGENT))


def withdraw_open(questions: QuestionQuerySet, by: Person | None = None) -> int:
    """Withdraw those that are still open; how many that were."""
    withdrawn = 0
    for question in questions.open().select_related("room"):
        try:
            _settle(question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor_of(by))
            withdrawn += 1
        except AlreadySettled:
            continue
    return withdrawn


def expire(question: Question) -> Question:
    """Settle because the deadline passed; with the default only if the question named one."""
    default = None
    if question.default_choices is not None:
        default = Answer(via=Answer.Via.DEFAULT, choices=question.default_choices)
    return _settle(question, Question.Status.EXPIRED, Action.EXPIRED, audit.SYSTEM, default)


def _settle_in_time(
    question: Question, status: Question.Status, action: Action, actor: audit.Actor, given: Answer
) -> Question:
    """An answer that comes after the deadline is late even if no sweep has been by yet."""
    if question.is_overdue:
        raise AlreadySettled(expire(question))
    return _settle(question, status, action, actor, given)


def _settle(
    question: Question,
    status: Question.Status,
    action: Action,
    actor: audit.Actor,
    given: Answer | None = None,
) -> Question:
    now = timezone.now()
    # What the agent itself reports has reached it.
    told_by_agent = given is not None and given.via in (Answer.Via.TERMINAL, Answer.Via.API)
    delivered_at = now if told_by_agent else None
    with writing():
        revision = _next_revision(question.room_id)
        changes = {"status": status, "settled_at": now, "delivered_at": delivered_at}
        changes |= {"revision": revision, "settled_position": revision}
        won = SETTLE.run(id=question.pk, **changes)
        if won:
            settled = copy(question)
            settled._state.fields_cache["answer"] = None
            if given:
                given.question, given.room_id = settled, question.room_id
                given.answered_at, given.position = now, revision
                insert(given)
            via = {"via": given.via} if given else {}
            audit.record(action, question.room.slug, actor, question.pk, **via)
            # Nobody else can change it before the commit: this is what everybody will read.
            changes |= zip(MARKS, MARKS_OF.first(id=question.pk) or (), strict=True)
            for name, value in changes.items():
                setattr(settled, name, value)
            _announce(question.room_id, revision, question.pk, settled=settled)
        else:
            transaction.set_rollback(True, using=alias())
    if not won:
        raise AlreadySettled(Question.objects.with_answer().get(pk=question.pk))
    return settled


def _person(user: Person | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user_id": user.pk, "username": user.get_username(), "person_name": name_of(user)}


def name_of(user: Person) -> str:
    """The full name where there is one, else the user name."""
    full_name: str = getattr(user, "get_full_name", str)()
    return (full_name or user.get_username())[:PERSON_NAME_LENGTH]


def as_json(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Choices as they are stored."""
    return [choice.model_dump(by_alias=True) for choice in choices]


# ---- waiting and delivery --------------------------------------------------------------------------------


def wait_started(question_id: str) -> None:
    """An agent waits: it is active for the length of a lease."""
    unwatched = Question.objects.open().filter(agent_active=False)
    if not _change(question_id, unwatched, agent_active=True, **_lease()):
        with writing():
            Question.objects.open().filter(pk=question_id, agent_active=True).update(**_lease())


def wait_paused(question_id: str) -> None:
    """The agent's wait ran out and was answered: it is expected back at once."""
    until = timezone.now() + timedelta(seconds=PAUSE_SECONDS)
    with writing():
        Question.objects.open().filter(pk=question_id, agent_active=True).update(waiting_until=until)


def wait_ended(question_id: str) -> None:
    """The agent stopped waiting, and says so or hung up."""
    waited_for = Question.objects.open().filter(agent_active=True)
    _change(question_id, waited_for, agent_active=False, waiting_until=timezone.now())


def renew_leases(question_ids: Sequence[str]) -> None:
    """Agents still wait for these: a statement for many, and one for each that was marked as gone."""
    for batch in in_batches(question_ids):
        waiting = Question.objects.open().filter(pk__in=batch)
        with writing():
            waiting.filter(agent_active=True).update(**_lease())
        gone = waiting.filter(agent_active=False).order_by()
        for question_id in gone.values_list("pk", flat=True):
            wait_started(question_id)


def deliver(question_id: str) -> None:
    """The result went out to an agent that waited for it."""
    undelivered = Question.objects.filter(settled_at__isnull=False, delivered_at=None)
    _change(question_id, undelivered, delivered_at=timezone.now())


def sweep() -> None:
    """Expire what is due and mark agents that left; any number of processes may do so at once."""
    for question in Question.objects.due().select_related("room")[:SWEEP_LIMIT]:
        try:
            expire(question)
        except AlreadySettled:
            continue
    for question_id in Question.objects.abandoned().values_list("pk", flat=True)[:SWEEP_LIMIT]:
        _change(question_id, Question.objects.abandoned(), agent_active=False)


def _lease() -> dict[str, datetime]:
    now = timezone.now()
    return {"waiting_until": now + timedelta(seconds=LEASE_SECONDS), "last_seen_at": now}


def _change(question_id: str, changeable: QuestionQuerySet, **fields: Any) -> bool:
    """Change a mark beside the state, if the question is still one of the changeable: one caller wins."""
    changeable = changeable.filter(pk=question_id)
    room_id = changeable.values_list("room_id", flat=True).first()
    if room_id is None:
        return False
    with writing():
        revision = _next_revision(room_id)
        won = changeable.update(revision=revision, **fields)
        if won:
            _announce(room_id, revision, question_id)
        else:
            transaction.set_rollback(True, using=alias())
    return won > 0


# ---- rooms and their timeline ----------------------------------------------------------------------------


def create_room(
    slug: str, *, name: str = "", is_open: bool = False, members: Iterable[AbstractBaseUser] = ()
) -> Room:
    """A room with its members; an existing one is left as it is but for new members."""
    with writing():
        named = {"name": name or slug, "is_open": is_open}
        room, is_new = Room.objects.get_or_create(slug=slug, defaults=named)
        if is_new:
            audit.record(Action.ROOM_CREATED, room.slug, audit.SYSTEM)
        for user in members:
            Membership.objects.get_or_create(room=room, user_id=user.pk)
    return room


def add_room(room: Room, by: Person) -> None:
    """Save a new room that somebody filled in a form for."""
    with writing():
        room.save(force_insert=True)
        audit.record(Action.ROOM_CREATED, room.slug, actor_of(by))


def archive_room(room: Room, by: Person | None = None) -> None:
    """Close the room: its open questions are withdrawn, its keys stop working, its history stays."""
    with writing():
        if Room.objects.active().filter(pk=room.pk).update(archived_at=timezone.now()):
            audit.record(Action.ROOM_ARCHIVED, room.slug, actor_of(by))
    withdraw_open(room.questions.all(), by)


def restore_room(room: Room, by: Person | None = None) -> None:
    """Open an archived room again: members see it, and keys that were not revoked work."""
    with writing():
        if Room.objects.filter(pk=room.pk, archived_at__isnull=False).update(archived_at=None):
            audit.record(Action.ROOM_RESTORED, room.slug, actor_of(by))


def say(room: Room, user: Person, content: str) -> Message:
    """A person writes to the agents of the room."""
    return post_message(
        room, user=user, sender=name_of(user), sender_type=Message.SenderType.HUMAN, content=content
    )


def post_message(room: Room, **fields: Any) -> Message:
    """Add a line to the room's timeline."""
    message = Message(room=room, **fields)
    with writing():
        message.position = _next_revision(room.pk)
        insert(message)
        _announce(room.pk, message.position)
    return message


def _next_revision(room_id: int, *, in_active_room: bool = False) -> int:
    """Take the room's next revision in this transaction; its row lock makes commits follow the numbers."""
    connection = connections[alias()]
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(NEXT_REVISION, [now, room_id])
        found = cursor.fetchone()
    if found is None or (in_active_room and found[1]):
        raise RoomArchived
    revision: int = found[0]
    return revision


def _announce(
    room_id: int,
    revision: int,
    question_id: str | None = None,
    *,
    asked: Question | None = None,
    settled: Question | None = None,
) -> None:
    """After commit: first who waits for the result, then who watches the room, then the portal."""

    def send() -> None:
        if settled:
            result_ready.send_robust(Question, question=settled)
        hint = {"question_id": question_id, "is_settled": settled is not None}
        room_changed.send_robust(Room, room_id=room_id, revision=revision, **hint)
        if asked:
            question_asked.send_robust(Question, question=asked)
        if settled:
            question_settled.send_robust(Question, question=settled)

    transaction.on_commit(send, using=alias())
