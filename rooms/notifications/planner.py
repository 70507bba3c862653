"""Notification planner: turns changes of questions into rows of the outbox.

It follows every room in the background, like the history: neither an ask nor an answer waits for it. The
constraint on question, target and kind makes each row unique. `outbox.py` sends a row when it is due, unless
it is outdated by then.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop

from rooms import membership
from rooms.db import timezone
from rooms.db.compiled import Select
from rooms.lifecycle import may_decide
from rooms.models import Notice, Question, Room
from rooms.models.notifications import OFF
from rooms.notifications.channels.channel import People, Recipient
from rooms.notifications.channels.registry import CHANNELS, personal_channels
from rooms.notifications.rules import Rules, rules_for
from rooms.permissions import permissions
from rooms.timeline.change_feed import RoomChanges, changed, changes_for

logger = logging.getLogger(__name__)

READER = "notices"
# Questions that were asked or settled longer ago are not announced, even after a longer downtime.
ANNOUNCED_WITHIN = timedelta(days=1)

# Only what decides about recipients: the prompts are most of a question's size.
READ_FIELDS = ("room_id", "status", "asked_at", "settled_at", "care", "escalates_at")
CHANGED = Select(lambda room, after, to: changed(room, after, to).only(*READ_FIELDS))

SETTLED_FIRST = gettext_noop("The question was settled before the notification was due.")

Kind = Notice.Kind


def read() -> None:
    """Plan notices for all changes since the last call; any number of processes may run this at once."""
    for changes in changes_for(READER):
        try:
            _read(changes)
        except DatabaseError:
            raise
        except Exception:  # a portal's own permission rules may fail; continue with the other rooms
            logger.exception("Could not plan notifications of room %s; retrying soon", changes.room.slug)


def _read(changes: RoomChanges) -> None:
    now = timezone.now()
    questions = changes.questions(CHANGED)
    for question in questions:
        question.room = changes.room
    waiting = [question for question in questions if question.is_open]
    settled = [question for question in questions if not question.is_open]
    asked = [question for question in waiting if question.asked_at > now - ANNOUNCED_WITHIN]
    # An escalation is announced however long ago the question was asked.
    escalated = [question for question in waiting if question.was_escalated]
    rows = [*_asked_rows(changes.room, asked), *_escalated_rows(changes.room, escalated)]

    def write() -> None:
        _insert(rows)
        if settled:
            _settle(changes.room, settled)

    changes.commit(write=write)


def _insert(rows: Iterable[Notice]) -> None:
    # A question is read again at each of its changes: existing rows stay as they are.
    Notice.objects.bulk_create(rows, ignore_conflicts=True)


# ---- asked and escalated ---------------------------------------------------------------------------------


def _asked_rows(room: Room, questions: list[Question]) -> Iterator[Notice]:
    # Usually all are announced already: a change such as an agent's reconnect must not query people.
    if new := _not_announced(questions, Kind.ASKED):
        yield from _rows(Kind.ASKED, room, new, _people_who_may_want(room))


def _escalated_rows(room: Room, questions: list[Question]) -> Iterator[Notice]:
    """Notices for the managers of the room, due at once."""
    if new := _not_announced(questions, Kind.ESCALATED):
        managers = {user.pk: user for user in permissions().managers(room)}
        yield from _rows(Kind.ESCALATED, room, new, managers)


def _not_announced(questions: list[Question], kind: Notice.Kind) -> list[Question]:
    """Those without a notice of this kind: each question is announced once."""
    if not questions:
        return []
    announced = Notice.objects.filter(question__in=questions, kind=kind).order_by()
    known = set(announced.values_list("question_id", flat=True).distinct())
    return [question for question in questions if question.pk not in known]


def _rows(kind: Notice.Kind, room: Room, questions: list[Question], people: People) -> Iterator[Notice]:
    rules = rules_for(people, [room]) if people else None
    recipients = [one for channel in CHANNELS.values() for one in channel.recipients(room, people)]
    for question in questions:
        for recipient in recipients:
            # A person who adds a device while a question waits has just seen it on the page.
            if kind == Kind.ASKED and recipient.created_at and recipient.created_at > question.asked_at:
                continue
            if due_at := _due_at(kind, question, recipient, people, rules):
                yield recipient.notice(kind, question, due_at)


def _due_at(
    kind: Notice.Kind, question: Question, recipient: Recipient, people: People, rules: Rules | None
) -> datetime | None:
    """When the notice is due; None for no notice."""
    is_escalated = kind == Kind.ESCALATED
    if recipient.user_id is None or rules is None:
        delay = timedelta(minutes=recipient.delay_minutes)
        return timezone.now() if is_escalated else question.asked_at + delay
    minutes = rules.minutes(recipient.user_id, question.room_id, recipient.channel)
    # Managers get escalations even if they may not vote. Otherwise only people who can decide are notified.
    if minutes == OFF or not (is_escalated or may_decide(question, people[recipient.user_id])):
        return None
    at = timezone.now() if is_escalated else question.asked_at + timedelta(minutes=minutes)
    return rules.after_quiet_hours(recipient.user_id, at, kind)


# ---- who may want a notice -------------------------------------------------------------------------------


def _people_who_may_want(room: Room) -> People:
    """People with a channel for this room: usually few of those who may see it."""
    is_inside_known = permissions().knows_by_membership and not room.is_open
    users = MEMBERS_WHO_MAY_WANT if is_inside_known else USERS_WHO_MAY_WANT
    return {user.pk: user for user in users.all(room=room.pk)}


def _users_who_may_want(room: Any) -> "QuerySet[Any]":
    wanting = reduce(or_, [channel.users_who_may_want(room) for channel in personal_channels()])
    return get_user_model()._default_manager.filter(wanting)


def _members(room: Any) -> Q:
    """Avoids loading people outside of the room; `rules_for` decides exactly who may see it."""
    members = membership.members_of(room)
    try:
        get_user_model()._meta.get_field("is_superuser")
    except FieldDoesNotExist:  # a user model of the portal's own
        return members
    return members | Q(is_superuser=True)


USERS_WHO_MAY_WANT = Select(_users_who_may_want)
MEMBERS_WHO_MAY_WANT = Select(lambda room: _users_who_may_want(room).filter(_members(room)))


# ---- settled ---------------------------------------------------------------------------------------------


def _settle(room: Room, questions: list[Question]) -> None:
    """Cancel notices that were not attempted yet; announce the outcome to recipients of the others."""
    now = timezone.now()
    announced = Notice.objects.filter(question__in=questions, kind__in=(Kind.ASKED, Kind.ESCALATED))
    announced.waiting().filter(attempts=0).update(cancelled_at=now, last_error=SETTLED_FIRST)
    settled = {question.pk: question for question in questions}
    rows = []
    attempted = announced.filter(attempts__gt=0, channel__in=CHANNELS)
    for notice in attempted.select_related(*_receivers()):
        if recipient := CHANNELS[notice.channel].recipient_of_outcome(notice):
            rows.append(recipient.notice(Kind.SETTLED, settled[notice.question_id or ""], now))
    for channel in CHANNELS.values():
        for recipient in channel.recipients_of_outcomes_only(room):
            rows += [
                recipient.notice(Kind.SETTLED, question, now)
                for question in questions
                if _is_settled_since(recipient.created_at, question, now)
            ]
    _insert(rows)


def _receivers() -> list[str]:
    return [channel.receiver_field for channel in CHANNELS.values() if channel.receiver_field]


def _is_settled_since(created_at: datetime | None, question: Question, now: datetime) -> bool:
    """Settled recently, and after the recipient was added."""
    settled_at = question.settled_at
    if settled_at is None or settled_at <= now - ANNOUNCED_WITHIN:
        return False
    return created_at is None or created_at <= settled_at
