"""The part of the Settings page about notifications beyond the page: what is wanted, and on which devices."""

from dataclasses import dataclass
from datetime import time
from typing import Any

from django.http import Http404, HttpRequest
from django.utils import timezone
from django.utils.translation import get_language, gettext, ngettext

from rooms.access import rate_limits
from rooms.db.transactions import writing
from rooms.models import Notice, NoticePreferences, NoticeRule, PushSubscription, Room
from rooms.models.notifications import AT_ONCE, OFF
from rooms.notifications import planner, samples
from rooms.notifications import rules as wishes
from rooms.notifications.channels import email
from rooms.notifications.channels import push as webpush
from rooms.notifications.samples import Tried

AS_ELSEWHERE = ""
# Of nobody's hands: more rows than this come from a script.
MOST_RULES = 500


# ---- reading a form --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filled:
    """The form as it was filled in; with errors, by field, nothing of it is saved."""

    chosen: NoticePreferences
    rules: list[NoticeRule]
    errors: dict[str, str]


def read(request: HttpRequest, rooms: list[Room]) -> Filled:
    """What is not on offer stays as it was; quiet hours need two times, or none."""
    chosen = wishes.preferences_of(request.user)
    chosen.push = _minutes(request.POST.get("push"), chosen.push)
    chosen.mail = _minutes(request.POST.get("mail"), chosen.mail)
    chosen.quiet_from = _time(request.POST.get("quiet_from"))
    chosen.quiet_to = _time(request.POST.get("quiet_to"))
    zone = request.POST.get("time_zone", "")
    chosen.time_zone = zone if zone in wishes.zones() else ""
    chosen.escalations_wait = "escalations_wait" in request.POST
    chosen.language = get_language() or ""
    return Filled(chosen, _rules(request, rooms), _errors(request, chosen))


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
    wishes.save(filled.chosen, filled.rules)


def _rules(request: HttpRequest, rooms: list[Room]) -> list[NoticeRule]:
    """One for each room that the form names; the last word on a room counts."""
    by_slug = {room.slug: room for room in rooms}
    user_id: Any = request.user.pk
    columns = [request.POST.getlist(name)[:MOST_RULES] for name in ("rule_room", "rule_push", "rule_mail")]
    return [
        NoticeRule(
            user_id=user_id,
            room=by_slug[slug],
            push=None if push == AS_ELSEWHERE else _minutes(push, None),
            mail=None if mail == AS_ELSEWHERE else _minutes(mail, None),
        )
        for slug, push, mail in zip(*columns, strict=False)
        if slug in by_slug
    ]


def _minutes(text: str | None, otherwise: Any) -> Any:
    offered = {str(minutes): minutes for minutes in wishes.MINUTES}
    return offered.get(text or "", otherwise)


def _time(text: str | None) -> time | None:
    try:
        return time.fromisoformat(text or "").replace(tzinfo=None)
    except ValueError:
        return None


# ---- showing it ------------------------------------------------------------------------------------------


def section(request: HttpRequest, rooms: list[Room], filled: Filled | None = None) -> dict[str, Any]:
    """What the template shows of it: as it is saved, or as it was filled in."""
    chosen = filled.chosen if filled else wishes.preferences_of(request.user)
    rules = {rule.room_id: rule for rule in filled.rules} if filled else wishes.rules_of(request.user)
    return {
        "notices": chosen,
        "errors": filled.errors if filled else {},
        "minutes": [(str(minutes), in_words(minutes)) for minutes in wishes.MINUTES],
        "push_chosen": str(chosen.push),
        "mail_chosen": str(chosen.mail),
        "push_key": webpush.public_key(),
        "devices": PushSubscription.objects.filter(user=request.user.pk),
        "mails_are_possible": email.are_possible(),
        "mail_address": planner.address_of(request.user),
        "rules": [_rule_row(room, rules[room.pk]) for room in rooms if room.pk in rules],
        "rooms_without_rule": [room for room in rooms if room.pk not in rules],
        "zones": wishes.zones(),
        "site_zone": timezone.get_default_timezone_name(),
    }


def _rule_row(room: Room, rule: NoticeRule) -> dict[str, Any]:
    def value(minutes: int | None) -> str:
        return AS_ELSEWHERE if minutes is None else str(minutes)

    return {"room": room, "push": value(rule.push), "mail": value(rule.mail)}


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
    """Add the browser that sends this, or remove the device that is named; what is wrong, if anything."""
    if "remove" in request.POST:
        number = request.POST["remove"]
        own = PushSubscription.objects.filter(user=request.user.pk)
        with writing():
            is_removed = number.isascii() and number.isdecimal() and own.filter(pk=number[:18]).delete()[0]
        if not is_removed:
            raise Http404("There is no such device.")
        return ""
    said, user_agent = request.POST.get("subscription", ""), request.headers.get("User-Agent", "")
    try:
        with writing():
            webpush.add_device(request.user, said, user_agent)
            # Who changes nothing else is called in the language of this page, too.
            defaults = {"language": get_language() or ""}
            NoticePreferences.objects.get_or_create(pk=request.user.pk, defaults=defaults)
    except webpush.NotADevice as problem:
        return str(problem)
    return ""


# ---- trying it -------------------------------------------------------------------------------------------


def try_out(request: HttpRequest) -> Tried:
    """Queue a test for the way that the form names, or say why there is none."""
    rate_limits.check_tests(request.user)
    if request.POST.get("channel") == Notice.Channel.MAIL:
        return _try_mail(request.user)
    return _try_push(request.user)


def _try_mail(user: Any) -> Tried:
    if not planner.address_of(user):
        return {"channel": "mail", "problem": gettext("Your account has no e-mail address.")}
    return samples.queue([planner.mail_row(Notice.Kind.TEST, None, user, timezone.now())])


def _try_push(user: Any) -> Tried:
    devices = list(PushSubscription.objects.filter(user=user))
    if not devices:
        return {"channel": "push", "problem": gettext("Add a device first.")}
    now = timezone.now()
    return samples.queue([planner.push_row(Notice.Kind.TEST, None, device, now) for device in devices])
