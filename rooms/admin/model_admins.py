"""Base classes and columns shared by the admin pages."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator

from rooms import audit

# Enough of a text to tell it from others in a list.
SHORT_TEXT = 60


def short(text: str) -> str:
    return Truncator(text).chars(SHORT_TEXT)


def count_per_room(entries: QuerySet[Any]) -> Coalesce:
    """The number of entries per room, as a subquery: an index lookup per row instead of a large join."""
    counts = (
        entries.filter(room=OuterRef("pk"))
        .order_by()
        .values("room")
        .annotate(count=Count("pk"))
        .values("count")
    )
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


class AuditedAdmin(admin.ModelAdmin):
    """Records the signed-in user in the audit log as the actor of every change."""

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().changelist_view(request, *args, **kwargs)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().delete_view(request, *args, **kwargs)


class ReadOnlyAdmin(admin.ModelAdmin):
    """History: nothing can be added or changed, and only superusers may delete."""

    # Ids sort by time, and their index keeps this fast for tables of any size.
    ordering = ("-id",)
    show_full_result_count = False

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """With the id of each: Django would keep the beginning of its text in its log."""
        admin_id: Any = request.user.pk
        rows = [
            LogEntry(
                user_id=admin_id,
                content_type=get_content_type_for_model(each),
                object_id=str(each.pk),
                object_repr=str(each.pk),
                action_flag=DELETION,
            )
            for each in queryset
        ]
        return LogEntry.objects.bulk_create(rows)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))
