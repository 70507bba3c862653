"""Admin of the audit log: read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _

from rooms import audit
from rooms.admin.model_admins import ReadOnlyAdmin
from rooms.admin.question_page import in_plain_text
from rooms.models import AuditEntry, Room


class AuditedRoomFilter(admin.SimpleListFilter):
    """Offers the existing rooms: reading the names of all rooms from the log would scan the whole log."""

    title = _("room")
    parameter_name = "room"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(Room.objects.values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        is_room = self.value() in dict(self.lookup_choices)
        return queryset.filter(room=self.value()) if is_room else queryset


def _name(key: str) -> str:
    """A name of JSON as words. Not translated: it is data of the log."""
    return key.replace("_", " ")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Read-only for superusers too: audit entries are never deleted."""

    list_display = ("at", "room", "action", "actor_type", "actor", "subject", "in_short", "is_intact")
    list_filter = ("action", "actor_type", AuditedRoomFilter, "at")
    search_fields = ("actor", "=subject", "=room")
    search_help_text = _(
        "Part of the actor’s name; or the exact room, question ID or key prefix (the part after abk_)"
    )
    fields = ("id", "at", "room", "action", "actor_type", "actor", "subject", "facts", "is_intact")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("details"))
    def in_short(self, entry: AuditEntry) -> str:
        return ", ".join(f"{_name(name)}: {in_plain_text(value)}" for name, value in entry.details.items())

    @admin.display(description=_("details"))
    def facts(self, entry: AuditEntry) -> str:
        """One line for each detail."""
        lines = ((_name(name), in_plain_text(value)) for name, value in entry.details.items())
        return format_html_join(mark_safe("<br>"), "{}: {}", lines) or "–"

    @admin.display(description=_("intact"), boolean=True)
    def is_intact(self, entry: AuditEntry) -> bool:
        return audit.is_intact(entry)
