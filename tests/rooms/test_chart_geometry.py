"""Chart geometry: all values inside the chart, none lost, and nothing drawn for no data."""

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rooms.insights import geometry, scales
from rooms.insights.geometry import LEAST_HEIGHT
from rooms.insights.scales import HEIGHT, TOP

SECONDS = st.floats(0, 4e8, allow_nan=False)
# A busy machine says nothing about a chart.
at_leisure = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


# ---- scales ----------------------------------------------------------------------------------------------


@at_leisure
@given(st.lists(SECONDS, min_size=1, max_size=20))
@example([365 * 86_400])
def test_a_scale_of_times_has_room_for_all(seconds: list[float]) -> None:
    scale = scales.scale_of_times(seconds)
    assert len(scale.values) >= 2
    assert list(scale.values) == sorted(set(scale.values))
    assert scale.values[-1] >= max(seconds)
    for value in seconds:
        assert TOP <= scale.y(value) <= HEIGHT


@at_leisure
@given(SECONDS, SECONDS)
def test_what_takes_longer_is_higher_up(one: float, other: float) -> None:
    scale = scales.scale_of_times([one, other])
    shorter, longer = sorted((one, other))
    assert scale.y(longer) <= scale.y(shorter)


@at_leisure
@given(st.integers(0, 10**7))
def test_a_scale_of_counts_has_few_whole_steps(most: int) -> None:
    values = scales.scale_of_counts(most).values
    assert values[0] == 0
    assert values[-1] >= most
    assert 2 <= len(values) <= 5
    assert all(float(value).is_integer() for value in values)


@at_leisure
@given(SECONDS)
def test_a_scale_of_sums_is_said_with_one_unit_each(most: float) -> None:
    values = scales.scale_of_sums(most).values
    assert values[0] == 0
    assert values[-1] >= most
    assert 2 <= len(values) <= 5
    for value in values:
        assert any(value % unit == 0 and value < 60 * unit for unit in (1, 60, 3600)) or value % 86_400 == 0


def test_lines_go_from_the_lower_edge_to_the_top() -> None:
    lines = scales.scale_of_counts(4).lines
    assert (lines[0].y, lines[-1].y) == (str(HEIGHT), str(TOP))
    assert [line.value for line in lines] == [0, 1, 2, 3, 4]


# ---- across ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 13, 30, 52])
def test_slots_fill_the_width_and_few_of_them_are_named(count: int) -> None:
    slots = geometry.slots(count)
    assert numbers(slots[-1].x)[0] + numbers(slots[-1].width)[0] == pytest.approx(100, abs=0.1)
    labels = geometry.labels(count)
    assert labels[0].index == count - 1
    assert len(labels) <= 7
    # On a phone four are as much as fits.
    assert sum(not label.is_for_wide for label in labels) <= 4


# ---- lines -----------------------------------------------------------------------------------------------


def test_a_line_stops_where_nothing_is_known() -> None:
    values = [60.0, 120.0, None, 30.0, None, 60.0, 60.0]
    curve = geometry.curve(values, scales.scale_of_times([30.0, 120.0]))
    assert [len(stroke.split()) for stroke in curve.strokes] == [2, 2]
    assert len(curve.points) == 5


def test_a_day_alone_is_a_point_even_where_there_are_too_many_for_points() -> None:
    values: list[float | None] = [60.0] * 50
    values[10] = values[12] = None
    curve = geometry.curve(values, scales.scale_of_times([60.0]))
    assert [point.x for point in curve.points] == [geometry.percent(11.5 / 50)]


def test_a_band_is_between_its_lines() -> None:
    low, high = [10.0, 20.0, None, 5.0], [100.0, 200.0, None, 50.0]
    (shape,) = geometry.band(low, high, scales.scale_of_times([5.0, 200.0]))
    corners = [numbers(corner) for corner in shape.split()]
    assert len(corners) == 4
    assert corners[0][0] == corners[-1][0]
    assert corners[0][1] < corners[-1][1]


# ---- bars ------------------------------------------------------------------------------------------------


@at_leisure
@given(
    st.lists(
        st.fixed_dictionaries({"a": st.integers(0, 50), "b": st.integers(0, 50)}), min_size=1, max_size=20
    )
)
def test_bars_stand_on_each_other_inside_their_slots(stacks: list[dict[str, float]]) -> None:
    most = int(max(sum(stack.values()) for stack in stacks))
    parts = geometry.bars(stacks, scales.scale_of_counts(most))
    assert len(parts) == sum(bool(value) for stack in stacks for value in stack.values())
    for part in parts:
        y, height = float(part.y), float(part.height)
        assert height >= LEAST_HEIGHT
        assert y + height <= HEIGHT + 0.01
        assert 0 <= numbers(part.x)[0] < numbers(part.x)[0] + numbers(part.width)[0] <= 100
    for x in {part.x for part in parts}:
        ordered = [part for part in parts if part.x == x]
        for below, above in pairwise(ordered):
            assert float(above.y) + float(above.height) <= float(below.y) + LEAST_HEIGHT


def test_nothing_is_no_bar() -> None:
    assert geometry.bars([{"a": 0, "b": 0}], scales.scale_of_counts(0)) == []


# ---- weekdays and hours ----------------------------------------------------------------------------------


def test_the_busiest_hour_has_the_largest_dot_and_nothing_has_none() -> None:
    hours = [[0] * 24 for _ in range(7)]
    hours[2][14], hours[4][9], hours[6][23] = 40, 10, 1
    found = {(spot.day, spot.hour): spot for spot in geometry.spots(hours)}
    assert set(found) == {(2, 14), (4, 9), (6, 23)}
    assert float(found[2, 14].radius) == geometry.LARGEST / 2
    # A quarter of the questions is a quarter of the area.
    assert float(found[4, 9].radius) == geometry.LARGEST / 4
    assert float(found[6, 23].radius) == geometry.SMALLEST / 2
    assert [found[key].level for key in ((2, 14), (4, 9), (6, 23))] == [4, 2, 1]


def test_no_hours_at_all_are_no_dots() -> None:
    assert geometry.spots([[0] * 24] * 7) == []


def test_a_number_is_written_as_short_as_it_can_be() -> None:
    assert [scales.text(number) for number in (0, 1.0, 2.5, 1 / 3, 100)] == ["0", "1", "2.5", "0.33", "100"]
