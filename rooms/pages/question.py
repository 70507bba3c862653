"""The page of one question and its forms: answer, skip, ask back, undo, "is answering"."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from rooms import access, lifecycle
from rooms.access import locks, rate_limits
from rooms.contract.choices import check_reply
from rooms.contract.forms import Draft, SkipForm, as_choices, other_field, read_drafts, read_reply
from rooms.contract.prompts import parse_prompts
from rooms.contract.types import FieldError, InvalidPayload
from rooms.history import views as history_views
from rooms.live.hub import hub
from rooms.models import Answer, Question
from rooms.rendering import cards, markup
from rooms.rendering.record import Record
from rooms.web import base_context, errors_response, form, is_htmx, page


@page
@require_safe
def question(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    lock = locks.lock_on(asked, locks.standing_of(request.user, [asked.room]))
    card = cards.card_of(asked, request.user.pk, lock)
    return _question_page(request, asked, cards.render_whole(card, get_token(request)))


def _question_page(request: HttpRequest, asked: Question, card: str, status: int = 200) -> HttpResponse:
    address = reverse("ask_bridge:question", args=(asked.room.slug, asked.pk))
    # Set by links in the history: the search to go back to.
    found_by = request.GET.get("search")
    context = {
        **base_context(request, room=asked.room),
        "card": card,
        "record": Record(cards.card_of(asked, request.user.pk)),
        "address": f"{address}?{request.GET.urlencode()}" if request.GET else address,
        "search_address": None if found_by is None else history_views.search_address(found_by, asked.pk),
    }
    return render(request, "ask_bridge/question_detail.html", context, status=status)


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
    """Undo a decision that the agent has not received yet."""
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
    """Show the other viewers of the card that this person has begun to fill it in."""
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    if asked.is_open:
        hub.announce_answering(asked, request.user)
    return HttpResponse(status=204)


def _decided(request: HttpRequest, question: Question) -> HttpResponse:
    """The card after a decision: settled, or still open because votes are missing or it can be undone."""
    if not question.is_open:
        hub.yield_to_agents(question)
    if is_htmx(request):
        return HttpResponse(cards.render_card(question, request.user.pk))
    response = redirect("ask_bridge:question", question.room.slug, question.pk)
    response.status_code = 303
    return response


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
    # Errors of a text field are shown beside it, all others above the button.
    fields = {other_field(index) for index in range(len(asked.prompts))}
    at_fields = {error.field: error.message for error in problem.errors if error.field in fields}
    texts = [_in_words(error, asked) for error in problem.errors if error.field not in fields]
    if is_htmx(request):
        return errors_response(asked.pk, cards.render_errors(asked, texts, at_fields), status=422)
    card = cards.render_draft(asked, texts, get_token(request), drafts, words, field_errors=at_fields)
    return _question_page(request, asked, card, status=422)


def _in_words(error: FieldError, asked: Question) -> str:
    """The error message, with the name of the prompt if there are several."""
    for prompt in asked.prompts if len(asked.prompts) > 1 else ():
        if prompt["question"] in error.field:
            named = {"prompt": markup.plain(prompt["header"] or prompt["question"]), "problem": error.message}
            return gettext("%(prompt)s: %(problem)s") % named
    return error.message


def _too_late(
    request: HttpRequest, settled: Question, drafts: Sequence[Draft] = (), words: str | None = None
) -> HttpResponse:
    """Show who decided what, and keep the input of this person."""
    card = cards.render_lost(settled, request.user.pk, drafts, words, get_token(request))
    if is_htmx(request):
        return HttpResponse(card, status=409)
    return _question_page(request, settled, card, status=409)
