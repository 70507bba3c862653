"""The outbox: claims due notices, sends them outside of any transaction, and records the results.

    waiting ─ claim ─> leased ─ send ─┬─> sent
       ^                              ├─> failed: refused, attempted too often, or too old
       └──── later, if it failed ─────┘
    waiting ─ claim ─> cancelled: settled meanwhile, or the recipient may not or does not want to get it

The guarantee is "at least once, always with the same id". An attempt is counted before it begins, so one that
a killed process did not finish is known, and is repeated when its lease has expired. The receiver may get it
twice then, and recognises it by its id (Message-ID, Idempotency-Key, the tag of a push).

Slow receivers do not delay others: a receiver has one delivery in flight, a host a few, and all receivers
that were slow or failed last time share a few. A receiver that fails repeatedly is paused. `decision.py`
decides whether a due notice is still sent, `results.py` stores the result of an attempt.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial, reduce
from operator import or_
from time import monotonic
from typing import Any

from django.db import connections
from django.db.models import F, Q, QuerySet
from django.utils.translation import override

from rooms.db import timezone
from rooms.db.pool import WIRE_LANGUAGE
from rooms.db.transactions import alias, writing
from rooms.models import Notice
from rooms.notifications import safe_http
from rooms.notifications.channels.channel import PersonalChannel
from rooms.notifications.channels.registry import CHANNELS, channel_of
from rooms.notifications.content import content_of
from rooms.notifications.decision import Cancel, Postpone, decide
from rooms.notifications.results import record_result
from rooms.notifications.rules import Rules, rules_for

logger = logging.getLogger(__name__)

# Longer than any delivery takes: DNS lookup, connecting, ten seconds for the rest. After it the deliveries of
# a killed process are repeated.
LEASE = timedelta(seconds=30)
# How often to look for notices to other receivers while all deliveries in flight are slow.
POLL_SECONDS = 2
# Checked together, though fewer are sent at once: many are postponed because their users have a page open.
CLAIM_BATCH = 200
# A delivery that takes longer marks its receiver as slow; a healthy one needs a tenth of it.
SLOW_SECONDS = 3
# Notices are kept long enough to investigate a complaint.
KEPT = timedelta(days=30)
# Small transactions, so that other writers do not wait long.
DELETE_BATCH = 200
# Deliveries in flight, each in a thread that waits for another server: per process, per host (many devices
# share one push service), and for all unhealthy receivers together.
THREADS = 16
THREADS_PER_HOST = 4
THREADS_FOR_UNHEALTHY = 4

Kind = Notice.Kind


@dataclass(frozen=True)
class Delivery:
    """A claimed notice with everything that sending it needs: the thread that sends reads no database."""

    notice: Notice
    send: Callable[[], None]
    started: float = field(default_factory=monotonic)


# ---- claiming --------------------------------------------------------------------------------------------


def claim(limit: int, in_flight: Collection[Delivery] = ()) -> list[Delivery]:
    """Lease up to `limit` due notices beside those in flight; cancel those that are no longer needed."""
    deliveries: list[Delivery] = []
    # One batch may contain only the backlog of a receiver that has a delivery in flight by then.
    while limit > len(deliveries) and _due(busy := [*in_flight, *deliveries]).exists():
        claimed, is_last = _claim_batch(limit - len(deliveries), busy)
        deliveries += claimed
        if is_last:
            break
    return deliveries


def _claim_batch(limit: int, in_flight: Collection[Delivery]) -> tuple[list[Delivery], bool]:
    """Deliveries from one batch of due notices, and whether it was the last batch."""
    with writing():
        due = list(_locked(_due(in_flight)))
        claimed = _select(due, limit, in_flight)
        lease = {"leased_until": timezone.now() + LEASE, "attempts": F("attempts") + 1}
        Notice.objects.filter(pk__in=[notice.pk for notice in claimed]).update(**lease)
        for notice in claimed:
            notice.attempts += 1
    languages = _languages(claimed)
    deliveries = [Delivery(notice, _sender(notice, languages.get(notice.user_id, ""))) for notice in claimed]
    return deliveries, len(due) < CLAIM_BATCH


def _due(in_flight: Collection[Delivery]) -> QuerySet[Notice]:
    """Notices that could be sent now beside these deliveries. A test is also sent to a paused receiver."""
    busy = [delivery.notice for delivery in in_flight]
    # Notices of an unknown channel are left to processes that know it, for example during an upgrade.
    due = Notice.objects.due().filter(channel__in=CHANNELS)
    due = due.exclude(target__in=[notice.target for notice in busy])
    due = due.filter(Q(kind=Kind.TEST) | ~_receivers_with(paused_until__gt=timezone.now()))
    for host, count in Counter(map(_host, busy)).items():
        if count >= THREADS_PER_HOST:
            due = due.exclude(host)
    if sum(map(_is_unhealthy, busy)) >= THREADS_FOR_UNHEALTHY:
        due = due.exclude(_receivers_with(failures__gt=0) | _receivers_with(is_slow=True))
    return due


def _receivers_with(**condition: Any) -> Q:
    """Notices whose receiver, in any channel, fulfils this condition."""
    [(lookup, value)] = condition.items()
    fields = [channel.receiver_field for channel in CHANNELS.values() if channel.receiver_field]
    return reduce(or_, [Q(**{f"{field}__{lookup}": value}) for field in fields])


def _is_unhealthy(notice: Notice) -> bool:
    """Whether the receiver failed or was slow at its last delivery."""
    receiver = channel_of(notice).receiver_of(notice)
    return receiver is not None and (receiver.failures > 0 or receiver.is_slow)


def _host(notice: Notice) -> Q:
    return channel_of(notice).same_host(notice)


def _locked(due: QuerySet[Notice]) -> QuerySet[Notice]:
    """The first batch of these, locked and with related rows; skips what another process is claiming."""
    related = [name for channel in CHANNELS.values() for name in channel.related]
    features = connections[alias()].features
    skip_locked = features.has_select_for_update_skip_locked
    if features.has_select_for_update and not features.has_select_for_update_of:
        # MariaDB locks the rows of all tables in the query: so the notices alone, and again only what is due.
        found = list(due.values_list("pk", flat=True)[:CLAIM_BATCH])
        mine = Notice.objects.due().filter(pk__in=found).select_for_update(skip_locked=skip_locked)
        due = due.filter(pk__in=list(mine.values_list("pk", flat=True)))
    due = due.select_related("question__room", "question__answer", "user", *related)[:CLAIM_BATCH]
    if features.has_select_for_update_of:
        return due.select_for_update(of=("self",), skip_locked=skip_locked)
    return due  # SQLite: the transaction locks the whole database


def _select(due: list[Notice], limit: int, in_flight: Collection[Delivery]) -> list[Notice]:
    """The notices to send now, within the limits; others are cancelled, postponed or left for later."""
    rules = _rules_for(due)
    selected: dict[str, Notice] = {}
    hosts = Counter(_host(delivery.notice) for delivery in in_flight)
    unhealthy = sum(_is_unhealthy(delivery.notice) for delivery in in_flight)
    for notice in due:
        match decide(notice, rules):
            case Cancel(reason):
                _update(notice, cancelled_at=timezone.now(), last_error=reason)
            case Postpone(until):
                _update(notice, next_attempt_at=until)
            case None if len(selected) < limit and notice.target not in selected:
                host, is_unhealthy = _host(notice), _is_unhealthy(notice)
                is_full = is_unhealthy and unhealthy >= THREADS_FOR_UNHEALTHY
                if not is_full and hosts[host] < THREADS_PER_HOST:
                    selected[notice.target] = notice
                    hosts[host] += 1
                    unhealthy += is_unhealthy
    return list(selected.values())


def _rules_for(due: list[Notice]) -> Rules:
    people = {notice.user_id: notice.user for notice in due if notice.user}
    rooms = {notice.question.room_id: notice.question.room for notice in due if notice.question}
    return rules_for(people, list(rooms.values()))


def _update(notice: Notice, **fields: Any) -> None:
    Notice.objects.filter(pk=notice.pk).update(**fields)


# ---- rendering -------------------------------------------------------------------------------------------


def _languages(notices: list[Notice]) -> dict[Any, str]:
    """The languages of the recipients, by user; notices to a room are in the language of the API."""
    people = {
        notice.user_id: notice.user
        for notice in notices
        if notice.user and isinstance(channel_of(notice), PersonalChannel)
    }
    chosen = rules_for(people, []).preferences
    return {user_id: preferences.language for user_id, preferences in chosen.items()}


def _sender(notice: Notice, language: str) -> Callable[[], None]:
    """The rendered notice as a function that sends it. A rendering error counts as a failed delivery."""
    try:
        with override(language or WIRE_LANGUAGE):
            return channel_of(notice).send_later(notice, content_of(notice))
    except safe_http.Refused as problem:
        return partial(_fail, problem)
    except Exception as problem:
        logger.exception("Could not render notice %s", notice.pk)
        return partial(_fail, problem)


def _fail(problem: Exception) -> None:
    raise problem


# ---- sending ---------------------------------------------------------------------------------------------


def send(delivery: Delivery) -> Exception | None:
    """Send it and return the error, or None. Blocks as long as the receiver does, and uses no database."""
    try:
        delivery.send()
    except Exception as problem:
        return problem
    return None


def record(delivery: Delivery, problem: Exception | None) -> None:
    """Store what `send` returned."""
    is_slow = monotonic() - delivery.started > SLOW_SECONDS
    record_result(delivery.notice, problem, is_slow=is_slow)


def send_due() -> int:
    """Send all due notices, several at a time, and wait for the results; returns how many were attempted."""
    count = 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="ask-bridge-notices") as pool:
        in_flight: dict[Future[Exception | None], Delivery] = {}
        while True:
            for delivery in claim(THREADS - len(in_flight), list(in_flight.values())):
                in_flight[pool.submit(send, delivery)] = delivery
                count += 1
            if not in_flight:
                return count
            done, _ = wait(in_flight, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                record(in_flight.pop(future), future.result())


# ---- rows ------------------------------------------------------------------------------------------------


def queue_tests(rows: list[Notice]) -> list[Notice]:
    """Queue test notifications; their rows show the result later."""
    with writing():
        return Notice.objects.bulk_create(rows)


def forget_old() -> None:
    """Delete notices after KEPT."""
    old = Notice.objects.filter(created_at__lt=timezone.now() - KEPT)
    # The row of an open question's escalation stays, so that it does not escalate again.
    old = old.exclude(kind=Kind.ESCALATED, question__settled_at=None)
    while pks := list(old.values_list("pk", flat=True)[:DELETE_BATCH]):
        with writing():
            Notice.objects.filter(pk__in=pks).delete()


def send_again(notices: QuerySet[Notice]) -> int:
    """Reset failed notices, so that they are attempted for another day; returns how many."""
    now = timezone.now()
    fields = {"failed_at": None, "attempts": 0, "failures": 0, "due_at": now, "next_attempt_at": now}
    with writing():
        return notices.filter(failed_at__isnull=False, question__isnull=False).update(**fields)
