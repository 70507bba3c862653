"""The History page: settled questions, searched by words and filters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from rooms import access
from rooms.db.transactions import optional_writes
from rooms.history import search, writer
from rooms.history.index import LARGEST_ID, State
from rooms.history.index_query import Term
from rooms.history.search import COUNTED, Search, mark
from rooms.models import Question
from rooms.rendering import markup
from rooms.rendering.card_content import Card
from rooms.rendering.humanize import duration
from rooms.web import base_context, in_order, page, wants_part

RESULTS_PER_PAGE = 30
# Enough that a new answer appears at once; the page does not wait until a long history is written.
CATCH_UP_SECONDS = 0.1
# Enough to recognise a question; its link shows the rest.
SHOWN_CHARACTERS = 240
# On either side of a match in text that the row does not show.
EXCERPT_CHARACTERS = 70
# Four texts of 200 characters, each up to twelve when encoded, and the other parameters.
LONGEST_QUERY = 10_000


@dataclass(frozen=True)
class Row:
    """A settled question as one line of the results."""

    card: Card
    terms: list[Term]

    @cached_property
    def title(self) -> SafeString:
        return self._marked(" · ".join(markup.plain(view.prompt.question) for view in self.card.prompts))

    @cached_property
    def decision(self) -> SafeString:
        """The chosen options, or the reason given instead."""
        several = len(self.card.prompts) > 1
        chosen = [
            f"{view.summary_name} {view.summary}" if several else view.summary
            for view in self.card.prompts
            if view.summary
        ]
        return self._marked(" · ".join(chosen) or self._reason)

    @property
    def is_quoted(self) -> bool:
        return bool(self._reason) and not any(view.summary for view in self.card.prompts)

    @property
    def took(self) -> str:
        question = self.card.question
        return duration(((question.settled_at or question.asked_at) - question.asked_at).total_seconds())

    @property
    def excerpt(self) -> SafeString | None:
        """The text around a match, if title and decision contain none."""
        if not self.terms or "<mark>" in self.title + self.decision:
            return None
        for text in self._hidden_texts():
            before, marked, _ = mark(text, self.terms).partition("<mark>")
            if marked:
                start = max(0, len(unescape(before)) - EXCERPT_CHARACTERS)
                return self._marked(("…" if start else "") + text[start:], 2 * EXCERPT_CHARACTERS)
        return None

    @property
    def _reason(self) -> str:
        return self.card.answer.reason if self.card.answer else ""

    def _hidden_texts(self) -> list[str]:
        choices = self.card.answer.choices if self.card.answer else []
        texts = [choice["notes"] for choice in choices if choice.get("notes")]
        for view in self.card.prompts:
            texts += [view.prompt.header, *view.prompt.labels]
            texts += [option.description for option in view.prompt.options]
        return [*texts, self.card.question.context.get("text", "")]

    def _marked(self, text: str, limit: int = SHOWN_CHARACTERS) -> SafeString:
        return mark(text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…", self.terms)


@page
@require_safe
def history_page(request: HttpRequest) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    criteria, before = Search.read(request.GET), _entry_id(request.GET)
    if not before:
        with optional_writes():
            writer.catch_up(CATCH_UP_SECONDS)
    found = search.find(criteria, rooms, RESULTS_PER_PAGE, before)
    context: dict[str, Any] = {
        "search": criteria,
        "rows": [Row(_card(request, question), criteria.terms) for question in found.questions],
        "parameters": urlencode(criteria.as_parameters()),
        # For the page of a decision, whose link leads back to these results.
        "search_parameter": urlencode({"search": _query(criteria, before)}),
        "next_before": found.next_before,
        "is_first_page": not before,
    }
    if wants_part(request):
        template = "ask_bridge/_history_rows.html" if before else "ask_bridge/_history_results.html"
        return render(request, template, context | _total(criteria, rooms, found, before))
    context |= base_context(request, rooms) | _total(criteria, rooms, found, before)
    context |= {"rail_place": "history", "states": State.choices, "rooms": in_order(rooms)}
    return render(request, "ask_bridge/history.html", context)


def _total(criteria: Search, rooms: list[Any], found: search.Found, before: int | None) -> dict[str, Any]:
    """The number of results, up to COUNTED."""
    if before:
        return {}
    is_all = found.next_before is None
    total = len(found.questions) if is_all else search.count(criteria, rooms)
    return {"total": min(total, COUNTED), "is_more": total > COUNTED}


def _card(request: HttpRequest, question: Question) -> Card:
    answer = question.answer_or_none
    return Card(question, is_mine=answer is not None and answer.user_id == request.user.pk)


def search_address(query: str, question_id: str) -> str:
    """The URL of the results that a decision was opened from, at its row; invalid parameters are dropped."""
    given = dict(parse_qsl(query[:LONGEST_QUERY]))
    found_by = _query(Search.read(given), _entry_id(given))
    return f"{reverse('ask_bridge:history')}{'?' if found_by else ''}{found_by}#result-{question_id}"


def _query(criteria: Search, before: int | None) -> str:
    return urlencode(criteria.as_parameters() | ({"before": str(before)} if before else {}))


def _entry_id(given: Mapping[str, str]) -> int | None:
    text = given.get("before", "")
    return int(text) if re.fullmatch(r"[1-9]\d{0,18}", text, re.ASCII) and int(text) <= LARGEST_ID else None
