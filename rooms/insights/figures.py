"""Figures of settled questions in a period: counts, time to answer, agents, people, blocked time.

A question counts for the day on which it was settled. The time to answer covers only answers that people
gave, on a page, in the terminal or through a key that names them: not defaults, expiries and skips.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Case, CharField, Count, F, Max, Q, Sum, Value, When

from rooms.insights.percentiles import Percentile
from rooms.insights.periods import Period
from rooms.models import Answer, HistoryEntry, Question, Room

Status = Question.Status

ANSWERED = Q(status=Status.ANSWERED)
BY_A_PERSON = ANSWERED & (
    Q(via__in=(Answer.Via.WEB, Answer.Via.TERMINAL)) | (Q(via=Answer.Via.API) & ~Q(person_name=""))
)

# Only what is shown: every further figure is computed for every entry.
SECONDS = Case(When(BY_A_PERSON, then=F("seconds")))
MEDIAN: dict[str, Any] = {"median": Percentile(SECONDS, 0.5)}
BLOCKED: dict[str, Any] = {"blocked_seconds": Sum("blocked_seconds")}
FIGURES: dict[str, Any] = {
    "answered": Count("pk", filter=ANSWERED),
    "skipped": Count("pk", filter=Q(status=Status.DECLINED, asks_back=False)),
    "asked_back": Count("pk", filter=Q(status=Status.DECLINED, asks_back=True)),
    "expired": Count("pk", filter=Q(status=Status.EXPIRED)),
    "withdrawn": Count("pk", filter=Q(status=Status.WITHDRAWN)),
    "p90": Percentile(SECONDS, 0.9),
    **MEDIAN,
    **BLOCKED,
}
OUTCOMES = ("answered", "skipped", "asked_back", "expired", "withdrawn")


@dataclass(frozen=True)
class Figures:
    """Counts and times of a group of questions."""

    answered: int = 0
    skipped: int = 0
    asked_back: int = 0
    expired: int = 0
    withdrawn: int = 0
    blocked_seconds: float = 0.0
    # Seconds within which half, and nine in ten, of people's answers came.
    median: float | None = None
    p90: float | None = None

    @property
    def questions(self) -> int:
        return sum(self.outcomes.values())

    @property
    def outcomes(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in OUTCOMES}

    @property
    def share_answered(self) -> float | None:
        return self.answered / self.questions if self.questions else None


@dataclass(frozen=True)
class BucketFigures:
    """One day, or one week of a long period."""

    first_day: date
    last_day: date
    figures: Figures


@dataclass(frozen=True)
class AgentFigures:
    name: str
    questions: int
    median: float | None
    blocked_seconds: float


@dataclass(frozen=True)
class PersonFigures:
    """Answers of one person; an empty name stands for all answers in a terminal, where no person signs in."""

    name: str
    answers: int
    median: float | None


@dataclass(frozen=True)
class RoomFigures:
    room: Room
    questions: int
    answered: int
    median: float | None
    blocked_seconds: float

    @property
    def share_answered(self) -> float:
        return self.answered / self.questions


@dataclass(frozen=True)
class Insights:
    period: Period
    now: Figures
    before: Figures
    buckets: list[BucketFigures]
    # Settled questions by the hour in which they were asked: seven days from Monday, 24 hours each.
    hours: list[list[int]]
    agents: list[AgentFigures]
    people: list[PersonFigures]
    rooms: list[RoomFigures]


def insights_of(rooms: Sequence[Room], period: Period) -> Insights:
    """All figures of these rooms, in one query for each part."""
    all_entries = HistoryEntry.objects.filter(room__in=[room.pk for room in rooms]).order_by()
    entries = all_entries.filter(settled_at__gte=period.start, settled_at__lt=period.end)
    now, before = _now_and_before(all_entries, period)
    return Insights(
        period,
        now,
        before,
        _by_bucket(entries, period),
        _by_hour(entries, period),
        _by_agent(entries),
        _by_person(entries),
        _by_room(entries, rooms) if len(rooms) > 1 else [],
    )


def _now_and_before(all_entries: Any, period: Period) -> tuple[Figures, Figures]:
    both = all_entries.filter(settled_at__gte=period.previous_start, settled_at__lt=period.end)
    is_now = Case(When(settled_at__gte=period.start, then=Value(1)), default=Value(0))
    found = _figures(both.annotate(key=is_now))
    return found.get(1, Figures()), found.get(0, Figures())


def _by_bucket(entries: Any, period: Period) -> list[BucketFigures]:
    found = _figures(entries.annotate(key=period.bucket_of("settled_at")))
    return [
        BucketFigures(bucket.first_day, bucket.last_day, found.get(index, Figures()))
        for index, bucket in enumerate(period.buckets)
    ]


def _by_hour(entries: Any, period: Period) -> list[list[int]]:
    hours = entries.annotate(hour=period.hour_of_week("asked_at")).values_list("hour")
    found = dict(hours.annotate(count=Count("pk")))
    return [[found.get(24 * day + hour, 0) for hour in range(24)] for day in range(7)]


def _by_agent(entries: Any) -> list[AgentFigures]:
    counted = entries.values("agent_name").annotate(questions=Count("pk"), **MEDIAN, **BLOCKED)
    agents = [AgentFigures(row.pop("agent_name"), **row) for row in counted]
    return sorted(agents, key=lambda agent: (-agent.questions, agent.name))


def _by_person(entries: Any) -> list[PersonFigures]:
    # A renamed person stays one person; of a deleted one only the name is left.
    name_if_deleted = Case(
        When(user=None, then=F("person_name")), default=Value(""), output_field=CharField()
    )
    counted = (
        entries.filter(BY_A_PERSON)
        .annotate(name_of_deleted=name_if_deleted)
        .values("user_id", "name_of_deleted")
        .annotate(name=Max("person_name"), answers=Count("pk"), median=Percentile("seconds", 0.5))
    )
    people = [PersonFigures(row["name"], row["answers"], row["median"]) for row in counted]
    return sorted(people, key=lambda person: (-person.answers, person.name))


def _by_room(entries: Any, rooms: Sequence[Room]) -> list[RoomFigures]:
    counted = entries.values("room_id").annotate(
        questions=Count("pk"), answered=Count("pk", filter=ANSWERED), **MEDIAN, **BLOCKED
    )
    by_id = {room.pk: room for room in rooms}
    found = [RoomFigures(by_id[row.pop("room_id")], **row) for row in counted]
    return sorted(found, key=lambda row: (-row.questions, row.room.name))


def _figures(keyed: Any) -> dict[Any, Figures]:
    return {row.pop("key"): Figures(**row) for row in keyed.values("key").annotate(**FIGURES)}
