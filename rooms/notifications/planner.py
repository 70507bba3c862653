"""Who is to hear of what, and when: turns what happens in rooms into rows of the outbox.

A reader in the background, like the history: neither an ask nor a click waits for it. Each row is made once,
by the constraint on question, receiver and kind; `outbox.py` sends it when it is due, if it is true then.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from rooms.db.compiled import Select
from rooms.lifecycle import may_decide
from rooms.models import (
    Membership,
    Notice,
    NoticePreferences,
    NoticeRule,
    PushSubscription,
    Question,
    Room,
    Webhook,
)
from rooms.models.notifications import OFF
from rooms.notifications.rules import Wishes, wishes_of
from rooms.permissions import permissions
from rooms.timeline.change_feed import News, changed, news_for

logger = logging.getLogger(__name__)

READER = "notices"
# What was asked longer ago is no news, even to a reader that was away.
NEWS_AGE = timedelta(days=1)

# What says who is to hear of a question: not what it asks, which is most of it.
READ_FIELDS = ("room_id", "status", "asked_at", "settled_at", "care", "escalates_at")
CHANGED = Select(lambda room, after, to: changed(room, after, to).only(*READ_FIELDS))

Kind, Channel = Notice.Kind, Notice.Channel


def read() -> None:
    """Take what is new in every room; any number of processes may do so at once."""
    for news in news_for(READER):
        try:
            _read(news)
        except DatabaseError:
            raise
        except Exception:  # a portal's own rules may fail: not the business of other rooms
            logger.exception("Could not read what is new in room %s; again soon", news.room.slug)


def _read(news: News) -> None:
    now = timezone.now()
    questions = news.questions(CHANGED)
    for question in questions:
        question.room = news.room
    waiting = [question for question in questions if question.is_open]
    settled = [question for question in questions if not question.is_open]
    asked = [question for question in waiting if question.asked_at > now - NEWS_AGE]
    # That nobody answered is news however long ago it was asked.
    escalated = [question for question in waiting if question.was_escalated]
    rows = [*_asked_rows(news.room, asked), *_escalated_rows(news.room, escalated)]

    def write() -> None:
        _insert(rows)
        if settled:
            _settle(news.room, settled)

    news.take(write=write)


def _insert(rows: Iterable[Notice]) -> None:
    # A question comes by at each of its changes: what is there already stays as it is.
    Notice.objects.bulk_create(rows, ignore_conflicts=True)


# ---- asked -----------------------------------------------------------------------------------------------


def _asked_rows(room: Room, questions: list[Question]) -> Iterator[Notice]:
    # Mostly all are told already: an agent that comes and goes is no reason to look for people.
    untold = _untold(questions, Kind.ASKED)
    if not untold:
        return
    people = _who_may_want(room)
    wishes = wishes_of(people, [room]) if people else None
    devices = list(PushSubscription.objects.filter(user__in=people)) if people else []
    webhooks = WEBHOOKS.all(room=room.pk)
    for question in untold:
        if wishes:
            yield from _rows_for_people(Kind.ASKED, question, wishes, people, devices)
        for webhook in webhooks:
            if webhook.created_at <= question.asked_at:
                due_at = question.asked_at + timedelta(minutes=webhook.after_minutes)
                yield webhook_row(Kind.ASKED, question, webhook, due_at)


def _untold(questions: list[Question], kind: Notice.Kind) -> list[Question]:
    """Those of which nobody was told yet: a question is told once, as it was when it was news."""
    if not questions:
        return []
    told = Notice.objects.filter(question__in=questions, kind=kind).order_by()
    known = set(told.values_list("question_id", flat=True).distinct())
    return [question for question in questions if question.pk not in known]


def _who_may_want(room: Room) -> dict[Any, Any]:
    """People who have a way to be told of this room, by their keys: few, however many may see it."""
    is_inside_known = permissions().knows_by_membership and not room.is_open
    wanting = WANTING_INSIDE if is_inside_known else WANTING
    return {user.pk: user for user in wanting.all(room=room.pk)}


def _wanting(room: Any) -> "QuerySet[Any]":
    mails = NoticePreferences.objects.exclude(mail=OFF).values("user")
    mails_of_room = NoticeRule.objects.filter(room=room).exclude(mail=None).exclude(mail=OFF).values("user")
    wanting = Q(pk__in=PushSubscription.objects.values("user")) | Q(pk__in=mails) | Q(pk__in=mails_of_room)
    return get_user_model()._default_manager.filter(wanting)


def _inside(room: Any) -> Q:
    """Spares reading everybody: `wishes_of` knows exactly who may see the room."""
    inside = Q(pk__in=Membership.objects.filter(room=room).values("user"))
    try:
        get_user_model()._meta.get_field("is_superuser")
    except FieldDoesNotExist:  # a user model of the portal's own
        return inside
    return inside | Q(is_superuser=True)


def _rows_for_people(
    kind: Notice.Kind,
    question: Question,
    wishes: Wishes,
    people: dict[Any, Any],
    devices: Iterable[PushSubscription],
) -> Iterator[Notice]:
    def due_at(user_id: Any, channel: str) -> datetime | None:
        minutes = wishes.minutes(user_id, question.room_id, channel)
        if minutes == OFF:
            return None
        # Managers may have no vote, but look after those who have one.
        if kind == Kind.ESCALATED:
            return wishes.free_at(user_id, timezone.now(), kind)
        # Who cannot decide it yet need not hear of it.
        if not may_decide(question, people[user_id]):
            return None
        return wishes.free_at(user_id, question.asked_at + timedelta(minutes=minutes), kind)

    for device in devices:
        # Who adds a device while a question waits has just seen it.
        is_known = device.created_at <= question.asked_at or kind == Kind.ESCALATED
        if is_known and (at := due_at(device.user_id, "push")):
            yield push_row(kind, question, device, at)
    for user_id, user in people.items():
        if address_of(user) and (at := due_at(user_id, "mail")):
            yield mail_row(kind, question, user, at)


def address_of(user: Any) -> str:
    """Where this person gets mail; nothing where the portal knows no address."""
    return str(getattr(user, user.get_email_field_name(), "") or "")


WEBHOOKS = Select(lambda room: Webhook.objects.filter(room=room, is_enabled=True, on_asked=True))
WANTING = Select(_wanting)
WANTING_INSIDE = Select(lambda room: _wanting(room).filter(_inside(room)))


# ---- escalated -------------------------------------------------------------------------------------------


def _escalated_rows(room: Room, questions: list[Question]) -> Iterator[Notice]:
    """The managers of the room, at once, for what nobody answered in time."""
    untold = _untold(questions, Kind.ESCALATED)
    if not untold:
        return
    people = {user.pk: user for user in permissions().managers(room)}
    wishes = wishes_of(people, [room])
    devices = list(PushSubscription.objects.filter(user__in=people))
    webhooks = WEBHOOKS.all(room=room.pk)
    for question in untold:
        yield from _rows_for_people(Kind.ESCALATED, question, wishes, people, devices)
        for webhook in webhooks:
            yield webhook_row(Kind.ESCALATED, question, webhook, timezone.now())


# ---- settled ---------------------------------------------------------------------------------------------

SETTLED_FIRST = gettext_noop("The question was settled before the notification was due.")


def _settle(room: Room, questions: list[Question]) -> None:
    """What nobody was told of yet stays unsaid; whoever was told hears that it is over."""
    now = timezone.now()
    told = Notice.objects.filter(question__in=questions, kind__in=(Kind.ASKED, Kind.ESCALATED))
    told.waiting().filter(attempts=0).update(cancelled_at=now, last_error=SETTLED_FIRST)
    settled = {question.pk: question for question in questions}
    rows = []
    # A mail stays a mail: a second one would only be noise.
    for notice in (
        told.filter(attempts__gt=0).exclude(channel=Channel.MAIL).select_related("webhook", "subscription")
    ):
        question = settled[notice.question_id or ""]
        if notice.subscription and is_still_theirs(notice):
            rows.append(push_row(Kind.SETTLED, question, notice.subscription, now))
        elif notice.webhook and notice.webhook.on_settled:
            rows.append(webhook_row(Kind.SETTLED, question, notice.webhook, now))
    for webhook in Webhook.objects.filter(room=room, is_enabled=True, on_asked=False, on_settled=True):
        for question in questions:
            if question.settled_at and webhook.created_at <= question.settled_at > now - NEWS_AGE:
                rows.append(webhook_row(Kind.SETTLED, question, webhook, now))
    _insert(rows)


def is_still_theirs(notice: Notice) -> bool:
    """Whether the device still belongs to whom this was meant for; others may sign in with a browser."""
    return notice.subscription is not None and notice.subscription.user_id == notice.user_id


# ---- rows ------------------------------------------------------------------------------------------------


def push_row(
    kind: Notice.Kind, question: Question | None, device: PushSubscription, due_at: datetime
) -> Notice:
    return _row(kind, question, Channel.PUSH, device.pk, due_at, user_id=device.user_id, subscription=device)


def mail_row(kind: Notice.Kind, question: Question | None, user: Any, due_at: datetime) -> Notice:
    return _row(kind, question, Channel.MAIL, user.pk, due_at, user=user)


def webhook_row(
    kind: Notice.Kind, question: Question | None, webhook: Webhook, due_at: datetime, user: Any = None
) -> Notice:
    return _row(kind, question, Channel.WEBHOOK, webhook.pk, due_at, webhook=webhook, user=user)


def _row(
    kind: Notice.Kind,
    question: Question | None,
    channel: Notice.Channel,
    receiver: Any,
    due_at: datetime,
    **fields: Any,
) -> Notice:
    return Notice(
        kind=kind,
        question=question,
        channel=channel,
        target=f"{channel}:{receiver}",
        due_at=due_at,
        next_attempt_at=due_at,
        **fields,
    )
