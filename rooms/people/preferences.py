"""How each person wants the pages to behave; who never chose has the defaults and no row."""

from collections.abc import Collection

from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Preferences, Room


def preferences_of(user: Person) -> Preferences:
    """The person's preferences, in one query; not saved where they never chose."""
    return Preferences.objects.filter(pk=user.pk).first() or Preferences(pk=user.pk)


def muted_room_ids(chosen: Preferences) -> set[int]:
    """The rooms that must not call for this person's attention."""
    if chosen._state.adding:
        return set()  # nothing was ever saved: spare the query
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
    """Keep what the person chose. Rooms that were not on offer, such as archived ones, stay as they are."""
    switches = {"always_submit": always_submit, "keyboard": keyboard, "notify": notify}
    saved, _ = Preferences.objects.update_or_create(pk=user.pk, defaults=switches)
    saved.muted_rooms.add(*(room for room in rooms if room.slug in muted_slugs))
    saved.muted_rooms.remove(*(room for room in rooms if room.slug not in muted_slugs))


def mute(user: Person, room: Room, is_muted: bool) -> None:
    """Let the room call for this person's attention no more, or again."""
    saved, _ = Preferences.objects.get_or_create(pk=user.pk)
    if is_muted:
        saved.muted_rooms.add(room)
    else:
        saved.muted_rooms.remove(room)
