"""Answers from the buttons of a push notification. The replies are what service-worker.js shows next.

The worker has no page and so no CSRF token: it reads one here first, with the session of the browser.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.access import rate_limits
from rooms.contract.forms import as_choices, read_drafts
from rooms.contract.prompts import parse_prompts
from rooms.contract.types import InvalidPayload
from rooms.live.hub import hub
from rooms.models import Answer, Question
from rooms.notifications.actions import offered_labels
from rooms.people import preferences
from rooms.rendering.cards import card_of
from rooms.web import base_context, needs_newer_version_in_words, page, too_many_in_words


@page
@require_http_methods(["GET", "POST"])
def push_answer(request: HttpRequest, room: str, question_id: str) -> HttpResponse:
    asked = access.question_for(request.user, room, question_id)
    if request.method == "GET":
        return JsonResponse({"token": get_token(request)})
    if asked.is_open and not asked.is_held and not offered_labels(asked, request.user):
        return _not_answered(asked, gettext("Open the card to answer this question."), status=422)
    prompts = parse_prompts(asked.prompts)
    undo_seconds = preferences.undo_seconds_of(request.user)
    try:
        choices = as_choices(prompts, read_drafts(prompts, request.POST))
        access.check_may_answer(request.user, asked.room)
        rate_limits.check_answers(request.user, asked, undo_seconds)
        decided = lifecycle.answer(
            asked, choices, via=Answer.Via.WEB, user=request.user, undo_seconds=undo_seconds
        )
    except InvalidPayload as problem:
        return _not_answered(asked, problem.errors[0].message, status=422)
    except access.MayNotAnswer:
        return _not_answered(asked, gettext("You can read this room, but not answer in it"), status=422)
    except lifecycle.NotTheirTurn:
        sentence = gettext("Only the people named on the card can decide this question")
        return _not_answered(asked, sentence, status=422)
    except lifecycle.NeedsNewerVersion:
        return _not_answered(asked, needs_newer_version_in_words(), status=503)
    except rate_limits.TooMany as over:
        return _not_answered(asked, too_many_in_words(over), status=429)
    except lifecycle.AlreadySettled as late:
        if not lifecycle.is_own_answer(late.question, request.user, choices):
            return _too_late(request, late.question)
        decided = late.question
    return _answered(request, decided)


def _notification(
    question: Question, title: str, body: str, url: str = "", status: int = 200
) -> HttpResponse:
    address = reverse("ask_bridge:question", args=(question.room.slug, question.pk))
    return JsonResponse({"title": title, "body": body, "url": url or address}, status=status)


def _answered(request: HttpRequest, decided: Question) -> HttpResponse:
    """What was chosen, and how many questions wait; a click opens the next one, or the card to undo it."""
    if not decided.is_open:
        hub.yield_to_agents(decided)
    choice = card_of(decided, request.user.pk).prompts[0].summary
    title = gettext("Answered: %(choice)s") % {"choice": choice}
    if decided.is_held:
        return _notification(decided, title, gettext("Open the card to undo it."))
    following, count = _waiting(request)
    if following is None:
        return _notification(decided, title, gettext("Nothing is waiting for you."))
    body = ngettext("Next: %(count)s waiting", "Next: %(count)s waiting", count) % {"count": count}
    return _notification(decided, title, body, f"{reverse('ask_bridge:inbox')}?question={following.pk}")


def _waiting(request: HttpRequest) -> tuple[Question | None, int]:
    """The question that needs this person and waits longest, and how many there are, without muted rooms."""
    rooms = list(access.visible_rooms(request.user))
    base = base_context(request, rooms)
    calling = [room for room in rooms if room.pk not in base["muted_room_ids"]]
    needed = Question.objects.attended().filter(room__in=calling).exclude(base["locked"].condition)
    return needed.order_by("asked_at").first(), base["calling_total"]


def _too_late(request: HttpRequest, settled: Question) -> HttpResponse:
    """Who decided what."""
    card = card_of(settled, request.user.pk)
    body = ": ".join(filter(None, [card.outcome.text, card.prompts[0].summary]))
    return _notification(settled, gettext("Your answer came too late"), body, status=409)


def _not_answered(asked: Question, sentence: str, status: int) -> HttpResponse:
    return _notification(asked, gettext("Not answered"), sentence, status=status)
