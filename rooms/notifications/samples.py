"""Test notifications: queued with all others, and what came of them in a sentence."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from rooms.access import rate_limits
from rooms.models import Notice
from rooms.notifications import outbox, planner
from rooms.notifications.channels.push import DEVICES_PER_PERSON
from rooms.web import page, retry_later, too_many_in_words

# A delivery takes seconds; where no process sends notifications, a page would look again without end.
LOOKED_AFTER = timedelta(minutes=1)

Tried = dict[str, Any]


def queue(rows: list[Notice]) -> Tried:
    """Let them be sent; the page looks again until it is known what came of them."""
    return in_words(outbox.queue_tests(rows))


def of_page(request: HttpRequest) -> Tried:
    """The outcome of the tests that the address names; nothing where it names none of this person's."""
    ids = request.GET.getlist("test")[:DEVICES_PER_PERSON]
    own = Notice.objects.filter(kind=Notice.Kind.TEST, user=request.user.pk, pk__in=ids) if ids else ()
    found = list(own)
    return in_words(found) if found else {}


def in_words(tests: list[Notice]) -> Tried:
    """What came of tests that were queued together."""
    first = tests[0]
    query = urlencode([("test", test.pk) for test in tests])
    tried: Tried = {"channel": first.channel, "webhook": first.webhook_id, "query": query}
    if any(test.is_waiting for test in tests):
        is_late = first.created_at < timezone.now() - LOOKED_AFTER
        if is_late:
            return {**tried, "problem": gettext("Not sent yet. Reload the page to check again.")}
        return {**tried, "is_waiting": True}
    if wrong := [test.last_error for test in tests if not test.sent_at]:
        return {**tried, "problem": " ".join(wrong)}
    return {**tried, "said": _success(first, len(tests))}


def _success(test: Notice, count: int) -> str:
    match test.channel:
        case Notice.Channel.WEBHOOK:
            return gettext("Sent and accepted.")
        case Notice.Channel.MAIL:
            return gettext("Sent to %(address)s.") % {"address": planner.address_of(test.user)}
        case _:
            said = ngettext("Sent to %(count)s device.", "Sent to %(count)s devices.", count)
            return said % {"count": count}


@page
@require_safe
def tried(request: HttpRequest) -> HttpResponse:
    """The sentence alone, for a page that is open and looks again."""
    outcome = of_page(request)
    if not outcome:
        raise Http404("There is no such test.")
    return part(request, outcome)


def part(request: HttpRequest, outcome: Tried) -> HttpResponse:
    return render(request, "ask_bridge/_tried.html", {"tried": outcome})


def too_many(request: HttpRequest, over: rate_limits.TooMany) -> HttpResponse:
    """The same for a person who sends too many."""
    outcome = {"problem": f"{too_many_in_words(over)}."}
    return retry_later(render(request, "ask_bridge/_tried.html", {"tried": outcome}, status=429), over)
