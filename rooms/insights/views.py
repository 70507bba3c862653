"""The Insights pages, of all visible rooms and of one room, and their exports."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext, override, pgettext
from django.views.decorators.http import require_safe

from rooms import access
from rooms.insights import export as insights_export
from rooms.insights import geometry
from rooms.insights.charts import charts_of
from rooms.insights.figures import Figures, Insights, insights_of
from rooms.insights.periods import STEPS, USUAL_DAYS, Period
from rooms.models import Room
from rooms.rendering import humanize
from rooms.rendering.language import text_language
from rooms.web import base_context, page

# Rows of a table that can be read at a glance; the export has all of them.
ROWS_SHOWN = 12


# ---- pages -----------------------------------------------------------------------------------------------


@page
@require_safe
def overall(request: HttpRequest) -> HttpResponse:
    if slug := request.GET.get("room"):
        # The form chose a room, which has its own URL.
        room = access.room_for(request.user, slug)
        address = reverse("ask_bridge:room-insights", args=(room.slug,))
        return redirect(f"{address}?{urlencode({'days': _days(request)})}")
    return _page(request, None)


@page
@require_safe
def of_room(request: HttpRequest, room: str) -> HttpResponse:
    return _page(request, access.room_for(request.user, room))


def _page(request: HttpRequest, room: Room | None) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    period = Period.until_now(_days(request))
    insights = insights_of([room] if room else rooms, period)
    # Numbers and names of days are Django's, which has more languages than we.
    with override(text_language()):
        shown = {
            "dates": _dates(insights),
            "tiles": _tiles(insights),
            **(charts_of(insights) if insights.now.questions else {}),
        }
    context = {
        **base_context(request, rooms),
        **shown,
        "rail_place": "insights",
        "only_room": room,
        "period": period,
        "choices": [{"days": days, "name": _period_name(days)} for days in STEPS],
        "nothing": "" if insights.now.questions else _nothing_settled(period),
        "query": urlencode({"days": period.days} | ({"room": room.slug} if room else {})),
        "agents": _shown(insights.agents, "questions"),
        "people": _shown(insights.people, "answers"),
        "busy_rooms": _shown(insights.rooms, "questions"),
    }
    return render(request, "ask_bridge/insights.html", context)


def _days(request: HttpRequest) -> int:
    """One of the selectable periods, by default USUAL_DAYS."""
    return {str(days): days for days in STEPS}.get(request.GET.get("days", ""), USUAL_DAYS)


def _period_name(days: int) -> str:
    return gettext("A year") if days > 90 else gettext("%(days)s days") % {"days": days}


def _nothing_settled(period: Period) -> str:
    if period.days > 90:
        return gettext("No questions were settled in the last year")
    return gettext("No questions were settled in the last %(days)s days") % {"days": period.days}


def _dates(insights: Insights) -> str:
    period = insights.period
    named = {
        "first": date_format(period.first_day, "DATE_FORMAT"),
        "last": date_format(period.today, "DATE_FORMAT"),
        "zone": period.zone,
        "days": period.days,
    }
    if not insights.before.questions:
        return gettext("%(first)s to %(last)s (%(zone)s), no earlier period to compare with") % named
    if period.days > 90:
        return gettext("%(first)s to %(last)s (%(zone)s), compared with the year before") % named
    return gettext("%(first)s to %(last)s (%(zone)s), compared with the %(days)s days before") % named


def _shown(rows: Sequence[Any], count: str) -> dict[str, Any]:
    """The first rows, each with its share of the largest."""
    shown = [
        {"row": row, "share": geometry.percent(getattr(row, count) / getattr(rows[0], count))}
        for row in rows[:ROWS_SHOWN]
    ]
    return {"rows": shown, "more": len(rows) - len(shown)}


# ---- headline numbers ------------------------------------------------------------------------------------


def _tiles(insights: Insights) -> list[dict[str, Any]]:
    now, before = insights.now, insights.before
    return [
        _tile(gettext("Questions settled"), now.questions, before.questions or None, humanize.count),
        _tile(gettext("Median time to answer"), now.median, before.median, humanize.duration),
        _tile(gettext("90th percentile"), now.p90, before.p90, humanize.duration),
        _tile(pgettext("outcome", "Answered"), now.share_answered, before.share_answered, humanize.share),
        _tile(gettext("Agent time blocked"), now.blocked_seconds, _blocked(before), humanize.duration),
    ]


def _blocked(figures: Figures) -> float | None:
    return figures.blocked_seconds if figures.questions else None


def _tile(name: str, now: Any, before: Any, words: Any) -> dict[str, Any]:
    """A number and its change as a sentence, without judging which direction is better."""
    shown = "–" if now is None else words(now)
    if now is None or before is None:
        return {"name": name, "value": shown, "trend": "", "said": ""}
    then = {"value": words(before)}
    if then["value"] == shown:
        return {"name": name, "value": shown, "trend": "same", "said": gettext("No change")}
    if now > before:
        said = gettext("Up from %(value)s") % then
        return {"name": name, "value": shown, "trend": "up", "said": said}
    return {
        "name": name,
        "value": shown,
        "trend": "down",
        "said": gettext("Down from %(value)s") % then,
    }


# ---- exports ---------------------------------------------------------------------------------------------


@page
@require_safe
def export_csv(request: HttpRequest) -> HttpResponse:
    chart, insights, room = _exported(request)
    rows = insights_export.CHARTS[chart or "summary"](insights)
    response = HttpResponse(insights_export.as_csv(rows), content_type="text/csv; charset=utf-8")
    return _as_file(response, chart or "summary", room, insights, "csv")


@page
@require_safe
def export_json(request: HttpRequest) -> HttpResponse:
    chart, insights, room = _exported(request)
    period = insights.period
    chosen = [chart] if chart else list(insights_export.CHARTS)
    body = {
        "first_day": period.first_day.isoformat(),
        "last_day": period.today.isoformat(),
        "time_zone": str(period.zone),
        "room": room.slug if room else None,
        "charts": {name: insights_export.CHARTS[name](insights) for name in chosen},
    }
    response = JsonResponse(body, json_dumps_params={"indent": 2, "ensure_ascii": False})
    return _as_file(response, chart, room, insights, "json")


def _exported(request: HttpRequest) -> tuple[str, Insights, Room | None]:
    """The chart (empty for all), the figures, and the room (None for all)."""
    chart = request.GET.get("chart", "")
    if chart and chart not in insights_export.CHARTS:
        raise Http404("There is no such chart.")
    slug = request.GET.get("room")
    room = access.room_for(request.user, slug) if slug else None
    rooms = [room] if room else list(access.visible_rooms(request.user))
    return chart, insights_of(rooms, Period.until_now(_days(request))), room


def _as_file(
    response: HttpResponse, chart: str, room: Room | None, insights: Insights, kind: str
) -> HttpResponse:
    named = filter(None, ("insights", room.slug if room else "", chart, insights.period.today.isoformat()))
    response["Content-Disposition"] = f'attachment; filename="{"-".join(named)}.{kind}"'
    return response
