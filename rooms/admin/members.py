"""Members in the admin: on the page of their room, and as a paged list for rooms of any size."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.admin.model_admins import AuditedAdmin
from rooms.models import (
    Membership,
)

# As many members stand on the page of their room. A form has 4 fields for each, and Django takes 1,000.
LISTED_MEMBERS = 50


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    # Works with any user model, also where nobody registered it for autocompletion.
    raw_id_fields = ("user",)
    readonly_fields = ("joined_at",)
    verbose_name = _("member")
    verbose_name_plural = _("members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("user", "room")


class NewMembers(BaseInlineFormSet):
    """Django compares new entries with those that are shown; here it has to be with the others."""

    def clean(self) -> None:
        super().clean()
        users = [form.cleaned_data["user"] for form in self.extra_forms if form.cleaned_data.get("user")]
        members = set(self.instance.memberships.filter(user__in=users).values_list("user", flat=True))
        for form in self.extra_forms:
            user = form.cleaned_data.get("user")
            if user and user.pk in members:
                form.add_error("user", gettext("%(user)s is already a member.") % {"user": user})


class NewMemberInline(MembershipInline):
    """Of a room with many members: those to add. The others have a list of their own."""

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
        """A member of another room, or another person, is another membership."""
        return ("joined_at",) if obj is None else ("room", "user", "joined_at")
