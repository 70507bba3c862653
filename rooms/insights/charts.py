"""Charts of the Insights page: template context with positions and labels."""

from typing import Any

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.translation import gettext, pgettext

from rooms.insights import geometry, scales
from rooms.insights.figures import BucketFigures, Figures, Insights
from rooms.rendering.times import short_day


def charts_of(insights: Insights) -> dict[str, Any]:
    """All charts; there must be at least one question."""
    parts = insights.buckets
    figures = [part.figures for part in parts]
    slots = [
        {"place": place, "days": _days_of(part), "figures": part.figures}
        for place, part in zip(geometry.slots(len(parts)), parts, strict=True)
    ]
    return {
        "height": scales.HEIGHT,
        "line_width": geometry.LINE_WIDTH,
        "slots": slots,
        "labels": [
            {"place": label, "text": short_day(parts[label.index].last_day)}
            for label in geometry.labels(len(parts))
        ],
        "times": _times(figures),
        "outcomes": _outcomes(insights),
        "blocked": _blocked(figures),
        "hours": _hours(insights.hours),
    }


def _times(figures: list[Figures]) -> dict[str, Any] | None:
    medians, p90s = [each.median for each in figures], [each.p90 for each in figures]
    known = [value for value in medians + p90s if value is not None]
    if not known:
        return None
    scale = scales.scale_of_times(known)
    return {
        "lines": scale.lines,
        "band": geometry.band(medians, p90s, scale),
        "median": geometry.curve(medians, scale),
        "p90": geometry.curve(p90s, scale),
    }


def _outcomes(insights: Insights) -> dict[str, Any]:
    scale = scales.scale_of_counts(max(part.figures.questions for part in insights.buckets))
    stacks: list[dict[str, float]] = [{**part.figures.outcomes} for part in insights.buckets]
    names = _outcome_names()
    return {
        "lines": scale.lines,
        "parts": geometry.bars(stacks, scale),
        "legend": [
            {"name": name, "text": names[name], "count": count, "share": count / insights.now.questions}
            for name, count in insights.now.outcomes.items()
        ],
    }


def _outcome_names() -> dict[str, str]:
    return {
        "answered": pgettext("outcome", "Answered"),
        "skipped": pgettext("outcome", "Skipped"),
        "asked_back": pgettext("outcome", "Asked back"),
        "expired": pgettext("outcome", "Expired"),
        "withdrawn": pgettext("outcome", "Withdrawn"),
    }


def _blocked(figures: list[Figures]) -> dict[str, Any]:
    scale = scales.scale_of_sums(max(each.blocked_seconds for each in figures))
    stacks: list[dict[str, float]] = [{"blocked": each.blocked_seconds} for each in figures]
    return {"lines": scale.lines, "parts": geometry.bars(stacks, scale)}


def _hours(hours: list[list[int]]) -> dict[str, Any]:
    spots = geometry.spots(hours)
    busiest = max(spots, key=lambda spot: spot.count)
    return {
        "spots": [_hour(spot) for spot in spots],
        "days": [
            {
                "name": str(WEEKDAYS[day]),
                "short": str(WEEKDAYS_ABBR[day]),
                "y": scales.text(geometry.ROW * (day + 0.5)),
                "counts": counts,
                "total": sum(counts),
            }
            for day, counts in enumerate(hours)
        ],
        "ticks": [
            {"hour": hour, "x": geometry.percent(hour / 24), "is_for_wide": hour % 6 != 0}
            for hour in range(0, 24, 3)
        ],
        "height": 7 * geometry.ROW,
        "busiest": _hour(busiest),
    }


def _hour(spot: geometry.Spot) -> dict[str, Any]:
    return {"place": spot, "day": str(WEEKDAYS[spot.day]), "until": spot.hour + 1}


def _days_of(part: BucketFigures) -> str:
    """One day, or the first and the last."""
    if part.first_day == part.last_day:
        return short_day(part.last_day)
    between = {"first": short_day(part.first_day), "last": short_day(part.last_day)}
    return gettext("%(first)s to %(last)s") % between
