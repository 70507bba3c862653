"""Scales of charts: from values to vertical pixels, with grid lines at round values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

# The height of a chart, in pixels.
HEIGHT = 176
# Space above the highest grid line for half a line of text.
TOP = 10

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Times to answer range from seconds to days, and both matter: each step is several times the one below.
LOG_STEPS = (1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
# Steps of a linear scale of seconds.
ROUND_SECONDS = (
    *(1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY),
)
# More grid lines would crowd a chart of this height.
MOST_LINES = 4


def text(number: float) -> str:
    """A number for SVG, with a point in every language."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Line:
    """A grid line and its value."""

    value: float
    y: str


@dataclass(frozen=True)
class Scale:
    """Maps values to vertical pixels; the first value is at the lower edge."""

    values: tuple[float, ...]
    is_logarithmic: bool = False

    def y(self, value: float) -> float:
        low, high = self._place(self.values[0]), self._place(self.values[-1])
        share = (self._place(value) - low) / (high - low)
        return HEIGHT - (HEIGHT - TOP) * min(max(share, 0.0), 1.0)

    def _place(self, value: float) -> float:
        return log(max(value, self.values[0])) if self.is_logarithmic else value

    @property
    def lines(self) -> list[Line]:
        return [Line(value, text(self.y(value))) for value in self.values]


def scale_of_times(seconds: Sequence[float]) -> Scale:
    """Logarithmic, from the step below the shortest to the step above the longest."""
    least, most = min(seconds), max(seconds)
    lowest = max((step for step in LOG_STEPS[:-1] if step <= least), default=LOG_STEPS[0])
    # Longer than a year, which is the last step: the value itself is the upper end.
    highest = min((step for step in LOG_STEPS if step >= most and step > lowest), default=most)
    between = (step for step in LOG_STEPS if lowest < step < highest)
    return Scale((lowest, *between, highest), is_logarithmic=True)


def scale_of_counts(most: int) -> Scale:
    """From zero to at least `most` in few steps of 1, 2 or 5 times a power of ten."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if step * MOST_LINES >= most:
                return _from_zero(step, most)
        size *= 10


def scale_of_sums(most: float) -> Scale:
    """From zero to at least so many seconds in few steps, each with a single unit."""
    for step in ROUND_SECONDS:
        if step * MOST_LINES >= most:
            scale = _from_zero(step, most)
            if all(map(_has_one_unit, scale.values)):
                return scale
    days = scale_of_counts(ceil(most / DAY))
    return Scale(tuple(value * DAY for value in days.values))


def _has_one_unit(seconds: float) -> bool:
    """Not 1 h 30 min: beside a chart there is no room for two units."""
    unit = next(unit for unit in (DAY, HOUR, MINUTE, 1) if seconds >= unit or unit == 1)
    return seconds % unit == 0


def _from_zero(step: float, most: float) -> Scale:
    return Scale(tuple(step * number for number in range(max(1, ceil(most / step)) + 1)))
