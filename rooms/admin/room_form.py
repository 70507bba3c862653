"""The form of a room in the admin."""

from rooms.models import Room
from rooms.pages.manage.care_form import CareForm


class RoomForm(CareForm):
    """All that can be changed, with a field for each part of the room's care."""

    class Meta:
        model = Room
        fields = ("name", "slug", "is_open", "close_after_seconds", "keep_days")
