"""Export of insights as rows: stable names, plain numbers, times in seconds."""

from collections.abc import Callable
from typing import Any

from rooms.insights.figures import Figures, Insights
from rooms.rendering.spreadsheets import csv_lines

Row = dict[str, Any]


def _figures(figures: Figures) -> Row:
    return {
        "questions": figures.questions,
        "median_seconds": figures.median,
        "p90_seconds": figures.p90,
        "share_answered": figures.share_answered,
        "blocked_seconds": figures.blocked_seconds,
    }


def _summary(insights: Insights) -> list[Row]:
    return [{"period": name, **_figures(getattr(insights, name))} for name in ("now", "before")]


def _time_to_answer(insights: Insights) -> list[Row]:
    return [
        {**_days(part), "median_seconds": part.figures.median, "p90_seconds": part.figures.p90}
        for part in insights.buckets
    ]


def _outcomes(insights: Insights) -> list[Row]:
    return [{**_days(part), **part.figures.outcomes} for part in insights.buckets]


def _blocked(insights: Insights) -> list[Row]:
    return [{**_days(part), "blocked_seconds": part.figures.blocked_seconds} for part in insights.buckets]


def _days(part: Any) -> Row:
    return {"first_day": part.first_day.isoformat(), "last_day": part.last_day.isoformat()}


def _hours(insights: Insights) -> list[Row]:
    """Weekdays as in ISO 8601: 1 is Monday."""
    return [
        {"weekday": day, "hour": hour, "questions": count}
        for day, counts in enumerate(insights.hours, 1)
        for hour, count in enumerate(counts)
    ]


def _agents(insights: Insights) -> list[Row]:
    return [
        {
            "agent": agent.name,
            "questions": agent.questions,
            "median_seconds": agent.median,
            "blocked_seconds": agent.blocked_seconds,
        }
        for agent in insights.agents
    ]


def _people(insights: Insights) -> list[Row]:
    return [
        {"person": person.name, "answers": person.answers, "median_seconds": person.median}
        for person in insights.people
    ]


def _rooms(insights: Insights) -> list[Row]:
    return [
        {
            "room": row.room.slug,
            "questions": row.questions,
            "median_seconds": row.median,
            "share_answered": row.share_answered,
            "blocked_seconds": row.blocked_seconds,
        }
        for row in insights.rooms
    ]


CHARTS: dict[str, Callable[[Insights], list[Row]]] = {
    "summary": _summary,
    "time-to-answer": _time_to_answer,
    "outcomes": _outcomes,
    "blocked": _blocked,
    "hours": _hours,
    "agents": _agents,
    "people": _people,
    "rooms": _rooms,
}


def as_csv(rows: list[Row]) -> str:
    return csv_lines([list(rows[0]), *(list(row.values()) for row in rows)]) if rows else ""
