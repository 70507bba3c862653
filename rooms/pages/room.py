"""The page of a room: its open cards, its timeline and the composer for messages to its agents."""

from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, timeline
from rooms.access import locks, rate_limits
from rooms.contract import ids
from rooms.contract.forms import MessageForm, read_nonce
from rooms.models import AgentKey, Message, Question, Room
from rooms.pages.open_cards import number_in, open_cards
from rooms.people import agents, presence
from rooms.rendering import cards
from rooms.web import base_context, form, is_htmx, page, retry_later, too_many_in_words, wants_part

# A page's worth of the timeline; older entries load on demand.
ENTRIES_PER_PAGE = 30
# With more open questions the first is a card, and the others are rows that open.
ROWS_FROM = 3
# The keys that were used last; all of them are on the Connect page.
AGENTS_SHOWN = 8


@page
@require_safe
def room(request: HttpRequest, room: str) -> HttpResponse:
    # Read the room first: later changes arrive over the stream, which starts at this revision.
    own_room = access.room_for(request.user, room)
    before = number_in(request, "before")
    # Older entries load into a page of this revision, which shows what was open then as open cards.
    rendered = number_in(request, "rendered") or own_room.revision
    entries, next_before = timeline.page_before(own_room, before, rendered, ENTRIES_PER_PAGE)
    context = {
        "room": own_room,
        "groups": _entry_groups(request, own_room, entries),
        "next_before": next_before,
        "rendered": rendered,
    }
    if wants_part(request) and before:
        return render(request, "ask_bridge/_timeline.html", context)
    open_questions = Question.objects.with_answer().open().filter(room=own_room).order_by("position")
    base = base_context(request, room=own_room)
    context |= base | {
        "attended_count": base["attended_counts"][own_room.pk],
        **open_cards(request, open_questions.none() if before else open_questions, base["standing"]),
        "is_past": bool(before),
        "rows_from": ROWS_FROM,
        "people": _people_here(request, own_room),
        "connected": agents.connected_in([own_room])[own_room.pk],
        "agents": _agents(own_room),
        "managers": access.manager_names(own_room),
        "may_manage": access.may_manage(request.user, own_room),
        "may_write": locks.may_write(own_room.pk, base["standing"]),
        "nonce": ids.new_nonce(),
    }
    if context["agents"] and not (context["cards"] or entries or before):
        context["first_question"] = _first_question(request, own_room)
    return render(request, "ask_bridge/room_detail.html", context)


def _agents(room: Room) -> QuerySet[AgentKey]:
    by_last_use = room.keys.usable().order_by(F("last_used_at").desc(nulls_last=True), "label")
    return by_last_use[:AGENTS_SHOWN]


def _first_question(request: HttpRequest, room: Room) -> str:
    """The command that the first start prints, for this room."""
    address = request.build_absolute_uri(reverse("ask_bridge:api-questions", args=(room.slug,)))
    return render_to_string("ask_bridge/connect/curl.txt", {"ask_address": address, "key": "$KEY"}).strip()


@form
def post_message(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.room_for(request.user, room)
    access.check_may_answer(request.user, own_room)
    form = MessageForm(request.POST)
    sent = None
    try:
        if form.is_valid():
            rate_limits.check_messages(request.user)
            content = form.cleaned_data["content"].replace("\r\n", "\n")
            sent = lifecycle.say(own_room, request.user, content, read_nonce(request.POST))
    except rate_limits.TooMany as over:
        if not is_htmx(request):
            raise
        form.add_error("content", f"{too_many_in_words(over)}.")
        # Keep the nonce, so that sending again does not make a second message.
        composer = _composer(own_room, form, read_nonce(request.POST))
        return retry_later(render(request, "ask_bridge/_composer.html", composer, status=429), over)
    if is_htmx(request):
        composer = _composer(own_room, form, ids.new_nonce(), sent)
        return render(request, "ask_bridge/_composer.html", composer)
    address = reverse("ask_bridge:room", args=(own_room.slug,))
    # The page shows the message below the composer.
    return redirect(f"{address}#message-{sent.pk}" if sent else address)


def _composer(room: Room, form: MessageForm, nonce: str, sent: Message | None = None) -> dict[str, Any]:
    """Template context of the composer, and of the message that was sent with it."""
    return {
        "room": room,
        "form": form,
        "nonce": nonce,
        "connected": agents.connected_in([room])[room.pk],
        "sent": sent and cards.render_message(sent),
        "sent_text": sent and sent.content,
    }


def _people_here(request: HttpRequest, room: Room) -> list[presence.PersonHere]:
    """The people of this room who have a page open, including this viewer."""
    viewer = presence.PersonHere(lifecycle.name_of(request.user), request.user.pk)
    return sorted({*presence.people_in([room])[room.pk], viewer})


def _entry_groups(
    request: HttpRequest, room: Room, entries: list[Question | Message]
) -> list[dict[str, Any]]:
    """Cards and messages rendered one by one, neighbouring log lines as one group."""
    groups = []
    token = get_token(request)
    may_write = access.may_answer(request.user, room)
    corrections = timeline.corrections_of([entry for entry in entries if isinstance(entry, Question)])
    for group in timeline.in_groups(entries):
        rendered = [
            cards.render_card(
                entry, request.user.pk, token, may_write=may_write, corrections=corrections[entry.pk]
            )
            if isinstance(entry, Question)
            else cards.render_message(entry)
            for entry in group
        ]
        groups.append({"entries": rendered, "is_log": len(group) > 1})
    return groups
