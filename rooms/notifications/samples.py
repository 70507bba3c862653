"""Test notifications that people send to themselves or to a webhook, and their results as shown on pages."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from rooms.access import rate_limits
from rooms.db import timezone
from rooms.models import Notice
from rooms.notifications import outbox
from rooms.notifications.channels.push import DEVICES_PER_PERSON
from rooms.notifications.channels.registry import channel_of
from rooms.web import page, retry_later, too_many_in_words

# A delivery takes seconds. If no process sends notifications, the page stops polling after this time.
POLLED_FOR = timedelta(minutes=1)

# The template context of a result.
Tried = dict[str, Any]


def queue(rows: list[Notice]) -> Tried:
    """Queue these test notices; the page polls until their results are known."""
    return in_words(outbox.queue_tests(rows))


def of_page(request: HttpRequest) -> Tried:
    """The result of the tests that the URL names; empty if none of them belongs to this person."""
    ids = request.GET.getlist("test")[:DEVICES_PER_PERSON]
    own = Notice.objects.filter(kind=Notice.Kind.TEST, user=request.user.pk, pk__in=ids) if ids else ()
    found = list(own)
    return in_words(found) if found else {}


def in_words(tests: list[Notice]) -> Tried:
    """The result of tests that were queued together."""
    first = tests[0]
    query = urlencode([("test", test.pk) for test in tests])
    tried: Tried = {"channel": first.channel, "webhook": first.webhook_id, "query": query}
    if any(test.is_waiting for test in tests):
        is_late = first.created_at < timezone.now() - POLLED_FOR
        if is_late:
            return {**tried, "problem": gettext("Not sent yet. Reload the page to check again.")}
        return {**tried, "is_waiting": True}
    if errors := [test.last_error for test in tests if not test.sent_at]:
        return {**tried, "problem": " ".join(errors)}
    return {**tried, "said": channel_of(first).success_text(tests)}


@page
@require_safe
def tried(request: HttpRequest) -> HttpResponse:
    """The result alone, for an open page that polls."""
    outcome = of_page(request)
    if not outcome:
        raise Http404("There is no such test.")
    return part(request, outcome)


def part(request: HttpRequest, outcome: Tried) -> HttpResponse:
    return render(request, "ask_bridge/_tried.html", {"tried": outcome})


def too_many(request: HttpRequest, over: rate_limits.TooMany) -> HttpResponse:
    """The response to a person who exceeds the rate limit."""
    outcome = {"problem": f"{too_many_in_words(over)}."}
    return retry_later(render(request, "ask_bridge/_tried.html", {"tried": outcome}, status=429), over)
