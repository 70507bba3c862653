"""Where things are drawn: positions for SVG, no words and no markup.

Across, everything is a share of the width: a chart fills a phone and a desk without its texts growing or
shrinking. Only lines are in units of their own, which the browser stretches. Down, everything is in pixels.
Positions are texts already: a number would be written with a comma where people write it so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TypeVar

Item = TypeVar("Item")

HEIGHT = 176
# Above the highest line there is room for half a line of text.
TOP = 10
LINE_WIDTH = 1_000

# A bar's part of its place; a week's few would else be slabs.
BAR, BAR_OF_FEW = 0.72, 0.5
FEW = 7
# Between two parts of a bar, so that they are told apart without their colours.
GAP = 1.5
# A part that is there is seen, however small its share.
LEAST_HEIGHT = 2.0

# Below a chart that has half of a desk; the days of one week have room all the same.
MOST_LABELS = 6
# Beyond this many, points would be one thick line.
MOST_POINTS = 31

MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Times to answer go from seconds to days, and both matter: each line is several times the one below.
STEPS_UP = (1, 10, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
# Round numbers of seconds, for a scale that begins at zero.
ROUND_SECONDS = (
    *(1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY),
)
MOST_LINES = 4


def text(number: float) -> str:
    """As SVG wants it."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    return f"{text(100 * share)}%"


# ---- scales ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line across the chart and what it stands for."""

    value: float
    y: str


@dataclass(frozen=True)
class Scale:
    """From values to pixels; the first line is the lower edge."""

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
    """From the step below the shortest to the step above the longest."""
    least, most = min(seconds), max(seconds)
    lowest = max((step for step in STEPS_UP[:-1] if step <= least), default=STEPS_UP[0])
    # Longer than a year: beyond the last step there is only the value itself.
    highest = min((step for step in STEPS_UP if step >= most and step > lowest), default=most)
    between = (step for step in STEPS_UP if lowest < step < highest)
    return Scale((lowest, *between, highest), is_logarithmic=True)


def scale_of_counts(most: int) -> Scale:
    """From zero to at least `most` in few whole steps of 1, 2 or 5, of tens, hundreds and so on."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if step * MOST_LINES >= most:
                return _from_zero(step, most)
        size *= 10


def scale_of_sums(most: float) -> Scale:
    """From zero to at least so many seconds in few steps, each of them said with one unit."""
    for step in ROUND_SECONDS:
        if step * MOST_LINES >= most:
            scale = _from_zero(step, most)
            if all(map(_has_one_unit, scale.values)):
                return scale
    days = scale_of_counts(ceil(most / DAY))
    return Scale(tuple(value * DAY for value in days.values))


def _has_one_unit(seconds: float) -> bool:
    """Not 1 h 30 min: beside a chart there is no room for two."""
    unit = next(unit for unit in (DAY, HOUR, MINUTE, 1) if seconds >= unit or unit == 1)
    return seconds % unit == 0


def _from_zero(step: float, most: float) -> Scale:
    return Scale(tuple(step * number for number in range(max(1, ceil(most / step)) + 1)))


# ---- across ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """The place of one day or week: the whole of it answers to the pointer."""

    x: str
    width: str
    middle: str


@dataclass(frozen=True)
class Label:
    """Which of the days or weeks is named below, where, and whether only where there is room."""

    index: int
    x: str
    anchor: str
    is_for_wide: bool


def slots(count: int) -> list[Slot]:
    return [
        Slot(percent(index / count), percent(1 / count), percent((index + 0.5) / count))
        for index in range(count)
    ]


def labels(count: int) -> list[Label]:
    """The last one is always named; every other one gives way on a phone."""
    step = 1 if count <= FEW else ceil(count / MOST_LABELS)
    found = []
    for place, index in enumerate(range(count - 1, -1, -step)):
        middle = (index + 0.5) / count
        anchor = "end" if middle > 0.95 else "start" if middle < 0.05 else "middle"
        x = {"end": 1.0, "start": 0.0, "middle": middle}[anchor]
        found.append(Label(index, percent(x), anchor, is_for_wide=place % 2 == 1))
    return found


# ---- lines: a value for each slot, or none ---------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    x: str
    y: str


@dataclass(frozen=True)
class Curve:
    """A line that stops where there is nothing to show, and goes on behind."""

    strokes: list[str]
    points: list[Point]


def curve(values: Sequence[float | None], scale: Scale) -> Curve:
    count = len(values)
    known = {index: scale.y(value) for index, value in enumerate(values) if value is not None}
    strokes = [
        " ".join(f"{_across(index, count)},{text(known[index])}" for index in run)
        for run in _runs(sorted(known))
        if len(run) > 1
    ]
    neighbours = {index for run in _runs(sorted(known)) if len(run) > 1 for index in run}
    # A day alone has no line: then its point is all there is to see of it.
    pointed = known if count <= MOST_POINTS else {i: y for i, y in known.items() if i not in neighbours}
    points = [Point(percent((index + 0.5) / count), text(y)) for index, y in pointed.items()]
    return Curve(strokes, points)


def band(low: Sequence[float | None], high: Sequence[float | None], scale: Scale) -> list[str]:
    """What lies between two lines, as polygons."""
    count = len(low)
    both = [
        index for index, (a, b) in enumerate(zip(low, high, strict=True)) if a is not None and b is not None
    ]
    shapes = []
    for run in _runs(both):
        there = [(index, high[index]) for index in run]
        back = [(index, low[index]) for index in reversed(run)]
        corners = [f"{_across(i, count)},{text(scale.y(y))}" for i, y in there + back if y is not None]
        if len(run) > 1:
            shapes.append(" ".join(corners))
    return shapes


def _across(index: int, count: int) -> str:
    return text(LINE_WIDTH * (index + 0.5) / count)


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """Neighbours together."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


# ---- bars ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One colour of a bar."""

    name: str
    x: str
    width: str
    y: str
    height: str


def bars(stacks: Sequence[dict[str, float]], scale: Scale) -> list[Part]:
    """For each slot its parts, one upon the other in the order of their names."""
    count, parts = len(stacks), []
    bar = BAR if count > FEW else BAR_OF_FEW
    for index, stack in enumerate(stacks):
        below = 0.0
        x, width = percent((index + (1 - bar) / 2) / count), percent(bar / count)
        for name, value in stack.items():
            if not value:
                continue
            bottom, top = scale.y(below), scale.y(below + value)
            gap = GAP if below and bottom - top > GAP + LEAST_HEIGHT else 0.0
            height = max(bottom - top - gap, LEAST_HEIGHT)
            parts.append(Part(name, x, width, text(bottom - gap - height), text(height)))
            below += value
    return parts


# ---- weekdays and hours ----------------------------------------------------------------------------------

ROW = 24
# Pixels across, for a single question and for the busiest hour. A shade alone would be hard to compare.
SMALLEST, LARGEST = 5.0, 20.0


@dataclass(frozen=True)
class Spot:
    """An hour of a weekday in which something was asked."""

    day: int
    hour: int
    count: int
    x: str
    y: str
    radius: str
    # From 1 to 4, for the shade.
    level: int


def spots(hours: Sequence[Sequence[int]]) -> list[Spot]:
    """The area of each says how much was asked."""
    most = max((count for day in hours for count in day), default=0)
    found = []
    for day, counts in enumerate(hours):
        for hour, count in enumerate(counts):
            if count:
                share = count / most
                size = max(SMALLEST, LARGEST * share**0.5)
                x, y = percent((hour + 0.5) / 24), text(ROW * (day + 0.5))
                found.append(Spot(day, hour, count, x, y, text(size / 2), min(4, 1 + int(4 * share))))
    return found
