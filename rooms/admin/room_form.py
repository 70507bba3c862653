"""The form of a room in the admin."""

from typing import Any

from rooms.contract.care import has_unknown_options
from rooms.models import Room
from rooms.pages.manage.care_form import CareForm
from rooms.web import needs_newer_version_in_words


class RoomForm(CareForm):
    """All that can be changed, with a field for each part of the room's care."""

    class Meta:
        model = Room
        fields = ("name", "slug", "is_open", "close_after_seconds", "keep_days")

    def clean(self) -> dict[str, Any]:
        """As in `lifecycle.change_room`, but as an error of the form."""
        cleaned = super().clean()
        stored = Room.objects.filter(pk=self.instance.pk).only("care").first()
        if stored and "care" in self.changed_fields and has_unknown_options(stored.care):
            self.add_error(None, needs_newer_version_in_words())
        return cleaned
