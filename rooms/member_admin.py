"""Members of all rooms for admins: a list by pages, for rooms of any size."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from rooms.admin import AuditedAdmin
from rooms.models import Membership


@admin.register(Membership)
class MembershipAdmin(AuditedAdmin):
    list_display = ("user", "room", "role", "joined_at")
    list_editable = ("role",)
    list_filter = ("role", "room")
    list_select_related = ("user", "room")
    autocomplete_fields = ("room",)
    # Works with any user model, also where it is not registered for autocompletion.
    raw_id_fields = ("user",)
    fields = ("room", "user", "role", "joined_at")

    def get_search_fields(self, request: HttpRequest) -> Any:
        return (f"user__{get_user_model().USERNAME_FIELD}", "room__name", "=room__slug")

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> Any:
        """A member of another room, or another person, is another membership."""
        return ("joined_at",) if obj is None else ("room", "user", "joined_at")
