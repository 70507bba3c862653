"""Verbs of rooms: create, change, archive and restore."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models.functions import Coalesce

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.db import timezone
from rooms.db.transactions import writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.exceptions import NeedsNewerVersion
from rooms.lifecycle.settling import withdraw_open
from rooms.lifecycle.versions import check_room_understood
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


def add_room(room: Room, by: Person, *, is_manager: bool = False) -> None:
    """Save a new room from a form; its creator becomes its first manager if the form says so."""
    with writing():
        room.save(force_insert=True)
        audit.record(Action.ROOM_CREATED, room, actor_of(by))
        if is_manager:
            user_id: Any = by.pk
            with audit.acting_as(by):
                Membership.objects.create(room=room, user_id=user_id, role=Membership.Role.MANAGER)


def change_room(room: Room, fields: Collection[str], by: Person) -> None:
    """Save these fields of a room that a form has changed; `close_questions_after` has its own verb.

    NeedsNewerVersion rather than removing an option of care that this process does not know.
    """
    if not fields:
        return
    with writing():
        if "care" in fields:
            check_room_understood(Room.objects.only("care").get(pk=room.pk))
        # Only the edited fields: questions may increase the revision at the same time.
        room.save(update_fields=fields)
        changed = {name: getattr(room, name) for name in fields}
        audit.record(Action.ROOM_CHANGED, room, actor_of(by), **changed)


def close_questions_after(room: Room, seconds: int | None, by: Person | None = None) -> None:
    """Set after how many seconds without a waiting agent a question of the room is closed; None for never."""
    with writing():
        # Locks the row of the room: an agent that stops waiting meanwhile uses the new time.
        if Room.objects.select_for_update().get(pk=room.pk).close_after_seconds == seconds:
            return
        Room.objects.filter(pk=room.pk).update(close_after_seconds=seconds)
        last_seen = Coalesce("last_seen_at", "asked_at")
        closes_at = None if seconds is None else last_seen + timedelta(seconds=seconds)
        room.questions.open().unattended().update(closes_at=closes_at)
        audit.record(Action.ROOM_CHANGED, room, actor_of(by), close_after_seconds=seconds)
    room.close_after_seconds = seconds


def archive_room(room: Room, by: Person | None = None) -> None:
    """Close the room: its open questions are withdrawn, its keys stop working, its history stays."""
    with writing():
        if Room.objects.active().filter(pk=room.pk).update(archived_at=timezone.now()):
            audit.record(Action.ROOM_ARCHIVED, room, actor_of(by))
    with suppress(NeedsNewerVersion):  # a newer process ends what is left
        withdraw_open(room.questions.all(), by, EndReason.ROOM_ARCHIVED)


def restore_room(room: Room, by: Person | None = None) -> None:
    """Open an archived room again: members see it, and keys that were not revoked work."""
    with writing():
        if Room.objects.filter(pk=room.pk, archived_at__isnull=False).update(archived_at=None):
            audit.record(Action.ROOM_RESTORED, room, actor_of(by))
