"""The inbox: the open questions of all rooms of a person."""

from itertools import islice

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from rooms import access, lifecycle
from rooms.models import Question
from rooms.pages.open_cards import number_in, open_cards
from rooms.web import base_context, form, page

# The most questions that one click closes: each is a transaction, and the request must not take too long.
CLOSE_LIMIT = 500


@page
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    rooms = list(access.visible_rooms(request.user))
    questions = Question.objects.with_answer().filter(room__in=rooms)
    attended = questions.attended().order_by("-agent_active", "asked_at")
    unattended = questions.unattended().order_by("asked_at")
    base = base_context(request, rooms)
    for_others, standing = base["locked"].condition, base["standing"]
    unattended_cards = open_cards(request, unattended, standing)
    context = {
        **base,
        "page": "inbox",
        **open_cards(request, attended.exclude(for_others), standing),
        "others": open_cards(request, attended.filter(for_others), standing),
        "unattended": unattended_cards,
        "unattended_rest": unattended_cards["open_total"] - len(unattended_cards["cards"]),
        "closed": number_in(request, "closed"),
        "close_limit": CLOSE_LIMIT,
    }
    return render(request, "ask_bridge/inbox.html", context)


@form
def close_unattended(request: HttpRequest) -> HttpResponse:
    """Close the questions without a waiting agent that this person may decide."""
    unattended = Question.objects.unattended().order_by("asked_at")
    affected = access.visible_rooms(request.user).filter(pk__in=unattended.order_by().values("room"))
    rooms = [room for room in affected if access.may_answer(request.user, room)]
    decidable = (
        question
        for question in unattended.select_related("room").filter(room__in=rooms)
        if lifecycle.may_decide(question, request.user)
    )
    closed = lifecycle.close_unattended(list(islice(decidable, CLOSE_LIMIT)), by=request.user)
    return HttpResponseRedirect(f"{reverse('ask_bridge:inbox')}?closed={closed}", status=303)
