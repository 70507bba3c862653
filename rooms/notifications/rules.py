"""Notification rules of people: channel, delay, per-room overrides, quiet hours.

Loaded for many people and rooms at once, because the planner and the outbox work in batches.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from rooms.db import timezone
from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Notice, NoticePreferences, NoticeRule, Preferences, Presence, Room
from rooms.models.notifications import AT_ONCE, OFF
from rooms.notifications.channels.registry import personal_channels
from rooms.people.presence import insiders

# The delays that the Settings page offers.
MINUTES = (OFF, AT_ONCE, 2, 5, 10, 15, 30, 60, 120, 240)


@dataclass(frozen=True)
class Rules:
    """The rules of some people for some rooms, loaded together."""

    preferences: dict[Any, NoticePreferences]
    room_rules: dict[tuple[Any, int], NoticeRule]
    muted: set[tuple[Any, int]]
    inside: dict[int, set[Any]]
    archived: set[int]
    present_until: dict[Any, datetime]

    def minutes(self, user_id: Any, room_id: int, channel: str) -> int:
        """The delay after the ask; or OFF."""
        if not self.may_see(user_id, room_id) or room_id in self.archived or (user_id, room_id) in self.muted:
            return OFF
        rule = self.room_rules.get((user_id, room_id))
        override = getattr(rule, channel) if rule else None
        return getattr(self.preferences_of(user_id), channel) if override is None else override

    def may_see(self, user_id: Any, room_id: int) -> bool:
        return user_id in self.inside.get(room_id, ())

    def preferences_of(self, user_id: Any) -> NoticePreferences:
        return self.preferences.get(user_id) or NoticePreferences(user_id=user_id)

    def after_quiet_hours(self, user_id: Any, at: datetime, kind: Notice.Kind) -> datetime:
        """This time, or the end of the quiet hours that it falls into."""
        chosen = self.preferences_of(user_id)
        if kind == Notice.Kind.ESCALATED and not chosen.escalations_wait:
            return at
        return end_of_quiet(chosen, at) or at


def rules_for(people: Mapping[Any, Any], rooms: Collection[Room]) -> Rules:
    """The rules of these people, by primary key; inactive users see no room and so get no notices."""
    active = {user_id: user for user_id, user in people.items() if user.is_active}
    of_people: dict[str, Any] = {"user__in": active}
    muted = Preferences.muted_rooms.through.objects.filter(preferences__in=active, room__in=rooms)
    now = timezone.now()
    return Rules(
        preferences={row.user_id: row for row in NoticePreferences.objects.filter(**of_people)},
        room_rules={
            (row.user_id, row.room_id): row for row in NoticeRule.objects.filter(**of_people, room__in=rooms)
        },
        muted=set(muted.values_list("preferences_id", "room_id")),
        inside=insiders(rooms, active),
        archived={room.pk for room in rooms if room.archived_at},
        present_until=dict(
            Presence.objects.filter(**of_people, until__gt=now).values_list("user_id", "until")
        ),
    )


# ---- quiet hours -----------------------------------------------------------------------------------------


def end_of_quiet(chosen: NoticePreferences, at: datetime) -> datetime | None:
    """When the quiet hours that contain this time end; None outside of quiet hours.

    In the person's local time: also over midnight, and in nights with a daylight-saving change.
    """
    begin, end = chosen.quiet_from, chosen.quiet_to
    if begin is None or end is None or begin == end:
        return None
    zone = zone_of(chosen)
    local = at.astimezone(zone)
    if not _is_between(local.time(), begin, end):
        return None
    # The next day only if the hours span midnight and it is still before midnight.
    day = local.date() + timedelta(days=1 if begin > end and local.time() >= begin else 0)
    return datetime.combine(day, end, tzinfo=zone)


def _is_between(now: time, begin: time, end: time) -> bool:
    return begin <= now < end if begin < end else now >= begin or now < end


def zone_of(chosen: NoticePreferences) -> Any:
    """The person's time zone, else the site's own; an unknown zone counts as not chosen."""
    try:
        return ZoneInfo(chosen.time_zone) if chosen.time_zone else timezone.get_default_timezone()
    except (ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def zones() -> list[str]:
    """Zones to choose from: those named by place, without legacy abbreviations."""
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


# ---- the rules of one person ---------------------------------------------------------------------------


def preferences_of(user: Person) -> NoticePreferences:
    """Unsaved defaults if the person never chose."""
    return NoticePreferences.objects.filter(pk=user.pk).first() or NoticePreferences(pk=user.pk)


def room_rules_of(user: Person) -> dict[int, NoticeRule]:
    """By room id."""
    return {rule.room_id: rule for rule in NoticeRule.objects.filter(user=user.pk)}


@writing()
def save(chosen: NoticePreferences, rules: Iterable[NoticeRule]) -> None:
    """Save what the person chose; a room rule that overrides nothing is deleted."""
    NoticePreferences.objects.update_or_create(
        pk=chosen.pk,
        defaults={
            field.name: getattr(chosen, field.name)
            for field in NoticePreferences._meta.fields
            if not field.primary_key
        },
    )
    for rule in rules:
        overrides = {channel.name: getattr(rule, channel.name) for channel in personal_channels()}
        key: dict[str, Any] = {"user_id": rule.user_id, "room_id": rule.room_id}
        if all(minutes is None for minutes in overrides.values()):
            NoticeRule.objects.filter(**key).delete()
        else:
            NoticeRule.objects.update_or_create(**key, defaults=overrides)
