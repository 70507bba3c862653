"""The notifications section of the Settings page: delays, room exceptions, quiet hours, devices."""

from dataclasses import dataclass
from datetime import time
from typing import Any

from django.http import Http404, HttpRequest
from django.utils.translation import get_language, gettext, ngettext

from rooms.access import rate_limits
from rooms.db import timezone
from rooms.db.transactions import writing
from rooms.models import Notice, NoticePreferences, NoticeRule, PushSubscription, Room
from rooms.models.notifications import AT_ONCE, OFF
from rooms.notifications import rules, samples
from rooms.notifications.channels import email, push
from rooms.notifications.channels.registry import personal_channels
from rooms.notifications.samples import Tried

# The form value of a room exception that keeps the general delay.
AS_ELSEWHERE = ""
# More rows than a person would add by hand come from a script.
MOST_RULES = 500


# ---- reading a form --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filled:
    """The submitted form; with errors, by field, nothing of it is saved."""

    chosen: NoticePreferences
    room_rules: list[NoticeRule]
    errors: dict[str, str]


def read(request: HttpRequest, rooms: list[Room]) -> Filled:
    """Read the form. An unknown value leaves the setting as it was; quiet hours need two times, or none."""
    chosen = rules.preferences_of(request.user)
    for name in _names():
        setattr(chosen, name, _minutes(request.POST.get(name), getattr(chosen, name)))
    chosen.quiet_from = _time(request.POST.get("quiet_from"))
    chosen.quiet_to = _time(request.POST.get("quiet_to"))
    zone = request.POST.get("time_zone", "")
    chosen.time_zone = zone if zone in rules.zones() else ""
    chosen.escalations_wait = "escalations_wait" in request.POST
    chosen.language = get_language() or ""
    return Filled(chosen, _room_rules(request, rooms), _errors(request, chosen))


def _errors(request: HttpRequest, chosen: NoticePreferences) -> dict[str, str]:
    errors = {}
    for name, other in (("quiet_from", "quiet_to"), ("quiet_to", "quiet_from")):
        if getattr(chosen, name) is not None:
            continue
        if request.POST.get(name, "").strip():
            errors[name] = gettext("Enter a time such as 22:00.")
        elif request.POST.get(other, "").strip():
            errors[name] = gettext("Enter this time too, or clear the other one.")
    return errors


def save(filled: Filled) -> None:
    rules.save(filled.chosen, filled.room_rules)


def _names() -> list[str]:
    """The channels with a delay: columns of `NoticePreferences` and `NoticeRule`, and fields of the form."""
    return [channel.name for channel in personal_channels()]


def _room_rules(request: HttpRequest, rooms: list[Room]) -> list[NoticeRule]:
    """One for each row of the form; of several rows for a room the last one counts."""
    by_slug = {room.slug: room for room in rooms}
    user_id: Any = request.user.pk
    columns = [request.POST.getlist(f"rule_{name}")[:MOST_RULES] for name in ("room", *_names())]
    return [
        NoticeRule(
            user_id=user_id,
            room=by_slug[slug],
            # AS_ELSEWHERE is not one of `rules.MINUTES`, so it becomes None.
            **{name: _minutes(value, None) for name, value in zip(_names(), values, strict=True)},
        )
        for slug, *values in zip(*columns, strict=False)
        if slug in by_slug
    ]


def _minutes(text: str | None, default: Any) -> Any:
    offered = {str(minutes): minutes for minutes in rules.MINUTES}
    return offered.get(text or "", default)


def _time(text: str | None) -> time | None:
    try:
        return time.fromisoformat(text or "").replace(tzinfo=None)
    except ValueError:
        return None


# ---- showing it ------------------------------------------------------------------------------------------


def section(request: HttpRequest, rooms: list[Room], filled: Filled | None = None) -> dict[str, Any]:
    """The template context: saved values, or those of a submitted form with errors."""
    chosen = filled.chosen if filled else rules.preferences_of(request.user)
    own = filled.room_rules if filled else rules.room_rules_of(request.user).values()
    room_rules = {rule.room_id: rule for rule in own}
    return {
        "notices": chosen,
        "errors": filled.errors if filled else {},
        "minutes": [(str(minutes), in_words(minutes)) for minutes in rules.MINUTES],
        **{f"{name}_chosen": str(getattr(chosen, name)) for name in _names()},
        "push_key": push.public_key(),
        "devices": PushSubscription.objects.filter(user=request.user.pk),
        "mails_are_possible": email.is_configured(),
        "mail_address": email.address_of(request.user),
        "rules": [_rule_row(room, room_rules[room.pk]) for room in rooms if room.pk in room_rules],
        "rooms_without_rule": [room for room in rooms if room.pk not in room_rules],
        "zones": rules.zones(),
        "site_zone": timezone.get_default_timezone_name(),
    }


def _rule_row(room: Room, rule: NoticeRule) -> dict[str, Any]:
    def value(minutes: int | None) -> str:
        return AS_ELSEWHERE if minutes is None else str(minutes)

    return {"room": room, **{name: value(getattr(rule, name)) for name in _names()}}


def in_words(minutes: int) -> str:
    if minutes == OFF:
        return gettext("Off")
    if minutes == AT_ONCE:
        return gettext("Immediately")
    if minutes % 60:
        return ngettext("After %(count)s minute", "After %(count)s minutes", minutes) % {"count": minutes}
    hours = minutes // 60
    return ngettext("After %(count)s hour", "After %(count)s hours", hours) % {"count": hours}


# ---- devices ---------------------------------------------------------------------------------------------


def change_devices(request: HttpRequest) -> str:
    """Add this browser, or remove the named device; returns an error sentence, or an empty text."""
    if "remove" in request.POST:
        number = request.POST["remove"]
        own = PushSubscription.objects.filter(user=request.user.pk)
        with writing():
            is_removed = number.isascii() and number.isdecimal() and own.filter(pk=number[:18]).delete()[0]
        if not is_removed:
            raise Http404("There is no such device.")
        return ""
    subscription, user_agent = request.POST.get("subscription", ""), request.headers.get("User-Agent", "")
    try:
        with writing():
            push.add_device(request.user, subscription, user_agent)
            # A person who saves no other setting gets notifications in the language of this page, too.
            defaults = {"language": get_language() or ""}
            NoticePreferences.objects.get_or_create(pk=request.user.pk, defaults=defaults)
    except push.NotADevice as problem:
        return str(problem)
    return ""


# ---- tests -----------------------------------------------------------------------------------------------


def try_out(request: HttpRequest) -> Tried:
    """Queue a test for the channel that the form names, or say why that is impossible."""
    rate_limits.check_tests(request.user)
    channels = {channel.name: channel for channel in personal_channels()}
    channel = channels[name if (name := request.POST.get("channel")) in channels else Notice.Channel.PUSH]
    recipients = channel.recipients_of({request.user.pk: request.user})
    now = timezone.now()
    tests = [recipient.notice(Notice.Kind.TEST, None, now) for recipient in recipients]
    return (
        samples.queue(tests) if tests else {"channel": channel.name, "problem": channel.no_recipient_text()}
    )
