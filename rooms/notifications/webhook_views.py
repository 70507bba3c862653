"""The webhooks page of a room, for its managers; for other people it does not exist (404)."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from rooms import access
from rooms.access import rate_limits
from rooms.conf import setting
from rooms.db import timezone
from rooms.models import Notice, Room, Webhook
from rooms.notifications import safe_http, samples, webhooks
from rooms.notifications.channels import webhook as channel
from rooms.web import base_context, form, is_htmx, page

# A week: a longer delay is most likely a mistake.
MOST_MINUTES = 7 * 24 * 60


class WebhookForm(forms.ModelForm):
    # `webhooks.add` validates it and stores it encrypted.
    url = forms.CharField(label=_("Address"), max_length=1000)
    after_minutes = forms.IntegerField(min_value=0, max_value=MOST_MINUTES, required=False)

    class Meta:
        model = Webhook
        fields = ("label", "kind", "on_asked", "on_settled", "after_minutes")

    def clean_after_minutes(self) -> int:
        return self.cleaned_data["after_minutes"] or 0

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not cleaned.get("on_asked") and not cleaned.get("on_settled"):
            raise forms.ValidationError(gettext("Choose at least one event."))
        return cleaned


@page
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks_page(request: HttpRequest, room: str) -> HttpResponse:
    own_room = _own_room(request, room)
    if request.method == "POST":
        return _add(request, own_room)
    return _page(request, own_room, form=WebhookForm(), tried=samples.of_page(request))


def _add(request: HttpRequest, room: Room) -> HttpResponse:
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, room, status=422, form=form)
    try:
        webhook, secret = webhooks.add(room, request.user, **form.cleaned_data)
    except safe_http.Refused as problem:
        form.add_error("url", str(problem))
    except webhooks.TooManyWebhooks:
        form.add_error(None, gettext("This room has too many webhooks: remove one first."))
    else:
        # Shown in this reply and never again.
        secret = secret if webhook.kind == Webhook.Kind.JSON else ""
        return _page(request, room, form=WebhookForm(), added=webhook, secret=secret)
    return _page(request, room, status=422, form=form)


@form
def try_out(request: HttpRequest, room: str) -> HttpResponse:
    """Queue a test for the webhook; the page shows its result."""
    webhook = _own_webhook(request, _own_room(request, room))
    try:
        rate_limits.check_tests(request.user)
    except rate_limits.TooMany as over:
        if is_htmx(request):
            return samples.too_many(request, over)
        raise
    recipient = channel.recipient(webhook, request.user)
    tried = samples.queue([recipient.notice(Notice.Kind.TEST, None, timezone.now())])
    if is_htmx(request):
        return samples.part(request, tried)
    page = f"{reverse('ask_bridge:webhooks', args=(room,))}?{tried['query']}#ab-webhook-{webhook.pk}"
    return HttpResponseRedirect(page, status=303)


@form
def switch(request: HttpRequest, room: str) -> HttpResponse:
    """Enable or disable. The form names the new state, so that pressing the button twice does not undo it."""
    webhook = _own_webhook(request, _own_room(request, room))
    webhooks.switch(webhook, request.user, is_enabled=request.POST.get("enabled") == "on")
    return redirect("ask_bridge:webhooks", room)


@form
def remove(request: HttpRequest, room: str) -> HttpResponse:
    webhooks.remove(_own_webhook(request, _own_room(request, room)), request.user)
    return redirect("ask_bridge:webhooks", room)


def _own_room(request: HttpRequest, slug: str) -> Room:
    room = access.room_for(request.user, slug)
    if not access.may_manage(request.user, room):
        raise Http404("There is no such room.")
    return room


def _own_webhook(request: HttpRequest, room: Room) -> Webhook:
    number = request.POST.get("webhook", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    webhook = room.webhooks.filter(pk=number).first() if is_number else None
    if webhook is None:
        raise Http404("There is no such webhook.")
    return webhook


def _page(request: HttpRequest, room: Room, status: int = 200, **context: Any) -> HttpResponse:
    context |= base_context(request, room=room)
    context |= {
        "webhooks": [{"webhook": one, "last": webhooks.last_attempted(one)} for one in room.webhooks.all()],
        "knows_itself": bool(setting("ORIGIN")),
    }
    return render(request, "ask_bridge/webhooks.html", context, status=status)
