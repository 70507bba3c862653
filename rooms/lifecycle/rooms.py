"""Verbs of rooms: create, archive and restore."""

from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db.models.functions import Coalesce
from django.utils import timezone

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.db.transactions import writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.settling import withdraw_open
from rooms.models import EndReason, Membership, Room


def create_room(
    slug: str, *, name: str = "", is_open: bool = False, members: Iterable[AbstractBaseUser] = ()
) -> Room:
    """The room with this slug, created if there is none; adds the members that it lacks."""
    with writing():
        named = {"name": name or slug, "is_open": is_open}
        room, is_new = Room.objects.get_or_create(slug=slug, defaults=named)
        if is_new:
            audit.record(Action.ROOM_CREATED, room, audit.SYSTEM)
        for user in members:
            Membership.objects.get_or_create(room=room, user_id=user.pk)
    return room


def add_room(room: Room, by: Person) -> None:
    """Save a new room from a form."""
    with writing():
        room.save(force_insert=True)
        audit.record(Action.ROOM_CREATED, room, actor_of(by))


def close_questions_after(room: Room, seconds: int | None, by: Person | None = None) -> None:
    """Set after how many seconds without a waiting agent a question of the room is closed; None for never."""
    with writing():
        # Locks the row of the room: an agent that stops waiting meanwhile uses the new time.
        if Room.objects.select_for_update().get(pk=room.pk).close_after_seconds == seconds:
            return
        Room.objects.filter(pk=room.pk).update(close_after_seconds=seconds)
        last_seen = Coalesce("last_seen_at", "asked_at")
        closes_at = None if seconds is None else last_seen + timedelta(seconds=seconds)
        room.questions.unattended().update(closes_at=closes_at)
        audit.record(Action.ROOM_CHANGED, room, actor_of(by), close_after_seconds=seconds)
    room.close_after_seconds = seconds


def archive_room(room: Room, by: Person | None = None) -> None:
    """Close the room: its open questions are withdrawn, its keys stop working, its history stays."""
    with writing():
        if Room.objects.active().filter(pk=room.pk).update(archived_at=timezone.now()):
            audit.record(Action.ROOM_ARCHIVED, room, actor_of(by))
    withdraw_open(room.questions.all(), by, EndReason.ROOM_ARCHIVED)


def restore_room(room: Room, by: Person | None = None) -> None:
    """Open an archived room again: members see it, and keys that were not revoked work."""
    with writing():
        if Room.objects.filter(pk=room.pk, archived_at__isnull=False).update(archived_at=None):
            audit.record(Action.ROOM_RESTORED, room, actor_of(by))
