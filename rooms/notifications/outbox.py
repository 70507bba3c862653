"""Sends what is due: takes a notice, sends it outside of any transaction, notes what came of it.

    waiting ─ take ─> leased ─ send ─┬─> sent
       ^                             ├─> failed: refused for good, tried too often, or too old
       └──── later, if it failed ────┘
    waiting ─ take ─> cancelled: settled meanwhile, or nobody may or wants to hear of it any more

The promise is "at least once, always with the same id". An attempt is written down before it begins, so one
that a killed process did not end is known, and is made again when its lease has run out: the receiver may get
it twice then, and knows by its id (Message-ID, Idempotency-Key, the tag of a push) that it is the same.

Slow receivers do not delay others: a receiver has one delivery in flight, a host a few, and all receivers
that were slow or failed last time share a few. A receiver that fails again and again is paused.
"""

import logging
import random
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from django.db import connections
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop, override

from rooms.db.pool import WIRE_LANGUAGE
from rooms.db.transactions import alias, writing
from rooms.models import Notice, PushSubscription, Question, Webhook
from rooms.models.notifications import ERROR_LENGTH, OFF
from rooms.notifications import safe_http
from rooms.notifications.channels import email, push, webhook
from rooms.notifications.content import Letter, letter_about, letter_to_try
from rooms.notifications.planner import address_of, is_still_theirs
from rooms.notifications.rules import Wishes, wishes_of

logger = logging.getLogger(__name__)

# Longer than any sending takes: looking up the host, connecting, ten seconds for the rest. What a killed
# process had in hand is sent again after it.
LEASE = timedelta(seconds=30)
# Half a minute after the first failure, three times as long after each of the next: nine hours in all.
FIRST_RETRY = timedelta(seconds=30)
RETRY_FACTOR = 3
# Those who failed together come back apart.
JITTER = 0.25
MOST_ATTEMPTS = 8
GIVES_UP_AFTER = timedelta(days=1)
# Somebody with a page open sees the card; it is looked again whether they still have it open.
LOOK_AGAIN = timedelta(seconds=20)
# While all that is in flight is slow: whether something is due for another receiver.
LOOK_FOR_MORE_SECONDS = 2
# Judged together, though only some are sent at once: many wait for people who have a page open.
JUDGED_AT_ONCE = 200
# Long enough to look into a complaint.
KEPT = timedelta(days=30)
# Deliveries in flight, each in a thread that waits for another server: per process, per host (many devices
# share one push service), and for all receivers together that failed or were slow the last time.
THREADS = 16
THREADS_PER_HOST = 4
THREADS_FOR_SUSPECTS = 4
# A healthy receiver takes a tenth of it.
SLOW_SECONDS = 3
# In a row, of all notices to one receiver. Then it is left alone: for a minute, twice as long after each
# further failure, but never for longer than an hour.
FAILURES_BEFORE_PAUSE = 5
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)

Kind, Channel = Notice.Kind, Notice.Channel


@dataclass(frozen=True)
class Parcel:
    """A notice with all that it takes to send it: nothing has to be read from the database any more."""

    notice: Notice
    send: Callable[[], None]
    begun: float = field(default_factory=monotonic)


# ---- taking ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cancelled:
    why: str


@dataclass(frozen=True)
class PutOff:
    until: datetime


Verdict = Cancelled | PutOff | None

SETTLED = gettext_noop("The question is settled.")
TOO_OLD = gettext_noop("The notification is more than a day old.")
TOO_OFTEN = gettext_noop("Too many failed attempts.")
NOT_WANTED = gettext_noop("The receiver cannot see the room any more, or has turned these notifications off.")
NO_RECEIVER = gettext_noop("The receiver was removed.")
NEVER_TOLD = gettext_noop("The receiver was not notified of the question.")


def take(most: int, busy: Collection[Parcel] = ()) -> list[Parcel]:
    """Lease up to so many of what is due beside those in flight; what is not needed any more is cancelled."""
    parcels: list[Parcel] = []
    # One round may see nothing but the backlog of a receiver that has a delivery in flight by then.
    while most > len(parcels) and _due(in_flight := [*busy, *parcels]).exists():
        taken, is_all = _take_some(most - len(parcels), in_flight)
        parcels += taken
        if is_all:
            break
    return parcels


def _take_some(most: int, busy: Collection[Parcel]) -> tuple[list[Parcel], bool]:
    """Some of what is due, and whether there is nothing else."""
    with writing():
        due = list(_locked(_due(busy))[:JUDGED_AT_ONCE])
        taken = _judge(due, most, busy)
        pks = [notice.pk for notice in taken]
        begun = {"leased_until": timezone.now() + LEASE, "attempts": F("attempts") + 1}
        Notice.objects.filter(pk__in=pks).update(**begun)
        for notice in taken:
            notice.attempts += 1
    languages = _languages(taken)
    parcels = [Parcel(notice, _sender(notice, languages.get(notice.user_id, ""))) for notice in taken]
    return parcels, len(due) < JUDGED_AT_ONCE


def _due(busy: Collection[Parcel]) -> QuerySet[Notice]:
    """What could begin now, beside these deliveries; a test also goes to a receiver that is paused."""
    in_flight = [parcel.notice for parcel in busy]
    due = Notice.objects.due().exclude(target__in=[notice.target for notice in in_flight])
    now = timezone.now()
    is_paused = Q(webhook__paused_until__gt=now) | Q(subscription__paused_until__gt=now)
    due = due.filter(Q(kind=Kind.TEST) | ~is_paused)
    for host, count in Counter(map(_host, in_flight)).items():
        if count >= THREADS_PER_HOST:
            due = due.exclude(host)
    if sum(map(_is_suspect, in_flight)) >= THREADS_FOR_SUSPECTS:
        due = due.exclude(SUSPECT)
    return due


# Receivers that did not take the last delivery as they should.
SUSPECT = Q(webhook__failures__gt=0) | Q(subscription__failures__gt=0)
SUSPECT |= Q(webhook__is_slow=True) | Q(subscription__is_slow=True)


def _is_suspect(notice: Notice) -> bool:
    receiver = notice.webhook or notice.subscription
    return receiver is not None and (receiver.failures > 0 or receiver.is_slow)


def _host(notice: Notice) -> Q:
    """The server that it goes to, as a condition for others that go there; there is one mail server."""
    if notice.webhook:
        return Q(webhook__host=notice.webhook.host)
    if notice.subscription:
        parts = urlsplit(notice.subscription.endpoint)
        return Q(subscription__endpoint__startswith=f"{parts.scheme}://{parts.netloc}/")
    return Q(channel=notice.channel)


def _locked(due: QuerySet[Notice]) -> QuerySet[Notice]:
    """With what judging needs; what another process has in hand is left to it."""
    due = due.select_related("question__room", "question__answer", "subscription", "webhook__room", "user")
    if connections[alias()].features.has_select_for_update_skip_locked:
        return due.select_for_update(of=("self",), skip_locked=True)
    return due  # SQLite: the transaction has the file for itself


def _judge(due: list[Notice], most: int, busy: Collection[Parcel]) -> list[Notice]:
    """Those to be sent now; the others are cancelled, put off, or left for the next time."""
    wishes = _wishes_of(due)
    taken: dict[str, Notice] = {}
    hosts = Counter(_host(parcel.notice) for parcel in busy)
    suspects = sum(_is_suspect(parcel.notice) for parcel in busy)
    for notice in due:
        match _verdict(notice, wishes):
            case Cancelled(why):
                _update(notice, cancelled_at=timezone.now(), last_error=why)
            case PutOff(until):
                _update(notice, next_attempt_at=until)
            case None if len(taken) < most and notice.target not in taken:
                host, is_suspect = _host(notice), _is_suspect(notice)
                is_full = is_suspect and suspects >= THREADS_FOR_SUSPECTS
                if not is_full and hosts[host] < THREADS_PER_HOST:
                    taken[notice.target] = notice
                    hosts[host] += 1
                    suspects += is_suspect
    return list(taken.values())


def _wishes_of(due: list[Notice]) -> Wishes:
    people = {notice.user_id: notice.user for notice in due if notice.user}
    rooms = {notice.question.room_id: notice.question.room for notice in due if notice.question}
    return wishes_of(people, list(rooms.values()))


def _verdict(notice: Notice, wishes: Wishes) -> Verdict:
    """Whether it is still true, and may still be said, now that its time has come."""
    now, question = timezone.now(), notice.question
    if question is None:  # a test
        return Cancelled(TOO_OFTEN) if notice.attempts >= MOST_ATTEMPTS else None
    if notice.channel == Channel.WEBHOOK and (notice.webhook is None or not notice.webhook.is_enabled):
        return Cancelled(NO_RECEIVER)
    if notice.channel == Channel.PUSH and not is_still_theirs(notice):
        return Cancelled(NO_RECEIVER)
    if notice.attempts >= MOST_ATTEMPTS:
        return Cancelled(TOO_OFTEN)  # each time a process died on it
    if notice.kind == Kind.SETTLED:
        return _verdict_on_settled(notice, question, wishes)
    if not question.is_open or question.is_overdue:
        return Cancelled(SETTLED)
    if question.held_until and question.held_until > now:
        return PutOff(question.held_until)  # decided, unless somebody undoes it
    if notice.due_at < now - GIVES_UP_AFTER:
        return Cancelled(TOO_OLD)
    return None if notice.channel == Channel.WEBHOOK else _verdict_of_person(notice, question, wishes)


def _verdict_of_person(notice: Notice, question: Question, wishes: Wishes) -> Verdict:
    now, user_id = timezone.now(), notice.user_id
    if wishes.minutes(user_id, question.room_id, notice.channel) == OFF:
        return Cancelled(NOT_WANTED)
    if notice.channel == Channel.MAIL and not address_of(notice.user):
        return Cancelled(NO_RECEIVER)
    free_at = wishes.free_at(user_id, now, Kind(notice.kind))
    if free_at > now:
        return PutOff(free_at)
    # What escalates was not answered although somebody may have had it before their eyes.
    if user_id in wishes.present_until and notice.kind != Kind.ESCALATED:
        return PutOff(max(wishes.present_until[user_id], now + LOOK_AGAIN))
    return None


def _verdict_on_settled(notice: Notice, question: Question, wishes: Wishes) -> Verdict:
    """After what it follows, and only if that arrived, or may have arrived before a process died."""
    # It says who decided what: not for somebody who was put out of the room after they were asked.
    if notice.channel == Channel.PUSH and not wishes.may_see(notice.user_id, question.room_id):
        return Cancelled(NOT_WANTED)
    before = Notice.objects.filter(question=notice.question_id, target=notice.target).exclude(
        kind=Kind.SETTLED
    )
    told = list(before)
    if any(one.leased_until and one.leased_until > timezone.now() for one in told):
        return PutOff(timezone.now() + timedelta(seconds=2))
    may_have_arrived = any(one.may_have_arrived for one in told)
    is_all_it_wants = notice.webhook is not None and not notice.webhook.on_asked
    return None if may_have_arrived or is_all_it_wants else Cancelled(NEVER_TOLD)


def _update(notice: Notice, **fields: Any) -> None:
    Notice.objects.filter(pk=notice.pk).update(**fields)


# ---- what goes into a parcel -----------------------------------------------------------------------------


def _languages(notices: list[Notice]) -> dict[Any, str]:
    people = {notice.user_id: notice.user for notice in notices if notice.user and not notice.webhook}
    chosen = wishes_of(people, []).preferences
    return {user_id: preferences.language for user_id, preferences in chosen.items()}


def _sender(notice: Notice, language: str) -> Callable[[], None]:
    """How to send it; what cannot even be written fails as what cannot be sent, and holds up no other."""
    try:
        return _written(notice, language)
    except Exception as problem:
        logger.exception("Could not write notice %s", notice.pk)
        return partial(_fail, problem)


def _written(notice: Notice, language: str) -> Callable[[], None]:
    """With everything it says already said, in the language of whoever reads it."""
    with override(language or WIRE_LANGUAGE):
        letter = _letter(notice)
        match notice.channel:
            case Channel.PUSH if notice.subscription:
                return partial(push.send, notice.subscription, push.payload(letter))
            case Channel.MAIL if notice.user:
                return partial(email.send, email.mail_to(address_of(notice.user), notice.pk, letter))
            case Channel.WEBHOOK if notice.webhook:
                event = webhook.event_about(notice, notice.question, notice.webhook.room)
                return partial(webhook.send, notice.webhook, notice.pk, letter, event)
    return partial(_fail, safe_http.Refused(NO_RECEIVER))


def _letter(notice: Notice) -> Letter:
    if notice.question:
        return letter_about(Kind(notice.kind), notice.question)
    return letter_to_try(notice.pk, notice.webhook.room if notice.webhook else None)


def _fail(problem: Exception) -> None:
    raise problem


# ---- sending and what came of it -------------------------------------------------------------------------


def send(parcel: Parcel) -> Exception | None:
    """Send it; what went wrong, or None. Takes as long as the other side does, and touches no database."""
    try:
        parcel.send()
    except Exception as problem:
        return problem
    return None


def note(parcel: Parcel, problem: Exception | None) -> None:
    """Write down what came of an attempt."""
    notice, now = parcel.notice, timezone.now()
    sentence = in_words(problem)
    if problem and notice.subscription and notice.kind == Kind.TEST:
        # Of several devices, and one that is gone is not there to be named when this is read.
        sentence = f"{notice.subscription.label}: {sentence}"
    fields: dict[str, Any] = {"leased_until": None, "last_error": sentence[:ERROR_LENGTH]}
    if problem is None:
        fields["sent_at"] = now
    elif isinstance(problem, safe_http.Refused) or not _may_try_again(notice, now):
        fields |= {"failed_at": now, "failures": F("failures") + 1}
    else:
        fields |= {"next_attempt_at": now + _pause(notice, problem), "failures": F("failures") + 1}
    with writing():
        Notice.objects.filter(pk=notice.pk, sent_at=None).update(**fields)
        if receiver := notice.webhook or notice.subscription:
            _note_receiver(receiver, problem, is_slow=monotonic() - parcel.begun > SLOW_SECONDS)


def in_words(problem: Exception | None) -> str:
    """What somebody can do something about; whatever else went wrong is ours, by its name."""
    if problem is None:
        return ""
    if isinstance(problem, safe_http.Refused | safe_http.Unreachable):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"


def _may_try_again(notice: Notice, now: datetime) -> bool:
    is_young = notice.due_at > now - GIVES_UP_AFTER
    return notice.question_id is not None and notice.attempts < MOST_ATTEMPTS and is_young


def _pause(notice: Notice, problem: Exception) -> timedelta:
    backing_off = FIRST_RETRY * RETRY_FACTOR ** (notice.attempts - 1)
    wished = timedelta(seconds=getattr(problem, "retry_after_seconds", 0))
    return max(backing_off * random.uniform(1 - JITTER, 1 + JITTER), wished)  # noqa: S311 - no secret


def _note_receiver(receiver: Webhook | PushSubscription, problem: Exception | None, *, is_slow: bool) -> None:
    """How it takes what we send, so that others do not wait for it; a success ends its pause."""
    kept = type(receiver).objects.filter(pk=receiver.pk)
    if isinstance(receiver, PushSubscription) and isinstance(problem, safe_http.Gone):
        kept.delete()
    elif problem is None:
        succeeded = {"last_success_at": timezone.now()} if isinstance(receiver, PushSubscription) else {}
        kept.update(failures=0, paused_until=None, is_slow=is_slow, **succeeded)
    else:
        kept.update(failures=F("failures") + 1, is_slow=is_slow)
        failures = kept.values_list("failures", flat=True).first() or 0
        if failures >= FAILURES_BEFORE_PAUSE:
            doublings = min(failures - FAILURES_BEFORE_PAUSE, LONGEST_PAUSE // FIRST_PAUSE)
            pause = min(FIRST_PAUSE * 2**doublings, LONGEST_PAUSE)
            kept.update(paused_until=timezone.now() + pause)


# ---- all at once -----------------------------------------------------------------------------------------


def send_due() -> int:
    """Send everything that is due, several at a time, and wait for it; how many were tried."""
    count = 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="ask-bridge-notices") as pool:
        in_flight: dict[Future[Exception | None], Parcel] = {}
        while True:
            for parcel in take(THREADS - len(in_flight), list(in_flight.values())):
                in_flight[pool.submit(send, parcel)] = parcel
                count += 1
            if not in_flight:
                return count
            done, _ = wait(in_flight, timeout=LOOK_FOR_MORE_SECONDS, return_when=FIRST_COMPLETED)
            for delivery in done:
                note(in_flight.pop(delivery), delivery.result())


def queue_tests(rows: list[Notice]) -> list[Notice]:
    """Let these be sent with everything else that is due; what came of it stands in their rows."""
    with writing():
        return Notice.objects.bulk_create(rows)


def forget_old() -> None:
    """Nobody asks any more what became of them; some at a time, so that others get their turn to write."""
    old = Notice.objects.filter(created_at__lt=timezone.now() - KEPT)
    # A question that waits for longer escalates once all the same.
    old = old.exclude(kind=Kind.ESCALATED, question__settled_at=None)
    while pks := list(old.values_list("pk", flat=True)[:JUDGED_AT_ONCE]):
        with writing():
            Notice.objects.filter(pk__in=pks).delete()


def send_again(notices: QuerySet[Notice]) -> int:
    """Give those that failed another day; how many that were."""
    now = timezone.now()
    fields = {"failed_at": None, "attempts": 0, "failures": 0, "due_at": now, "next_attempt_at": now}
    with writing():
        return notices.filter(failed_at__isnull=False, question__isnull=False).update(**fields)
