"""The page of a room: its open cards, its timeline and the composer for messages to its agents."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, timeline
from rooms.access import rate_limits
from rooms.contract import ids
from rooms.contract.forms import MessageForm, read_nonce
from rooms.models import Message, Question, Room
from rooms.pages.open_cards import number_in, open_cards
from rooms.people import presence
from rooms.rendering import cards
from rooms.web import base_context, form, is_htmx, page, retry_later, too_many_in_words

# A page's worth of the timeline; older entries load on demand.
ENTRIES_PER_PAGE = 30
# The newest keys; all of them are on the Connect page.
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
        "groups": _entry_groups(request, entries),
        "next_before": next_before,
        "rendered": rendered,
    }
    if is_htmx(request) and before:
        return render(request, "ask_bridge/_timeline.html", context)
    open_questions = Question.objects.with_answer().open().filter(room=own_room).order_by("position")
    base = base_context(request, room=own_room)
    context |= base | {
        "attended_count": base["attended_counts"][own_room.pk],
        **open_cards(request, open_questions.none() if before else open_questions, base["standing"]),
        "is_past": bool(before),
        "people": _people_here(request, own_room),
        "agents": own_room.keys.usable()[:AGENTS_SHOWN],
        "managers": access.manager_names(own_room),
        "nonce": ids.new_nonce(),
        "sent": _sent_message(request, own_room),
    }
    return render(request, "ask_bridge/room_detail.html", context)


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
        composer = {"room": own_room, "form": form, "nonce": read_nonce(request.POST)}
        return retry_later(render(request, "ask_bridge/_composer.html", composer, status=429), over)
    if is_htmx(request):
        # The message itself arrives over the stream, also for its author.
        composer = {
            "room": own_room,
            "form": form,
            "nonce": ids.new_nonce(),
            "sent": sent,
            "is_swapped": True,
        }
        return render(request, "ask_bridge/_composer.html", composer)
    address = reverse("ask_bridge:room", args=(own_room.slug,))
    return redirect(f"{address}?{urlencode({'sent': sent.pk})}" if sent else address)


def _sent_message(request: HttpRequest, room: Room) -> Message | None:
    """The person's own message that a page without JavaScript confirms: `?sent=m_…`."""
    sent = request.GET.get("sent", "")
    own = Message.objects.filter(room=room, user=request.user.pk)
    return own.filter(pk=sent).first() if ids.is_message_id(sent) else None


def _people_here(request: HttpRequest, room: Room) -> list[str]:
    """Names of the people of this room who have a page open, including this viewer."""
    return sorted({*presence.people_in([room])[room.pk], lifecycle.name_of(request.user)})


def _entry_groups(request: HttpRequest, entries: list[Question | Message]) -> list[dict[str, Any]]:
    """Cards and messages rendered one by one, neighbouring log lines as one group."""
    groups = []
    for group in timeline.in_groups(entries):
        rendered = [
            cards.render_card(entry, request.user.pk)
            if isinstance(entry, Question)
            else cards.render_message(entry)
            for entry in group
        ]
        groups.append({"entries": rendered, "is_log": len(group) > 1})
    return groups
