"""A question ends: the first to settle it wins in the database, everybody else is told what they left."""

from collections.abc import Callable, Iterable
from copy import copy

from django.db import transaction
from django.utils import timezone

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.contract.care import care_of, together
from rooms.db.compiled import Update, insert
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person, ending_by, name_of
from rooms.lifecycle.exceptions import AlreadySettled
from rooms.lifecycle.revisions import announce, locked, next_audited_revision
from rooms.models import AgentKey, Answer, Ended, EndedBy, EndReason, Question, QuestionQuerySet

# What changes beside the state of a question, by other hands than those that settle it.
MARKS = ("agent_active", "waiting_until", "last_seen_at")
# Reasons that an audit entry tells by its action and actor.
TOLD_BY_ACTION = (EndReason.DEADLINE, EndReason.AGENT, EndReason.PERSON)
SETTLE = Update(
    lambda id: Question.objects.open().filter(pk=id),
    *("status", "is_attended", "settled_at", "delivered_at", "ended", "revision", "settled_position"),
    returning=MARKS,
)


def withdraw(question: Question, by: audit.Who = None) -> Question:
    """Settle because the agent took its question back, or an admin did."""
    person = None if isinstance(by, AgentKey) else by
    ended = ended_because(EndReason.PERSON, person) if person else ended_because(EndReason.AGENT)
    return settle(
        question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor_of(by, audit.AGENT), ended=ended
    )


def withdraw_open(
    questions: QuestionQuerySet, by: Person | None = None, reason: EndReason = EndReason.PERSON
) -> int:
    """Withdraw those that are still open; how many that were."""

    def take_back(question: Question) -> Question:
        return settle(
            question,
            Question.Status.WITHDRAWN,
            Action.WITHDRAWN,
            actor_of(by),
            ended=ended_because(reason, by),
        )

    return _settle_each(questions.open().select_related("room"), take_back)


def close_unattended(questions: Iterable[Question], by: Person) -> int:
    """A person closes those of them that no agent waits for; how many that were."""

    def close(question: Question) -> Question:
        with locked(question) as current:
            # Its agent has come back, or people decided and can still undo it.
            if current.is_attended or current.is_held:
                raise AlreadySettled(current)
            return withdraw(current, by)

    return _settle_each(questions, close)


def _settle_each(questions: Iterable[Question], verb: Callable[[Question], Question]) -> int:
    settled = 0
    for question in questions:
        try:
            verb(question)
            settled += 1
        except AlreadySettled:
            continue
    return settled


def expire(question: Question) -> Question:
    """Settle because the deadline passed; with the default only if the question named one.

    Not if votes or named people have to decide: a room may have asked for them since the question came in.
    """
    default = None
    care = together(care_of(question.room.care), care_of(question.care))
    if question.default_choices is not None and not (care and care.is_for_people):
        default = Answer(via=Answer.Via.DEFAULT, choices=question.default_choices)
    return settle_undecided(question, Question.Status.EXPIRED, Action.EXPIRED, audit.SYSTEM, default)


def expire_if_due(question: Question) -> Question:
    """The question as it is now, with its deadline kept to the moment, whenever the next sweep is."""
    if not question.is_overdue:
        return question
    try:
        return expire(question)
    except AlreadySettled as settled:
        return settled.question


def close_stale(question: Question) -> Question:
    """Settle because no agent has waited for longer than the room allows; never with a default."""
    with locked(question) as current:
        is_stale = current.closes_at is not None and current.closes_at <= timezone.now()
        if not is_stale or current.is_held:
            raise AlreadySettled(current)
        return settle(
            current,
            Question.Status.EXPIRED,
            Action.EXPIRED,
            audit.SYSTEM,
            ended=ended_because(EndReason.NO_AGENT_WAITING),
        )


def ended_because(reason: EndReason, by: Person | None = None) -> Ended:
    """Why a question ends; with the person who ends it."""
    person = EndedBy(username=by.get_username(), name=name_of(by)) if by else None
    return Ended(reason=reason, by=person)


def settle_in_time(
    question: Question, status: Question.Status, action: Action, actor: audit.Actor, given: Answer
) -> Question:
    """An answer that comes after the deadline is late even if no sweep has been by yet."""
    if question.is_overdue:
        raise AlreadySettled(expire(question))
    return settle_undecided(question, status, action, actor, given)


def settle_undecided(
    question: Question, status: Question.Status, action: Action, actor: audit.Actor, given: Answer | None
) -> Question:
    """Not over the heads of those who decided, while they can undo it."""
    if not question.care:
        return settle(question, status, action, actor, given)
    with locked(question) as current:
        if current.is_held:
            raise AlreadySettled(current)
        return settle(current, status, action, actor, given)


def settle(
    question: Question,
    status: Question.Status,
    action: Action,
    actor: audit.Actor,
    given: Answer | None = None,
    *,
    ended: Ended | None = None,
) -> Question:
    """Settle with what was given, or without an answer; `ended` says why then."""
    if status == Question.Status.EXPIRED and ended is None:
        ended = ended_because(EndReason.DEADLINE)
    now = timezone.now()
    # What the agent itself reports has reached it.
    told_by_agent = given is not None and given.via == Answer.Via.TERMINAL
    delivered_at = now if told_by_agent else None
    details = {}
    if given:
        given.answered_at = now
        details["via"] = given.via
        if given.through and given.username:
            details["person"] = given.username
    if ended and ended["reason"] not in TOLD_BY_ACTION:
        details["reason"] = ended["reason"]
    content = audit.content_digest(audit.settled_content(question, status, given))
    entry = audit.entry(action, question.room, actor, question.pk, content, **details)
    with writing():
        # Together with its entry, which is undone with all the rest if another one was first.
        revision = next_audited_revision(entry)
        changes = {"status": status, "is_attended": False, "settled_at": now, "delivered_at": delivered_at}
        changes |= {"ended": ended, "revision": revision, "settled_position": revision}
        marks = SETTLE.first(id=question.pk, **changes)
        if marks is not None:
            settled = copy(question)
            settled._state.fields_cache["answer"] = None
            if given:
                given.question, given.room_id = settled, question.room_id
                given.position = revision
                insert(given)
            else:
                person = ended["by"] if ended else None
                ending = ending_by(actor, person["name"] if person else "")
                ending.question, ending.room_id = settled, question.room_id
                ending.ended_at, ending.position = now, revision
                insert(ending)
            # Nobody else can change it before the commit: this is what everybody will read.
            changes |= zip(MARKS, marks, strict=True)
            for name, value in changes.items():
                setattr(settled, name, value)
            announce(question.room_id, revision, question.pk, settled=settled)
        else:
            transaction.set_rollback(True, using=alias())
    if marks is None:
        raise AlreadySettled(Question.objects.with_answer().get(pk=question.pk))
    return settled
