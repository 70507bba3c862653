"""Admin of members: inline on the page of their room, and a paginated list for large rooms."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.admin.model_admins import AuditedAdmin
from rooms.models import Membership

# Members on the page of their room at most: each has 4 form fields, and Django accepts 1,000 fields.
LISTED_MEMBERS = 50


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    # Works with any user model, also where it is not registered for autocompletion.
    raw_id_fields = ("user",)
    readonly_fields = ("joined_at",)
    verbose_name = _("member")
    verbose_name_plural = _("members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("user", "room")


class NewMembers(BaseInlineFormSet):
    """Compares new members with all members; Django compares only the rows of the form."""

    def clean(self) -> None:
        super().clean()
        users = [form.cleaned_data["user"] for form in self.extra_forms if form.cleaned_data.get("user")]
        members = set(self.instance.memberships.filter(user__in=users).values_list("user", flat=True))
        for form in self.extra_forms:
            user = form.cleaned_data.get("user")
            if user and user.pk in members:
                form.add_error("user", gettext("%(user)s is already a member.") % {"user": user})


class NewMemberInline(MembershipInline):
    """Inline of a large room: only new members. The existing ones are in the separate list."""

    formset = NewMembers
    verbose_name_plural = _("new members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).none()


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
        """Room and user cannot be changed: that would be another membership."""
        return ("joined_at",) if obj is None else ("room", "user", "joined_at")
