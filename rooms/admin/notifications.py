"""Admin of notifications (state, errors, resend) and of the webhooks of all rooms."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.admin.model_admins import ReadOnlyAdmin, short
from rooms.audit import Action
from rooms.db.transactions import writing
from rooms.models import Notice, Webhook
from rooms.notifications import outbox, webhooks


class NoticeStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("failed", gettext("failed")),
            ("waiting", gettext("waiting")),
            ("sent", gettext("sent")),
            ("cancelled", gettext("not needed")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "waiting":
                return queryset.filter(sent_at=None, failed_at=None, cancelled_at=None)
            case "failed" | "sent" | "cancelled" as state:
                return queryset.filter(**{f"{state}_at__isnull": False})
        return queryset


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "kind", "receiver", "state", "attempts", "last_error", "text")
    list_filter = (NoticeStateFilter, "channel", "kind", "created_at")
    list_select_related = ("question", "user", "subscription", "webhook")
    search_fields = ("=id", "=question__id", "last_error")
    fields = (
        *("id", "kind", "channel", "question", "target", "receiver", "created_at", "due_at", "state"),
        *("attempts", "next_attempt_at", "sent_at", "cancelled_at", "failed_at", "last_error"),
    )
    readonly_fields = ("receiver", "state")
    actions = ("send_again",)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ask_bridge.change_notice")

    @admin.display(description=_("receiver"))
    def receiver(self, notice: Notice) -> str:
        named = notice.webhook or notice.user
        where = f" ({notice.subscription})" if notice.subscription else ""
        return f"{notice.get_channel_display()}: {named or notice.target}{where}"

    @admin.display(description=_("question"))
    def text(self, notice: Notice) -> str:
        return short(str(notice.question)) if notice.question else gettext("Test")

    @admin.display(description=_("state"))
    def state(self, notice: Notice) -> str:
        if notice.sent_at:
            return gettext("sent")
        if notice.failed_at:
            return gettext("failed")
        return gettext("not needed") if notice.cancelled_at else gettext("waiting")

    @admin.action(description=_("Resend failed notifications"), permissions=["resend"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Notice]) -> None:
        count = outbox.send_again(queryset)
        sentence = gettext("Notifications queued to be sent again: %(count)s.") % {"count": count}
        self.message_user(request, sentence, messages.SUCCESS)


@admin.register(Webhook)
class WebhookAdmin(admin.ModelAdmin):
    """Webhooks of all rooms. They are added on the page of their room, which shows the secret once."""

    list_display = ("label", "room", "kind", "host", "is_enabled", "on_asked", "on_settled", "after_minutes")
    list_filter = ("is_enabled", "kind", "room")
    list_select_related = ("room",)
    search_fields = ("label", "host", "room__name", "room__slug")
    fields = (
        *("room", "label", "kind", "host", "on_asked", "on_settled", "after_minutes", "is_enabled"),
        *("failures", "paused_until", "created_at", "created_by"),
    )
    readonly_fields = ("room", "kind", "host", "failures", "paused_until", "created_at", "created_by")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        with writing():
            obj.save(update_fields=form.changed_data)
            changed = {name: form.cleaned_data[name] for name in form.changed_data}
            webhooks.record(Action.WEBHOOK_CHANGED, obj, request.user, **{**changed, "label": obj.label})

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        webhooks.remove(obj, request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        for webhook in queryset.select_related("room"):
            webhooks.remove(webhook, request.user)

    def view_on_site(self, obj: Webhook) -> str:
        return reverse("ask_bridge:webhooks", args=(obj.room.slug,))
