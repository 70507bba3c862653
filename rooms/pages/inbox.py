"""The inbox: open questions of all rooms of a person as rows, and one of them as a card."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, timeline
from rooms.access import locks
from rooms.contract.restrictions import Lock
from rooms.db import timezone
from rooms.models import Answer, Question, QuestionQuerySet, Room
from rooms.pages.open_cards import number, number_in
from rooms.people.agents import connected_in
from rooms.rendering import cards
from rooms.rendering.card_content import Card
from rooms.web import base_context, form, is_htmx, page

# The rows that a group shows at first (a window is as high), how many more on demand, and how many at most.
ROWS = 15
MORE_ROWS = 50
MOST_ROWS = 1_000
# The most questions that one click closes: each is a transaction, and the request must not take too long.
CLOSE_LIMIT = 500
# The questions whose agents can be chosen: the first ones from the index, however many are open.
QUESTIONS_WITH_AGENTS = 500
# The connected agents that the empty inbox names: about what fits beside its text.
AGENTS_AT_WORK = 8
# The newest answers of today that the median is computed from: more do not change what it says.
ANSWERS_IN_MEDIAN = 200


@dataclass(frozen=True)
class Filters:
    """What the address of the inbox selects."""

    room: str = ""
    agent: str = ""
    is_mine: bool = False
    rows: int = ROWS
    has_unattended: bool = False

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Filters":
        return cls(
            room=parameters.get("room", ""),
            agent=parameters.get("agent", "").replace("\x00", ""),
            is_mine="mine" in parameters,
            rows=min(max(number(parameters.get("show", "")) or 0, ROWS), MOST_ROWS),
            has_unattended="unattended" in parameters,
        )

    @property
    def are_set(self) -> bool:
        """Whether some open questions are left out."""
        return bool(self.room or self.agent or self.is_mine)

    def rooms_of(self, rooms: Iterable[Room]) -> list[Room]:
        """Those of the rooms that the filters leave."""
        return [room for room in rooms if not self.room or room.slug == self.room]

    def address(self, **more: str) -> str:
        """The address of the inbox with these filters, and with more parameters."""
        parameters = {
            "room": self.room,
            "agent": self.agent,
            "mine": "1" if self.is_mine else "",
            "show": str(self.rows) if self.rows != ROWS else "",
            "unattended": "1" if self.has_unattended else "",
            **more,
        }
        query = urlencode({name: value for name, value in parameters.items() if value})
        return f"{reverse('ask_bridge:inbox')}?{query}" if query else reverse("ask_bridge:inbox")


@dataclass(frozen=True)
class Row:
    """An open question in one line."""

    card: Card
    address: str

    @property
    def question(self) -> Question:
        return self.card.question

    @property
    def text(self) -> str:
        return self.card.prompts[0].plain_question

    @property
    def state(self) -> str:
        """What the row says beside agent and room; empty for a plain question."""
        question, care = self.question, self.card.care
        states = {
            "held": question.is_held,
            "voted": bool(self.card.voter),
            "votes": care is not None and care.votes is not None,
            "deciders": self.card.lock == Lock.FIRST and bool(self.card.deciders),
            "deadline": question.expires_at is not None,
            "prompts": len(self.card.prompts) > 1,
        }
        return next((name for name, is_true in states.items() if is_true), "")


@page
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """The whole page; for a script only the rows, or only the card."""
    rooms = list(access.visible_rooms(request.user))
    filters = Filters.read(request.GET)
    base = base_context(request, rooms)
    groups = _groups(filters, rooms, request.user, base)
    part = request.headers.get("HX-Target") if is_htmx(request) else ""
    context = {
        **base,
        "rail_place": "inbox",
        "filters": filters,
        **groups,
        "today": _answers_of_today(request.user),
    }
    if part != "ab-rows":
        context |= _focus(request, filters, rooms, groups, base["standing"])
    if part == "ab-rows":
        return render(request, "ask_bridge/_inbox_rows.html", context)
    if part == "ab-focus":
        return render(request, "ask_bridge/_inbox_focus.html", context)
    context |= {
        "closed": number_in(request, "closed"),
        "agents": _agents(filters, rooms, base["standing"]),
    }
    return render(request, "ask_bridge/inbox.html", context)


def _groups(filters: Filters, rooms: list[Room], user: Any, base: dict[str, Any]) -> dict[str, Any]:
    """The rows of each group, and how many questions it has."""
    shown = filters.rooms_of(rooms)
    locked, standing = base["locked"], base["standing"]
    attended = _filtered(Question.objects.attended(), filters, shown, standing).order_by("asked_at")
    needed, held = attended.exclude(locked.condition), attended.filter(pk__in=locked.held_ids)
    others = attended.filter(locked.condition).exclude(pk__in=locked.held_ids)
    unattended = _filtered(Question.objects.unattended(), filters, shown, standing).order_by("asked_at")
    counts = base["attended_counts"]
    is_counted = not (filters.agent or filters.is_mine)
    totals = {
        "needed": sum(counts[room.pk] for room in shown) if is_counted else needed.count(),
        "held": held.count(),
        "others": others.count(),
        "unattended": unattended.count(),
    }
    groups = {
        "needed": needed,
        "held": held,
        "others": others,
        "unattended": unattended if filters.has_unattended else unattended.none(),
    }
    return {
        **_rows(groups, filters, user, standing),
        **{f"{name}_total": total for name, total in totals.items()},
        **{f"more_{name}": _more_address(filters, total) for name, total in totals.items()},
        "unattended_address": filters.address(unattended="" if filters.has_unattended else "1"),
        "close_limit": CLOSE_LIMIT,
    }


def _agents(filters: Filters, rooms: list[Room], standing: locks.Standing) -> list[str]:
    """The agents to choose from, whichever is chosen: those that have waited longest."""
    attended = _filtered(Question.objects.attended(), Filters(), rooms, standing).order_by("asked_at")
    names = attended.values_list("agent_name", flat=True)[:QUESTIONS_WITH_AGENTS]
    return sorted({*names, filters.agent} - {""})


def _filtered(
    questions: QuestionQuerySet, filters: Filters, rooms: list[Room], standing: locks.Standing
) -> QuestionQuerySet:
    # Plus zero: with the plain column SQLite reads and sorts all open questions of these rooms, instead of
    # the first ones of an index that has them in order (10,000 open questions: 43 ms against 3).
    questions = questions.annotate(of_room=F("room_id") + 0).filter(of_room__in=[room.pk for room in rooms])
    if filters.agent:
        questions = questions.filter(agent_name=filters.agent)
    if filters.is_mine:
        questions = questions.filter(pk__in=locks.named_in(rooms, standing))
    return questions


def _rows(
    groups: dict[str, QuestionQuerySet], filters: Filters, user: Any, standing: locks.Standing
) -> dict[str, list[Row]]:
    # The ids are found in an index, however many questions are left out. Only what is shown is read.
    ids = {name: list(found.values_list("pk", flat=True)[: filters.rows]) for name, found in groups.items()}
    questions = Question.objects.with_answer().order_by().in_bulk(list(chain.from_iterable(ids.values())))

    def row(question: Question) -> Row:
        card = cards.card_of(question, user.pk, locks.lock_on(question, standing))
        return Row(card, filters.address(question=question.pk))

    # One may have been deleted meanwhile.
    return {name: [row(questions[pk]) for pk in found if pk in questions] for name, found in ids.items()}


def _more_address(filters: Filters, total: int) -> str:
    """The address with more rows; empty if all are shown, or as many as a page can show."""
    if total <= filters.rows or filters.rows >= MOST_ROWS:
        return ""
    return filters.address(show=str(filters.rows + MORE_ROWS))


def _focus(
    request: HttpRequest,
    filters: Filters,
    rooms: list[Room],
    groups: dict[str, Any],
    standing: locks.Standing,
) -> dict[str, Any]:
    """The card of the question in the address, or of the first one that needs this person."""
    needed: Sequence[Row] = groups["needed"]
    wanted = request.GET.get("question", "").replace("\x00", "")
    first = needed[0].question.pk if needed else ""
    question = Question.objects.with_answer().filter(room__in=rooms, pk=wanted or first).first()
    if wanted and question is None:
        raise Http404
    ids = [row.question.pk for row in needed]
    place = ids.index(question.pk) if question and question.pk in ids else None
    # After the last one comes the first: it may have been left for later.
    following = needed[(place + 1) % len(needed)] if place is not None else next(iter(needed), None)
    return {
        "focused": question,
        "is_chosen": bool(wanted),
        "card": question
        and cards.render_card(
            question,
            request.user.pk,
            get_token(request),
            lock=locks.lock_on(question, standing),
            may_write=locks.may_write(question.room_id, standing),
            corrections=timeline.corrections_of([question])[question.pk],
        ),
        "place": None if place is None else place + 1,
        "previous": needed[place - 1].address if place else "",
        "next": following.address if following and following.question != question else "",
        "following_total": groups["needed_total"] - (place is not None),
        "back": filters.address(),
        "agents_at_work": [] if question or filters.are_set else _agents_at_work(rooms),
    }


def _answers_of_today(user: Any) -> dict[str, Any]:
    """How many questions this person answered today, and the median time that they waited."""
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    answers = Answer.objects.filter(user=user, answered_at__gte=today)
    newest = answers.order_by("-answered_at").values_list("answered_at", "question__asked_at")
    waits = [(answered - asked).total_seconds() for answered, asked in newest[:ANSWERS_IN_MEDIAN]]
    return {
        "count": answers.count(),
        "median_seconds": max(0.0, median(waits)) if waits else None,
        "longest_seconds": max(0.0, *waits) if waits else None,
    }


def _agents_at_work(rooms: list[Room]) -> list[dict[str, str]]:
    """The connected agents with their rooms, shown when no question waits."""
    connected = connected_in(rooms)
    agents = [{"name": name, "room": room.name} for room in rooms for name in connected[room.pk]]
    return agents[:AGENTS_AT_WORK]


@form
def close_unattended(request: HttpRequest) -> HttpResponse:
    """Close the questions without a waiting agent that the filters leave and this person may decide."""
    filters = Filters.read(request.POST)
    unattended = Question.objects.unattended().order_by("asked_at")
    affected = access.visible_rooms(request.user).filter(pk__in=unattended.order_by().values("room"))
    rooms = [room for room in filters.rooms_of(affected) if access.may_answer(request.user, room)]
    left = _filtered(unattended, filters, rooms, locks.standing_of(request.user, rooms))
    decidable = (
        question for question in left.select_related("room") if lifecycle.may_decide(question, request.user)
    )
    closed = lifecycle.close_unattended(list(islice(decidable, CLOSE_LIMIT)), by=request.user)
    return HttpResponseRedirect(filters.address(closed=str(closed)), status=303)
