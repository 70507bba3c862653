"""The form of a decided card that writes to its agent: a correction, or words that came too late."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.utils.translation import gettext

from rooms import access, lifecycle, timeline
from rooms.access import rate_limits
from rooms.contract.forms import MessageForm, read_nonce
from rooms.models import Question
from rooms.pages.question import _question_page
from rooms.rendering import cards
from rooms.web import form, is_htmx, sentences


@form
def correct(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    access.check_may_answer(request.user, asked.room)
    form = MessageForm(request.POST)
    if not form.is_valid():
        return _not_sent(request, asked, [str(text).rstrip(".") for text in form.errors["content"]])
    rate_limits.check_messages(request.user)
    content = form.cleaned_data["content"].replace("\r\n", "\n")
    try:
        lifecycle.correct(asked, request.user, content, read_nonce(request.POST))
    except lifecycle.NotDecided as undone:
        return _not_sent(request, undone.question, [gettext("The question is open again: answer it instead")])
    return _sent(request, asked)


def _sent(request: HttpRequest, asked: Question) -> HttpResponse:
    """The corrections with a new form; in the place of words that came too late, that they were sent."""
    if not is_htmx(request):
        response = redirect("ask_bridge:question", asked.room.slug, asked.pk)
        response.status_code = 303
        return response
    if request.headers.get("HX-Target") == f"lost-{asked.pk}":
        return render(request, "ask_bridge/_card_lost_sent.html")
    card = cards.card_of(asked, request.user.pk)
    corrections = timeline.corrections_of([asked])[asked.pk]
    return HttpResponse(cards.render_corrections(card, corrections, is_sent=True))


def _not_sent(request: HttpRequest, asked: Question, texts: list[str]) -> HttpResponse:
    """Show the errors beside the form and keep the text."""
    if is_htmx(request):
        return sentences(texts, status=422)
    words, token = request.POST.get("content", ""), get_token(request)
    if asked.is_open:
        html = cards.render_draft(asked, texts, token, words=words, field_errors={})
    else:
        card = replace(cards.card_of(asked, request.user.pk), errors=texts, correction=words)
        html = cards.render_whole(card, token, timeline.corrections_of([asked])[asked.pk])
    return _question_page(request, asked, html, status=422)
