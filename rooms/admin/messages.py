"""Admin of messages: read-only."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from rooms.admin.model_admins import ReadOnlyAdmin, short
from rooms.models import Message


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("text", "room", "sender", "sender_type", "kind", "created_at")
    list_filter = ("kind", "sender_type", "room", "created_at")
    list_select_related = ("room",)
    search_fields = ("sender", "=id")
    fields = (
        "id",
        "room",
        "key",
        "sender",
        "sender_type",
        "kind",
        "question",
        "content",
        "color",
        "created_at",
    )

    @admin.display(description=_("message"), ordering="id")
    def text(self, message: Message) -> str:
        return short(message.content)
