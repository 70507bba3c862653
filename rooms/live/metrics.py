"""Prometheus metrics: `GET /metrics` for callers with the `METRICS_TOKEN`.

No metric names a room or a person. Four queries, however much is stored: open questions, and what happened
since the last scrape.
"""

import asyncio
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from secrets import compare_digest

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_not_required
from django.db import InterfaceError, OperationalError
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from rooms import __version__
from rooms.conf import setting
from rooms.db import outages, timezone
from rooms.live.hub import hub
from rooms.live.probes import probe_layer
from rooms.models import AuditEntry, Question, Room

logger = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds of the histogram buckets: from a second to a day.
ANSWER_SECONDS_BOUNDS = (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400)
# Entries older than this are committed: they are written at the end of a transaction of milliseconds.
COMMITTED_AFTER_SECONDS = 5
# Less than the scrape timeout of Prometheus, ten seconds by default.
CHANNEL_LAYER_SECONDS = 2

Action = AuditEntry.Action
# The value of the label `event` for each action.
EVENTS: dict[str, str] = {
    Action.ASKED: "asked",
    Action.ANSWERED: "answered",
    Action.DECLINED: "declined",
    Action.ASKED_BACK: "asked_back",
    Action.EXPIRED: "expired",
    Action.WITHDRAWN: "withdrawn",
}
DECIDED = (Action.ANSWERED, Action.DECLINED, Action.ASKED_BACK)


@csrf_exempt
@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics; 404 without the token."""
    if not _has_token(request) or request.method not in ("GET", "HEAD"):
        raise Http404
    return HttpResponse(text(), content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def _has_token(request: HttpRequest) -> bool:
    token = setting("METRICS_TOKEN")
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer"
    return bool(token) and is_bearer and compare_digest(given.strip().encode(), token.encode())


@dataclass(frozen=True)
class Metric:
    """One metric with its samples: what follows the name, and the value."""

    name: str
    kind: str
    meaning: str
    samples: Iterable[tuple[str, float]]

    def __str__(self) -> str:
        lines = [f"# HELP {self.name} {self.meaning}", f"# TYPE {self.name} {self.kind}"]
        return "\n".join(lines + [f"{self.name}{rest} {value:.15g}" for rest, value in self.samples])


def text() -> str:
    """The text exposition format; metrics that cannot be read are left out."""
    return "".join(f"{metric}\n" for metric in _all_metrics())


def _all_metrics() -> Iterator[Metric]:
    yield _gauge("ask_bridge_info", "The version that runs.", 1, f'{{version="{__version__}"}}')
    try:
        of_database = [*_of_database()]
    except (OperationalError, InterfaceError) as error:
        if not outages.report(error):
            logger.error("Metrics without the database: %s", error)
        of_database = []
    yield _gauge("ask_bridge_database_up", "1 if the database replied just now.", bool(of_database))
    yield from of_database
    yield _gauge("ask_bridge_channel_layer_up", "1 if the channel layer replied just now.", _is_layer_up())
    yield from _of_connections()
    yield from _of_process()


def _gauge(name: str, meaning: str, value: float, labels: str = "") -> Metric:
    return Metric(name, "gauge", meaning, [(labels, float(value))])


# ---- of the whole site ---------------------------------------------------------------------------


def _of_database() -> Iterator[Metric]:
    now = timezone.now()
    # Counted room by room from an index; no settled row is read.
    in_room = Question.objects.open().filter(room=OuterRef("pk")).order_by("position")
    rooms = Room.objects.active().order_by()
    oldest = list(rooms.values_list(Subquery(in_room.values("asked_at")[:1]), flat=True))
    all_open = Question.objects.open().filter(room__in=rooms).count()
    waited_for = Question.objects.open().filter(agent_active=True, waiting_until__gt=now).count()
    yield Metric(
        "ask_bridge_open_questions",
        "gauge",
        "Open questions, by whether their agent still waits.",
        [('{agent="waiting"}', waited_for), ('{agent="gone"}', max(all_open - waited_for, 0))],
    )
    age = max((now - asked_at).total_seconds() for asked_at in [*filter(None, oldest), now])
    yield _gauge("ask_bridge_oldest_open_question_seconds", "Age of the oldest open question.", age)
    yield _gauge("ask_bridge_rooms", "Rooms that are not archived.", len(oldest))
    yield from _site_counters.metrics(now - timedelta(seconds=COMMITTED_AFTER_SECONDS))


@dataclass
class SiteCounters:
    """Counters of the whole site since this process started; each scrape adds the events since the last."""

    until: datetime
    events: Counter[str] = field(default_factory=Counter)
    seconds: Counter[int] = field(default_factory=Counter)
    seconds_sum: float = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def metrics(self, until: datetime) -> Iterator[Metric]:
        """The counters, after adding all events up to `until`."""
        with self._lock:
            self._add_events(until)
            events, seconds, seconds_sum = Counter(self.events), Counter(self.seconds), self.seconds_sum
        yield Metric(
            "ask_bridge_questions_total",
            "counter",
            "What became of questions, on the whole site, since this process began.",
            [(f'{{event="{event}"}}', events[event]) for event in EVENTS.values()],
        )
        within = [(f'_bucket{{le="{bound}"}}', _up_to(bound, seconds)) for bound in ANSWER_SECONDS_BOUNDS]
        yield Metric(
            "ask_bridge_answer_seconds",
            "histogram",
            "From a question to its answer, skip or reply, on the whole site.",
            [
                *within,
                ('_bucket{le="+Inf"}', seconds.total()),
                ("_sum", seconds_sum),
                ("_count", seconds.total()),
            ],
        )

    def _add_events(self, until: datetime) -> None:
        if until <= self.until:
            return
        asked_at = Question.objects.filter(pk=OuterRef("subject")).order_by().values("asked_at")
        happened = AuditEntry.objects.filter(at__gt=self.until, at__lte=until, action__in=EVENTS)
        rows = happened.order_by().values_list("action", "at", Subquery(asked_at))
        for action, at, since in list(rows):
            self.events[EVENTS[action]] += 1
            # A question that was deleted with its room has no time of asking.
            if action in DECIDED and since:
                seconds = max((at - since).total_seconds(), 0)
                self.seconds[next((bound for bound in ANSWER_SECONDS_BOUNDS if seconds <= bound), -1)] += 1
                self.seconds_sum += seconds
        self.until = until


def _up_to(bound: int, seconds: Counter[int]) -> int:
    return sum(count for upper, count in seconds.items() if 0 <= upper <= bound)


_site_counters = SiteCounters(timezone.now())


# ---- of this process -------------------------------------------------------------------------------


def _is_layer_up() -> bool:
    """Whether the channel layer replies, tried in the event loop of the hub; under WSGI there is none."""
    loop = hub.loop
    try:
        if loop is None:
            async_to_sync(probe_layer)(CHANNEL_LAYER_SECONDS)
        else:
            probing = probe_layer(CHANNEL_LAYER_SECONDS)
            asyncio.run_coroutine_threadsafe(probing, loop).result(CHANNEL_LAYER_SECONDS + 1)
    except Exception:
        return False  # the hub logs the outage once
    return True


def _of_connections() -> Iterator[Metric]:
    counts = hub.counts()
    yield _gauge(
        "ask_bridge_waiting_agents", "Agents that wait for an answer in this process.", counts["waits"]
    )
    yield _gauge(
        "ask_bridge_listening_agents", "Agents that follow a timeline in this process.", counts["listeners"]
    )
    yield _gauge("ask_bridge_page_streams", "Event streams of open pages in this process.", counts["streams"])


def _of_process() -> Iterator[Metric]:
    yield _gauge("process_threads", "Threads of this process.", threading.active_count())
    with suppress(OSError, ValueError, IndexError):  # only Linux has these files
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        yield _gauge("process_resident_memory_bytes", "Memory of this process.", memory)
        yield _gauge("process_open_fds", "Open files and sockets.", len(os.listdir("/proc/self/fd")))
