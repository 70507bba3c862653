"""Settling: the end of a question. The first caller wins in the database, the others get AlreadySettled."""

from collections.abc import Callable, Iterable
from copy import copy
from datetime import datetime

from django.db import transaction

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.contract.care import care_of, combined
from rooms.db import timezone
from rooms.db.compiled import Update, insert
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person, ending_by
from rooms.lifecycle.exceptions import AlreadySettled, NeedsNewerVersion
from rooms.lifecycle.revisions import announce, locked, next_audited_revision
from rooms.lifecycle.versions import check_may_expire, check_understood
from rooms.models import AgentKey, Answer, Ended, EndedBy, Ending, EndReason, Question, QuestionQuerySet
from rooms.profiles import name_of

# Fields that other verbs change while a question is open: read back from the row that was settled.
MARKS = ("agent_active", "waiting_until", "last_seen_at", "votes", "held_until", "escalates_at")
# Reasons that are clear from the action and the actor of an audit entry.
CLEAR_FROM_ACTION = (EndReason.DEADLINE, EndReason.AGENT, EndReason.PERSON)
SETTLED = (
    *("status", "is_attended", "settled_at", "delivered_at", "ended", "memories"),
    *("revision", "settled_position"),
)
SETTLE = Update(lambda id: Question.objects.understood().filter(pk=id), *SETTLED, returning=MARKS)
# The same, but not while a decision is in its undo window.
SETTLE_UNDECIDED = Update(
    lambda id: Question.objects.understood().filter(pk=id, held_until=None), *SETTLED, returning=MARKS
)


def withdraw(question: Question, by: audit.Who = None) -> Question:
    """Settle because the agent, or an admin, withdrew the question."""
    person = None if isinstance(by, AgentKey) else by
    ended = ended_because(EndReason.PERSON, person) if person else ended_because(EndReason.AGENT)
    return settle(
        question, Question.Status.WITHDRAWN, Action.WITHDRAWN, actor_of(by, audit.AGENT), ended=ended
    )


def withdraw_open(
    questions: QuestionQuerySet, by: Person | None = None, reason: EndReason = EndReason.PERSON
) -> int:
    """Withdraw those that are still open; returns how many."""

    def withdraw_one(question: Question) -> Question:
        return settle(
            question,
            Question.Status.WITHDRAWN,
            Action.WITHDRAWN,
            actor_of(by),
            ended=ended_because(reason, by),
        )

    return _settle_each(questions.open().select_related("room"), withdraw_one)


def close_unattended(questions: Iterable[Question], by: Person) -> int:
    """A person closes those that no agent waits for; returns how many."""

    def close(question: Question) -> Question:
        with locked(question) as current:
            # Its agent waits again, or a decision is in its undo window.
            if current.is_attended or current.is_held:
                raise AlreadySettled(current)
            return withdraw(current, by)

    return _settle_each(questions, close)


def _settle_each(questions: Iterable[Question], verb: Callable[[Question], Question]) -> int:
    """Settle those that are still open; returns how many.

    Those with newer rules are left alone; NeedsNewerVersion if there were no others.
    """
    settled, newer = 0, None
    for question in questions:
        try:
            verb(question)
            settled += 1
        except AlreadySettled:
            continue
        except NeedsNewerVersion as problem:
            newer = problem
    if newer and not settled:
        raise newer
    return settled


def expire(question: Question) -> Question:
    """Settle because the deadline passed; with the default, if the question has one.

    Without the default if votes or named people have to decide: the room may require them since the ask.
    """
    check_may_expire(question)
    default = None
    care = combined(care_of(question.room.care), care_of(question.care))
    if question.default_choices is not None and not (care and care.is_for_people):
        default = Answer(via=Answer.Via.DEFAULT, choices=question.default_choices)
    return settle_undecided(question, Question.Status.EXPIRED, Action.EXPIRED, audit.SYSTEM, default)


def expire_if_due(question: Question) -> Question:
    """The question as it is now; expired if its deadline passed and no sweep has found it yet."""
    if not question.is_overdue:
        return question
    try:
        return expire(question)
    except AlreadySettled as settled:
        return settled.question
    except NeedsNewerVersion:
        return question


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
    """The reason of an end, with the person who caused it."""
    person = EndedBy(username=by.get_username(), name=name_of(by)) if by else None
    return Ended(reason=reason, by=person)


def settle_in_time(
    question: Question, status: Question.Status, action: Action, actor: audit.Actor, given: Answer
) -> Question:
    """Settle with an answer; after the deadline it is too late, even if no sweep has expired the question."""
    if question.is_overdue:
        raise AlreadySettled(expire(question))
    return settle_undecided(question, status, action, actor, given)


def settle_undecided(
    question: Question, status: Question.Status, action: Action, actor: audit.Actor, given: Answer | None
) -> Question:
    """Settle, but refuse to while a decision is in its undo window."""
    return settle(question, status, action, actor, given, statement=SETTLE_UNDECIDED)


def settle(
    question: Question,
    status: Question.Status,
    action: Action,
    actor: audit.Actor,
    given: Answer | None = None,
    *,
    ended: Ended | None = None,
    statement: Update = SETTLE,
) -> Question:
    """Settle with the given answer, or without one; `ended` says why then."""
    if status == Question.Status.EXPIRED and ended is None:
        ended = ended_because(EndReason.DEADLINE)
    now = timezone.now()
    if given:
        given.answered_at = now
    # An answer that the agent reports from its terminal is known to the agent.
    is_reported = given is not None and given.via == Answer.Via.TERMINAL
    content = audit.content_digest(audit.settled_content(question, status, given))
    details = _audit_details(given, ended)
    entry = audit.entry(action, question.room, actor, question.pk, content, **details)
    with writing():
        # Takes the revision and writes the entry first; the rollback undoes both if another caller won.
        revision = next_audited_revision(entry)
        changes = {
            "status": status,
            "is_attended": False,
            "settled_at": now,
            "delivered_at": now if is_reported else None,
            "ended": ended,
            # Only open cards show them; a copy would outlive the question that it was made of.
            "memories": None,
            "revision": revision,
            "settled_position": revision,
        }
        marks = statement.first(id=question.pk, **changes)
        if marks is not None:
            settled = copy(question)
            settled._state.fields_cache["answer"] = None
            _insert_outcome(given or _ending(actor, ended, now), settled, revision)
            # The row is locked until the commit, so all later reads find these values.
            changes |= zip(MARKS, marks, strict=True)
            for name, value in changes.items():
                setattr(settled, name, value)
            announce(question.room_id, revision, question.pk, settled=settled)
        else:
            transaction.set_rollback(True, using=alias())
    if marks is None:
        current = Question.objects.with_answer().get(pk=question.pk)
        if current.is_open:
            check_understood(current)
        raise AlreadySettled(current)
    return settled


def _audit_details(given: Answer | None, ended: Ended | None) -> dict[str, str]:
    details: dict[str, str] = {}
    if given:
        details["via"] = given.via
        if given.through and given.username:
            details["person"] = given.username
    if ended and ended["reason"] not in CLEAR_FROM_ACTION:
        details["reason"] = ended["reason"]
    return details


def _ending(actor: audit.Actor, ended: Ended | None, at: datetime) -> Ending:
    person = ended["by"] if ended else None
    ending = ending_by(actor, person["name"] if person else "")
    ending.ended_at = at
    return ending


def _insert_outcome(outcome: Answer | Ending, settled: Question, position: int) -> None:
    outcome.question, outcome.room_id, outcome.position = settled, settled.room_id, position
    insert(outcome)
