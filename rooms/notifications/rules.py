"""When somebody wants to hear of a room's questions, by which way, and when not at all.

Read for many people and rooms at once: the background asks for all that is due together.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.utils import timezone

from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Notice, NoticePreferences, NoticeRule, Preferences, Presence, Room
from rooms.models.notifications import AT_ONCE, OFF
from rooms.people.presence import insiders

# What the pages offer: at once, while one still sits near, after a coffee, and before the day is lost.
MINUTES = (OFF, AT_ONCE, 2, 5, 10, 15, 30, 60, 120, 240)


@dataclass(frozen=True)
class Wishes:
    """What these people want of these rooms, as it is now."""

    preferences: dict[Any, NoticePreferences]
    rules: dict[tuple[Any, int], NoticeRule]
    muted: set[tuple[Any, int]]
    inside: dict[int, set[Any]]
    archived: set[int]
    present_until: dict[Any, datetime]

    def minutes(self, user_id: Any, room_id: int, channel: str) -> int:
        """How long after the ask; or OFF."""
        if not self.may_see(user_id, room_id) or room_id in self.archived or (user_id, room_id) in self.muted:
            return OFF
        rule = self.rules.get((user_id, room_id))
        own = getattr(rule, channel) if rule else None
        return getattr(self.of(user_id), channel) if own is None else own

    def may_see(self, user_id: Any, room_id: int) -> bool:
        return user_id in self.inside.get(room_id, ())

    def of(self, user_id: Any) -> NoticePreferences:
        return self.preferences.get(user_id) or NoticePreferences(user_id=user_id)

    def free_at(self, user_id: Any, at: datetime, kind: Notice.Kind) -> datetime:
        """This time, or the end of the quiet hours that it falls into."""
        chosen = self.of(user_id)
        if kind == Notice.Kind.ESCALATED and not chosen.escalations_wait:
            return at
        return end_of_quiet(chosen, at) or at


def wishes_of(people: dict[Any, Any], rooms: Collection[Room]) -> Wishes:
    """Of these people by their keys; who is not active any more wants nothing."""
    active = {user_id: user for user_id, user in people.items() if user.is_active}
    mine: dict[str, Any] = {"user__in": active}
    muted = Preferences.muted_rooms.through.objects.filter(preferences__in=active, room__in=rooms)
    now = timezone.now()
    return Wishes(
        preferences={row.user_id: row for row in NoticePreferences.objects.filter(**mine)},
        rules={(row.user_id, row.room_id): row for row in NoticeRule.objects.filter(**mine, room__in=rooms)},
        muted=set(muted.values_list("preferences_id", "room_id")),
        inside=insiders(rooms, active),
        archived={room.pk for room in rooms if room.archived_at},
        present_until=dict(Presence.objects.filter(**mine, until__gt=now).values_list("user_id", "until")),
    )


# ---- quiet hours -----------------------------------------------------------------------------------------


def end_of_quiet(chosen: NoticePreferences, at: datetime) -> datetime | None:
    """When the quiet hours around this time end; None if there are none around it.

    By the clock on the person's wall: also over midnight, and in the nights in which the clock is changed.
    """
    begin, end = chosen.quiet_from, chosen.quiet_to
    if begin is None or end is None or begin == end:
        return None
    zone = zone_of(chosen)
    here = at.astimezone(zone)
    if not _is_between(here.time(), begin, end):
        return None
    # Past midnight only if the hours begin before it and end after it.
    day = here.date() + timedelta(days=1 if begin > end and here.time() >= begin else 0)
    return datetime.combine(day, end, tzinfo=zone)


def _is_between(now: time, begin: time, end: time) -> bool:
    return begin <= now < end if begin < end else now >= begin or now < end


def zone_of(chosen: NoticePreferences) -> Any:
    """The person's time zone, else the site's own; one that is no longer known counts as not chosen."""
    try:
        return ZoneInfo(chosen.time_zone) if chosen.time_zone else timezone.get_default_timezone()
    except (ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def zones() -> list[str]:
    """What there is to choose from: places, not the abbreviations of other days."""
    areas = (
        "Africa/",
        "America/",
        "Antarctica/",
        "Asia/",
        "Atlantic/",
        "Australia/",
        "Europe/",
        "Indian/",
        "Pacific/",
    )
    return ["UTC", *sorted(name for name in available_timezones() if name.startswith(areas))]


# ---- what somebody chose ---------------------------------------------------------------------------------


def preferences_of(user: Person) -> NoticePreferences:
    """Not saved where they never chose."""
    return NoticePreferences.objects.filter(pk=user.pk).first() or NoticePreferences(pk=user.pk)


def rules_of(user: Person) -> dict[int, NoticeRule]:
    """By room."""
    return {rule.room_id: rule for rule in NoticeRule.objects.filter(user=user.pk)}


@writing()
def save(chosen: NoticePreferences, rules: Iterable[NoticeRule]) -> None:
    """Keep what the person chose; a rule that says nothing of its own is none."""
    NoticePreferences.objects.update_or_create(
        pk=chosen.pk,
        defaults={
            field.name: getattr(chosen, field.name)
            for field in NoticePreferences._meta.fields
            if not field.primary_key
        },
    )
    for rule in rules:
        own = {"push": rule.push, "mail": rule.mail}
        mine: dict[str, Any] = {"user_id": rule.user_id, "room_id": rule.room_id}
        if rule.push is None and rule.mail is None:
            NoticeRule.objects.filter(**mine).delete()
        else:
            NoticeRule.objects.update_or_create(**mine, defaults=own)
