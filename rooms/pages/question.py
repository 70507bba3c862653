"""The page of one question and its forms: answer, skip, ask back, undo, "is answering"."""

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, timeline
from rooms.access import locks, rate_limits
from rooms.contract import ids
from rooms.contract.choices import check_reply
from rooms.contract.forms import (
    Draft,
    SkipForm,
    as_choices,
    choice_field,
    other_field,
    read_drafts,
    read_reply,
)
from rooms.contract.prompts import parse_prompts
from rooms.contract.types import FieldError, InvalidPayload
from rooms.live.hub import hub
from rooms.models import Answer, Question, Room
from rooms.pages.way_back import way_back, with_way_back
from rooms.people import preferences
from rooms.rendering import cards
from rooms.rendering.record import Record
from rooms.web import base_context, errors_response, form, is_htmx, page


@page
@require_safe
def question(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    try:
        asked = access.question_for(request.user, room, question_id)
    except Http404:
        own_room = access.room_for(request.user, room)
        if not _may_have_been_removed(own_room, question_id):
            raise
        return _removed_page(request, own_room)
    standing = locks.standing_of(request.user, [asked.room])
    may_write = locks.may_write(asked.room_id, standing)
    card = cards.card_of(asked, request.user.pk, locks.lock_on(asked, standing), may_write=may_write)
    html = cards.render_whole(card, get_token(request), timeline.corrections_of([asked])[asked.pk])
    return _question_page(request, asked, html)


def _may_have_been_removed(room: Room, question_id: str) -> bool:
    """Whether it would be so old that the room no longer keeps it; for every id, so it reveals nothing."""
    asked_at = ids.moment_of(question_id)
    return asked_at is not None and room.removed_until is not None and asked_at <= room.removed_until


def _removed_page(request: HttpRequest, room: Room) -> HttpResponse:
    """The page of a link, for example in an old e-mail, to a question that was removed for its age."""
    context = {**base_context(request, room=room), "days": lifecycle.kept_days(room)}
    return render(request, "ask_bridge/question_removed.html", context, status=410)


def _question_page(request: HttpRequest, asked: Question, card: str, status: int = 200) -> HttpResponse:
    address = reverse("ask_bridge:question", args=(asked.room.slug, asked.pk))
    context = {
        **base_context(request, room=asked.room),
        "card": card,
        "record": Record(cards.card_of(asked, request.user.pk)),
        "address": f"{address}?{request.GET.urlencode()}" if request.GET else address,
        "link": request.build_absolute_uri(address),
        "back": way_back(request, asked),
    }
    return render(request, "ask_bridge/question_detail.html", context, status=status)


@form
def answer(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    prompts = parse_prompts(asked.prompts)
    drafts = read_drafts(prompts, request.POST)
    undo_seconds = preferences.undo_seconds_of(request.user)
    rate_limits.check_answers(request.user, asked, undo_seconds)
    try:
        choices = as_choices(prompts, drafts)
        settled = lifecycle.answer(
            asked, choices, via=Answer.Via.WEB, user=request.user, undo_seconds=undo_seconds
        )
    except InvalidPayload as problem:
        return _not_sent(request, asked, problem, drafts)
    except lifecycle.AlreadySettled as late:
        if lifecycle.is_own_answer(late.question, request.user, choices):
            return _decided(request, late.question, is_repeated=True)
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
            return _decided(request, late.question, is_repeated=True)
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
            return _decided(request, late.question, is_repeated=True)
        return _too_late(request, late.question, words=reply)
    return _decided(request, settled)


@form
def undo(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    """Undo a decision that the agent has not received yet."""
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    rate_limits.check_answers(request.user, asked)
    try:
        opened = lifecycle.undo(asked, request.user)
    except lifecycle.AlreadySettled as late:
        return _too_late(request, late.question, undo_was_late=True)
    return _decided(request, opened)


@form
def answering(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    """Show the other viewers of the card that this person has begun to fill it in."""
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    if asked.is_open:
        hub.announce_answering(asked, request.user)
    return HttpResponse(status=204)


def _decided(request: HttpRequest, question: Question, *, is_repeated: bool = False) -> HttpResponse:
    """The card after a decision: settled, or still open because votes are missing or it can be undone.

    Only a form that is sent again can find corrections of its decision.
    """
    if not question.is_open:
        hub.yield_to_agents(question)
    if is_htmx(request):
        corrections = timeline.corrections_of([question])[question.pk] if is_repeated else ()
        return HttpResponse(cards.render_card(question, request.user.pk, corrections=corrections))
    address = reverse("ask_bridge:question", args=(question.room.slug, question.pk))
    return HttpResponseRedirect(with_way_back(request, address), status=303)


def _not_sent(
    request: HttpRequest,
    asked: Question,
    problem: InvalidPayload,
    drafts: Sequence[Draft] = (),
    words: str | None = None,
) -> HttpResponse:
    """Show the errors and keep the input."""
    if not asked.is_open or asked.is_held:
        return _too_late(request, asked, drafts, words)
    # Errors of a prompt are shown at it, all others above the button.
    places = [_field_of(error, asked) for error in problem.errors]
    at_fields = {place: error.message for place, error in zip(places, problem.errors, strict=True) if place}
    texts = [error.message for place, error in zip(places, problem.errors, strict=True) if not place]
    if is_htmx(request):
        return errors_response(cards.render_errors(asked, texts, at_fields), status=422)
    card = cards.render_draft(asked, texts, get_token(request), drafts, words, field_errors=at_fields)
    return _question_page(request, asked, card, status=422)


def _field_of(error: FieldError, asked: Question) -> str:
    """The field of the form that the error is about; empty if it is about none."""
    for index, prompt in enumerate(asked.prompts):
        if error.field == f'answers["{prompt["question"]}"]':
            return choice_field(index)
        if error.field == other_field(index):
            return other_field(index)
    return ""


def _too_late(
    request: HttpRequest,
    settled: Question,
    drafts: Sequence[Draft] = (),
    words: str | None = None,
    *,
    undo_was_late: bool = False,
) -> HttpResponse:
    """Show who decided what, and keep the input of this person."""
    card = cards.render_lost(
        settled,
        request.user.pk,
        drafts,
        words,
        get_token(request),
        corrections=timeline.corrections_of([settled])[settled.pk],
        undo_was_late=undo_was_late,
    )
    if is_htmx(request):
        return HttpResponse(card, status=409)
    return _question_page(request, settled, card, status=409)
