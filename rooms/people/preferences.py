"""Page preferences of each person; before the first save there are defaults, and no row."""

from collections.abc import Collection
from typing import Any

from rooms.db.compiled import Select, key_of
from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Preferences, Room

# What a person can choose. Longer ones would only make agents wait: then a correction is the better way.
UNDO_SECONDS = (0, 5, 10, 30)
# Read with each answer from a page.
CHOSEN_UNDO: Select[Any] = Select(lambda user: Preferences.objects.filter(pk=user), "undo_seconds")


def preferences_of(user: Person) -> Preferences:
    """The person's preferences, in one query; an unsaved instance if they have none."""
    return Preferences.objects.filter(pk=user.pk).first() or Preferences(pk=user.pk)


def muted_room_ids(chosen: Preferences) -> set[int]:
    """The rooms that this person muted."""
    if chosen._state.adding:
        return set()  # never saved: no query needed
    muted = Preferences.muted_rooms.through.objects.filter(preferences=chosen)
    return set(muted.values_list("room_id", flat=True))


def undo_seconds_of(user: Person) -> int:
    """For how long this person's own answers can be undone."""
    (seconds,) = CHOSEN_UNDO.first(user=key_of(user)) or (0,)
    return seconds


def read_undo_seconds(text: str) -> int:
    """The chosen undo window of a form; 0 for anything that is not offered."""
    return int(text) if text in map(str, UNDO_SECONDS) else 0


@writing()
def save(
    user: Person,
    *,
    always_submit: bool,
    one_tap: bool,
    keyboard: bool,
    notify: bool,
    theme: str,
    undo_seconds: int,
    rooms: Collection[Room],
    muted_slugs: Collection[str],
) -> None:
    """Save the preferences. Rooms that the form did not show, such as archived ones, stay as they are."""
    chosen = {
        "always_submit": always_submit,
        "one_tap": one_tap,
        "keyboard": keyboard,
        "notify": notify,
        "theme": theme,
        "undo_seconds": undo_seconds,
    }
    saved, _ = Preferences.objects.update_or_create(pk=user.pk, defaults=chosen)
    saved.muted_rooms.add(*(room for room in rooms if room.slug in muted_slugs))
    saved.muted_rooms.remove(*(room for room in rooms if room.slug not in muted_slugs))


def mute(user: Person, room: Room, is_muted: bool) -> None:
    """Mute the room for this person, or unmute it."""
    saved, _ = Preferences.objects.get_or_create(pk=user.pk)
    if is_muted:
        saved.muted_rooms.add(room)
    else:
        saved.muted_rooms.remove(room)
