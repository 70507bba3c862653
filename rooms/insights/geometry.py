"""Geometry of charts: positions for SVG, without words and markup.

Horizontal positions are percentages of the width: a chart fills a phone or a desktop without scaling its
texts. Only curves have units of their own, which the browser scales. Vertical positions are in pixels.
Positions are strings, because a template would write a number with a decimal comma in some languages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from rooms.insights.scales import Scale, text

# The width of a curve in its own units.
LINE_WIDTH = 1_000

# The share of its slot that a bar fills; the few bars of a week would be too wide.
BAR, BAR_OF_FEW = 0.72, 0.5
FEW = 7
# Between two parts of a bar, so that they can be told apart without colours.
GAP = 1.5
# Every part is visible, however small its share.
LEAST_HEIGHT = 2.0

# Below a chart of half a desktop's width; the seven days of a week fit as well.
MOST_LABELS = 6
# More points would merge into a thick line.
MOST_POINTS = 31


def percent(share: float) -> str:
    return f"{text(100 * share)}%"


# ---- slots -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """The column of one day or week: all of it reacts to the pointer."""

    x: str
    width: str
    middle: str


@dataclass(frozen=True)
class Label:
    """Which day or week is named below the chart, where, and whether only on wide screens."""

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
    """The last slot is always labelled; every second label is hidden on a phone."""
    step = 1 if count <= FEW else ceil(count / MOST_LABELS)
    found = []
    for place, index in enumerate(range(count - 1, -1, -step)):
        middle = (index + 0.5) / count
        anchor = "end" if middle > 0.95 else "start" if middle < 0.05 else "middle"
        x = {"end": 1.0, "start": 0.0, "middle": middle}[anchor]
        found.append(Label(index, percent(x), anchor, is_for_wide=place % 2 == 1))
    return found


# ---- curves: a value for each slot, or none --------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    x: str
    y: str


@dataclass(frozen=True)
class Curve:
    """A line that is interrupted where values are missing."""

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
    # A value without neighbours has no line, so it needs a point to be visible.
    pointed = known if count <= MOST_POINTS else {i: y for i, y in known.items() if i not in neighbours}
    points = [Point(percent((index + 0.5) / count), text(y)) for index, y in pointed.items()]
    return Curve(strokes, points)


def band(low: Sequence[float | None], high: Sequence[float | None], scale: Scale) -> list[str]:
    """The area between two curves, as polygons."""
    count = len(low)
    both = [
        index for index, (a, b) in enumerate(zip(low, high, strict=True)) if a is not None and b is not None
    ]
    shapes = []
    for run in _runs(both):
        upper = [(index, high[index]) for index in run]
        lower = [(index, low[index]) for index in reversed(run)]
        corners = [f"{_across(i, count)},{text(scale.y(y))}" for i, y in upper + lower if y is not None]
        if len(run) > 1:
            shapes.append(" ".join(corners))
    return shapes


def _across(index: int, count: int) -> str:
    return text(LINE_WIDTH * (index + 0.5) / count)


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """Groups of consecutive indices."""
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
    """One coloured part of a bar."""

    name: str
    x: str
    width: str
    y: str
    height: str


def bars(stacks: Sequence[dict[str, float]], scale: Scale) -> list[Part]:
    """The parts of each slot's bar, stacked from the bottom in the order of the dict."""
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

# The height of a weekday, in pixels.
ROW = 24
# Diameters in pixels, of a single question and of the busiest hour. Shades alone would be hard to compare.
SMALLEST, LARGEST = 5.0, 20.0


@dataclass(frozen=True)
class Spot:
    """A circle for an hour of a weekday in which questions were asked."""

    day: int
    hour: int
    count: int
    x: str
    y: str
    radius: str
    # From 1 to 4: the shade.
    level: int


def spots(hours: Sequence[Sequence[int]]) -> list[Spot]:
    """The area of a circle is proportional to the number of questions."""
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
