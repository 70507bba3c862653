"""The pages that people see. Every form works without JavaScript; with it htmx swaps single cards."""

from collections.abc import Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, timeline
from rooms.access import locks, rate_limits
from rooms.contract import ids
from rooms.contract.choices import check_reply
from rooms.contract.forms import (
    Draft,
    MessageForm,
    SkipForm,
    as_choices,
    other_field,
    read_drafts,
    read_nonce,
    read_reply,
)
from rooms.contract.prompts import parse_prompts
from rooms.contract.types import FieldError, InvalidPayload
from rooms.history import views as history_views
from rooms.live.hub import hub
from rooms.models import Answer, Message, Question, QuestionQuerySet, Room
from rooms.people import presence
from rooms.rendering import cards, markup
from rooms.rendering.record import Record
from rooms.web import base_context, errors_response, form, is_htmx, page, retry_later, too_many_in_words

# A page's worth of the timeline; older entries load on demand.
ENTRIES_PER_PAGE = 30
# Open cards at first, more than anybody reads at once, and the most that one page shows on demand.
OPEN_CARDS = 100
MOST_OPEN_CARDS = 1_000
# So many are closed by one click: each is a transaction, and a request should end.
CLOSE_LIMIT = 500

# The newest keys; all of them are on the Connect page.
AGENTS_SHOWN = 8


# ---- reading ---------------------------------------------------------------------------------------------


@page
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    questions = Question.objects.with_answer().filter(room__in=rooms)
    attended = questions.attended().order_by("-agent_active", "asked_at")
    unattended = questions.unattended().order_by("asked_at")
    around = base_context(request, rooms)
    for_others, standing = around["locked"].condition, around["standing"]
    folded = _open_cards(request, unattended, standing)
    context = {
        **around,
        "page": "inbox",
        **_open_cards(request, attended.exclude(for_others), standing),
        "others": _open_cards(request, attended.filter(for_others), standing),
        "unattended": folded,
        "unattended_rest": folded["open_total"] - len(folded["cards"]),
        "closed": _number(request, "closed"),
        "close_limit": CLOSE_LIMIT,
    }
    return render(request, "ask_bridge/inbox.html", context)


@form
def close_unattended(request: HttpRequest) -> HttpResponse:
    """Close what no agent waits for, in the rooms and of the questions that this person may decide."""
    unattended = Question.objects.unattended().order_by("asked_at")
    concerned = access.visible_rooms(request.user).filter(pk__in=unattended.order_by().values("room"))
    rooms = [room for room in concerned if access.may_answer(request.user, room)]
    theirs = (
        question
        for question in unattended.select_related("room").filter(room__in=rooms)
        if lifecycle.may_decide(question, request.user)
    )
    closed = lifecycle.close_unattended(list(islice(theirs, CLOSE_LIMIT)), by=request.user)
    return HttpResponseRedirect(f"{reverse('ask_bridge:inbox')}?closed={closed}", status=303)


@page
@require_safe
def room(request: HttpRequest, room: str) -> HttpResponse:
    # The room first: what changes after this revision comes over the stream.
    own_room = access.room_for(request.user, room)
    before = _number(request, "before")
    # Older entries are loaded into a page that has what was open then among its open cards.
    rendered = _number(request, "rendered") or own_room.revision
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
    around = base_context(request, room=own_room)
    context |= around | {
        "attended_count": around["attended_counts"][own_room.pk],
        **_open_cards(request, open_questions.none() if before else open_questions, around["standing"]),
        "is_past": bool(before),
        "people": _people_here(request, own_room),
        "agents": own_room.keys.usable()[:AGENTS_SHOWN],
        "managers": access.manager_names(own_room),
        "nonce": ids.new_nonce(),
        "sent": _sent_message(request, own_room),
    }
    return render(request, "ask_bridge/room_detail.html", context)


@page
@require_safe
def question(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    lock = locks.lock_on(asked, locks.standing_of(request.user, [asked.room]))
    card = cards.card_of(asked, request.user.pk, lock)
    return _question_page(request, asked, cards.render_whole(card, get_token(request)))


def _question_page(request: HttpRequest, asked: Question, card: str, status: int = 200) -> HttpResponse:
    address = reverse("ask_bridge:question", args=(asked.room.slug, asked.pk))
    # From the history: the search that found it, to go back to.
    found_by = request.GET.get("search")
    context = {
        **base_context(request, room=asked.room),
        "card": card,
        "record": Record(cards.card_of(asked, request.user.pk)),
        "address": f"{address}?{request.GET.urlencode()}" if request.GET else address,
        "search_address": None if found_by is None else history_views.search_address(found_by, asked.pk),
    }
    return render(request, "ask_bridge/question_detail.html", context, status=status)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _people_here(request: HttpRequest, room: Room) -> list[str]:
    """Who has a page open; whoever asks has one now."""
    return sorted({*presence.people_in([room])[room.pk], lifecycle.name_of(request.user)})


def _open_cards(
    request: HttpRequest, questions: QuestionQuerySet, standing: locks.Standing
) -> dict[str, Any]:
    """The first of these, and more on demand: `?show=200`."""
    count = min(max(_number(request, "show") or 0, OPEN_CARDS), MOST_OPEN_CARDS)
    token = get_token(request)
    return {
        "cards": [
            cards.render_card(question, request.user.pk, token, lock=locks.lock_on(question, standing))
            for question in questions[:count]
        ],
        "open_total": questions.count(),
        "open_shown": count,
        "open_next": count + OPEN_CARDS if count < MOST_OPEN_CARDS else None,
    }


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


# ---- deciding --------------------------------------------------------------------------------------------


@form
def answer(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    prompts = parse_prompts(asked.prompts)
    drafts = read_drafts(prompts, request.POST)
    rate_limits.check_answers(request.user, asked)
    try:
        choices = as_choices(prompts, drafts)
        settled = lifecycle.answer(asked, choices, via=Answer.Via.WEB, user=request.user)
    except InvalidPayload as problem:
        return _not_sent(request, asked, problem, drafts)
    except lifecycle.AlreadySettled as late:
        if lifecycle.is_own_answer(late.question, request.user, choices):
            return _decided(request, late.question)
        return _too_late(request, late.question, drafts)
    return _decided(request, settled)


@form
def skip(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    form = SkipForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    rate_limits.check_answers(request.user, asked)
    try:
        settled = lifecycle.decline(asked, request.user, reason)
    except lifecycle.AlreadySettled as late:
        if lifecycle.is_own_refusal(late.question, request.user, reason):
            return _decided(request, late.question)
        return _too_late(request, late.question, words=reason)
    return _decided(request, settled)


@form
def ask_back(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    reply = read_reply(request.POST)
    rate_limits.check_answers(request.user, asked)
    try:
        settled = lifecycle.ask_back(asked, request.user, reply)
    except InvalidPayload as problem:
        return _not_sent(request, asked, problem, words=reply)
    except lifecycle.AlreadySettled as late:
        if lifecycle.is_own_refusal(late.question, request.user, check_reply(reply), asks_back=True):
            return _decided(request, late.question)
        return _too_late(request, late.question, words=reply)
    return _decided(request, settled)


@form
def undo(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    """Take back what was decided while the agent has not been told."""
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    rate_limits.check_answers(request.user, asked)
    try:
        opened = lifecycle.undo(asked, request.user)
    except lifecycle.AlreadySettled as late:
        return _too_late(request, late.question)
    return _decided(request, opened)


@form
def answering(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    """Somebody has begun to fill in a card: the others see their name on it."""
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    if asked.is_open:
        hub.announce_answering(asked, request.user)
    return HttpResponse(status=204)


def _decided(request: HttpRequest, question: Question) -> HttpResponse:
    """The card as it is now: settled, or a careful one on its way there."""
    if not question.is_open:
        hub.yield_to_agents(question)
    if is_htmx(request):
        return HttpResponse(cards.render_card(question, request.user.pk))
    address = redirect("ask_bridge:question", question.room.slug, question.pk)
    address.status_code = 303
    return address


def _not_sent(
    request: HttpRequest,
    asked: Question,
    problem: InvalidPayload,
    drafts: Sequence[Draft] = (),
    words: str | None = None,
) -> HttpResponse:
    """Say what is missing and keep what was filled in."""
    if not asked.is_open or asked.is_held:
        return _too_late(request, asked, drafts, words)
    # A field of the form says by itself what is wrong with it; the rest stands above the button.
    fields = {other_field(index) for index in range(len(asked.prompts))}
    at_fields = {error.field: error.message for error in problem.errors if error.field in fields}
    texts = [_in_words(error, asked) for error in problem.errors if error.field not in fields]
    if is_htmx(request):
        return errors_response(asked.pk, cards.render_errors(asked, texts, at_fields), status=422)
    card = cards.render_draft(asked, texts, get_token(request), drafts, words, field_errors=at_fields)
    return _question_page(request, asked, card, status=422)


def _in_words(error: FieldError, asked: Question) -> str:
    """What is wrong, and with which of several prompts, as people know it."""
    for prompt in asked.prompts if len(asked.prompts) > 1 else ():
        if prompt["question"] in error.field:
            named = {"prompt": markup.plain(prompt["header"] or prompt["question"]), "problem": error.message}
            return gettext("%(prompt)s: %(problem)s") % named
    return error.message


def _too_late(
    request: HttpRequest, settled: Question, drafts: Sequence[Draft] = (), words: str | None = None
) -> HttpResponse:
    """Name the winner, show what they chose, keep what this person had filled in."""
    card = cards.render_lost(settled, request.user.pk, drafts, words, get_token(request))
    if is_htmx(request):
        return HttpResponse(card, status=409)
    return _question_page(request, settled, card, status=409)


# ---- the rest of a room ----------------------------------------------------------------------------------


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
        # The same nonce: what is sent again is the same message.
        composer = {"room": own_room, "form": form, "nonce": read_nonce(request.POST)}
        return retry_later(render(request, "ask_bridge/_composer.html", composer, status=429), over)
    if is_htmx(request):
        # The message itself arrives over the stream, for its writer as for everybody.
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
