"""Page preferences of each person; before the first save there are defaults, and no row."""

from collections.abc import Collection

from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Preferences, Room


def preferences_of(user: Person) -> Preferences:
    """The person's preferences, in one query; an unsaved instance if they have none."""
    return Preferences.objects.filter(pk=user.pk).first() or Preferences(pk=user.pk)


def muted_room_ids(chosen: Preferences) -> set[int]:
    """The rooms that this person muted."""
    if chosen._state.adding:
        return set()  # never saved: no query needed
    muted = Preferences.muted_rooms.through.objects.filter(preferences=chosen)
    return set(muted.values_list("room_id", flat=True))


@writing()
def save(
    user: Person,
    *,
    always_submit: bool,
    keyboard: bool,
    notify: bool,
    rooms: Collection[Room],
    muted_slugs: Collection[str],
) -> None:
    """Save the preferences. Rooms that the form did not show, such as archived ones, stay as they are."""
    switches = {"always_submit": always_submit, "keyboard": keyboard, "notify": notify}
    saved, _ = Preferences.objects.update_or_create(pk=user.pk, defaults=switches)
    saved.muted_rooms.add(*(room for room in rooms if room.slug in muted_slugs))
    saved.muted_rooms.remove(*(room for room in rooms if room.slug not in muted_slugs))


def mute(user: Person, room: Room, is_muted: bool) -> None:
    """Mute the room for this person, or unmute it."""
    saved, _ = Preferences.objects.get_or_create(pk=user.pk)
    if is_muted:
        saved.muted_rooms.add(room)
    else:
        saved.muted_rooms.remove(room)
