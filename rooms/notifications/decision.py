"""Whether a due notice is still sent: checked in the outbox immediately before each attempt."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_noop

from rooms.db import timezone
from rooms.models import Notice, Question
from rooms.models.notifications import OFF
from rooms.notifications.channels.channel import NO_RECEIVER, Channel, PersonalChannel
from rooms.notifications.channels.registry import channel_of
from rooms.notifications.rules import Rules

MOST_ATTEMPTS = 8
# A question that waited for a day is seen on the page; an outdated notification only confuses.
GIVES_UP_AFTER = timedelta(days=1)
# A person with a page open sees the card. After this time the outbox checks again whether the page is open.
PRESENCE_RECHECK = timedelta(seconds=20)
# The notice that this one follows is being sent by another process: usually done within this time.
LEASE_RECHECK = timedelta(seconds=2)

SETTLED = gettext_noop("The question is settled.")
TOO_OLD = gettext_noop("The notification is more than a day old.")
TOO_OFTEN = gettext_noop("Too many failed attempts.")
NOT_WANTED = gettext_noop("The receiver cannot see the room any more, or has turned these notifications off.")
NOT_ANNOUNCED = gettext_noop("The receiver was not notified of the question.")

Kind = Notice.Kind


@dataclass(frozen=True)
class Cancel:
    reason: str


@dataclass(frozen=True)
class Postpone:
    until: datetime


# None: send it now.
Decision = Cancel | Postpone | None


def decide(notice: Notice, rules: Rules) -> Decision:
    """Send, postpone or cancel a notice that is due."""
    now, question, channel = timezone.now(), notice.question, channel_of(notice)
    if question is None:  # a test
        return Cancel(TOO_OFTEN) if notice.attempts >= MOST_ATTEMPTS else None
    if not channel.has_recipient(notice):
        return Cancel(NO_RECEIVER)
    if notice.attempts >= MOST_ATTEMPTS:
        return Cancel(TOO_OFTEN)  # the process died during each attempt
    if notice.kind == Kind.SETTLED:
        return _decide_outcome(notice, question, channel, rules)
    if not question.is_open or question.is_overdue:
        return Cancel(SETTLED)
    if question.held_until and question.held_until > now:
        return Postpone(question.held_until)  # decided, but still in its undo window
    if notice.due_at < now - GIVES_UP_AFTER:
        return Cancel(TOO_OLD)
    return _decide_for_person(notice, question, rules) if isinstance(channel, PersonalChannel) else None


def _decide_for_person(notice: Notice, question: Question, rules: Rules) -> Decision:
    now, user_id = timezone.now(), notice.user_id
    if rules.minutes(user_id, question.room_id, notice.channel) == OFF:
        return Cancel(NOT_WANTED)
    allowed_at = rules.after_quiet_hours(user_id, now, Kind(notice.kind))
    if allowed_at > now:
        return Postpone(allowed_at)
    # An escalated question was not answered although the person may have had the page open.
    if user_id in rules.present_until and notice.kind != Kind.ESCALATED:
        return Postpone(max(rules.present_until[user_id], now + PRESENCE_RECHECK))
    return None


def _decide_outcome(notice: Notice, question: Question, channel: Channel, rules: Rules) -> Decision:
    """Send "settled" only after "asked" arrived, or may have arrived before a process died."""
    # The text names the decision, so it is not sent to a person who lost access to the room after the ask.
    is_personal = isinstance(channel, PersonalChannel)
    if is_personal and not rules.may_see(notice.user_id, question.room_id):
        return Cancel(NOT_WANTED)
    same_receiver = Notice.objects.filter(question=notice.question_id, target=notice.target)
    earlier = list(same_receiver.exclude(kind=Kind.SETTLED))
    if any(one.leased_until and one.leased_until > timezone.now() for one in earlier):
        return Postpone(timezone.now() + LEASE_RECHECK)
    may_have_arrived = any(one.may_have_arrived for one in earlier)
    return None if may_have_arrived or channel.wants_outcomes_only(notice) else Cancel(NOT_ANNOUNCED)
