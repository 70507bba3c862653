"""A question ends: the first to settle it wins in the database, everybody else is told what they left."""

from copy import copy

from django.db import transaction
from django.utils import timezone

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.care import care_of, together
from rooms.database import alias, writing
from rooms.lifecycle.changes import announce, locked, next_audited_revision
from rooms.lifecycle.people import Person, ending_by
from rooms.lifecycle.refusals import AlreadySettled
from rooms.models import Answer, Question, QuestionQuerySet
from rooms.prepared import Update, insert

# What changes beside the state of a question, by other hands than those that settle it.
MARKS = ("agent_active", "waiting_until", "last_seen_at")
SETTLE = Update(
    lambda id: Question.objects.open().filter(pk=id),
    *("status", "settled_at", "delivered_at", "revision", "settled_position"),
    returning=MARKS,
)


def withdraw(question: Question, by: audit.Who = None) -> Question:
    """Settle because the agent took its question back, or an admin did."""
    actor = actor_of(by, audit.AGENT)
    return settle(question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor, by=by)


def withdraw_open(questions: QuestionQuerySet, by: Person | None = None) -> int:
    """Withdraw those that are still open; how many that were."""
    withdrawn = 0
    for question in questions.open().select_related("room"):
        try:
            settle(question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor_of(by), by=by)
            withdrawn += 1
        except AlreadySettled:
            continue
    return withdrawn


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
    by: audit.Who = None,
) -> Question:
    """Settle with what was given, or without an answer; `by` names who ended it then."""
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
    content = audit.content_digest(audit.settled_content(question, status, given))
    entry = audit.entry(action, question.room, actor, question.pk, content, **details)
    with writing():
        # Together with its entry, which is undone with all the rest if another one was first.
        revision = next_audited_revision(entry)
        changes = {"status": status, "settled_at": now, "delivered_at": delivered_at}
        changes |= {"revision": revision, "settled_position": revision}
        marks = SETTLE.first(id=question.pk, **changes)
        if marks is not None:
            settled = copy(question)
            settled._state.fields_cache["answer"] = None
            if given:
                given.question, given.room_id = settled, question.room_id
                given.position = revision
                insert(given)
            else:
                ending = ending_by(by, actor)
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
