"""A period of whole days up to today, by the clocks of the site's time zone, and its stretches."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django.db.models import BigIntegerField, Case, F, Func, Value, When
from django.utils import timezone

# What one can choose, in days, and how many days one point or bar of a chart stands for: a phone has room for
# about fifty. A year is 52 whole weeks, so that no bar is low only because it has fewer days.
STEPS = {7: 1, 30: 1, 90: 7, 364: 7}
USUAL_DAYS = 30

DAY_SECONDS = 86_400
FIRST_DAY = date(1970, 1, 1)
# From a Monday's midnight to the one at which clocks begin to count, a Thursday's.
HOURS_BEFORE_FIRST_DAY = 3 * 24
# Questions that were asked so long before the period begins are taken to be of the clock of then.
LONGEST_OPEN = timedelta(days=366)


@dataclass(frozen=True)
class Stretch:
    """The days that one point or bar stands for."""

    first_day: date
    last_day: date


@dataclass(frozen=True)
class Period:
    days: int
    today: date
    zone: tzinfo

    @classmethod
    def until_now(cls, days: int) -> "Period":
        zone = timezone.get_default_timezone()
        return cls(days, timezone.now().astimezone(zone).date(), zone)

    @property
    def first_day(self) -> date:
        return self.today - timedelta(days=self.days - 1)

    @property
    def start(self) -> datetime:
        return self._midnight(self.first_day)

    @property
    def end(self) -> datetime:
        return self._midnight(self.today + timedelta(days=1))

    @property
    def start_of_the_one_before(self) -> datetime:
        return self._midnight(self.first_day - timedelta(days=self.days))

    def _midnight(self, day: date) -> datetime:
        """Where the clocks skip it, zoneinfo gives the moment at which they do: the day begins then."""
        return datetime.combine(day, time.min, tzinfo=self.zone)

    # ---- stretches, counted back from today: only the first may be shorter than the others

    @property
    def step(self) -> int:
        return STEPS[self.days]

    @property
    def stretches(self) -> list[Stretch]:
        """All of them, oldest first, whether anything happened or not."""
        ends = [self.today - timedelta(days=back) for back in range(0, self.days, self.step)]
        length = timedelta(days=self.step - 1)
        return [Stretch(max(end - length, self.first_day), end) for end in reversed(ends)]

    def stretch_of(self, field: str) -> Any:
        """In a query: the index in `stretches` of the moment in this field."""
        back = (Value((self.today - FIRST_DAY).days) - self._wall_clock(field) / DAY_SECONDS) / self.step
        return Value(len(self.stretches) - 1, BigIntegerField()) - back

    def hour_of_week(self, field: str) -> Any:
        """In a query: whole hours from Monday's midnight, 0 to 167, by the clock on the wall."""
        return (self._wall_clock(field) / 3600 + HOURS_BEFORE_FIRST_DAY) % (7 * 24)

    # ---- the clock on the wall

    def _wall_clock(self, field: str) -> Any:
        """In a query: seconds as a clock on the wall counts them.

        Django's own functions for dates are written in Python on SQLite: weeks and hours of 100,000 entries
        took them 2.2 s, and this 0.25 s. A zone moves its clocks twice a year, and every database can add.
        """
        *changes, (_, offset_now) = self._clock_changes()
        offset: Any = Value(offset_now, BigIntegerField())
        if changes:
            earlier = [When(**{f"{field}__lt": until}, then=Value(seconds)) for until, seconds in changes]
            offset = Case(*earlier, default=offset, output_field=BigIntegerField())
        return Epoch(F(field)) + offset

    def _clock_changes(self) -> Iterator[tuple[datetime, int]]:
        """Until when clocks had which offset from UTC, in seconds; the last is that of the end."""
        moment = (self.start_of_the_one_before - LONGEST_OPEN).astimezone(UTC)
        end = self.end.astimezone(UTC)
        while moment < end:
            later = min(moment + timedelta(days=1), end)
            if self._offset(moment) != self._offset(later):
                yield self._change_between(moment, later), self._offset(moment)
            moment = later
        yield end, self._offset(end)

    def _change_between(self, before: datetime, after: datetime) -> datetime:
        """The first second of the new time."""
        while after - before > timedelta(seconds=1):
            middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
            if self._offset(middle) == self._offset(before):
                before = middle
            else:
                after = middle
        return after

    def _offset(self, moment: datetime) -> int:
        offset = moment.astimezone(self.zone).utcoffset() or timedelta()
        return offset // timedelta(seconds=1)


class Epoch(Func):
    """Whole seconds since 1970 in UTC."""

    output_field = BigIntegerField()
    template = "FLOOR(EXTRACT(EPOCH FROM %(expressions)s))::bigint"

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # Once for this template, once for the parameters of the whole query.
        return self.as_sql(
            compiler, connection, **context, template="CAST(strftime('%%%%s', %(expressions)s) AS INTEGER)"
        )
