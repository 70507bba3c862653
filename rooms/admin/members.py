"""Admin of members: inline on the page of their room, and a paginated list for large rooms."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.admin.model_admins import AuditedAdmin
from rooms.models import GroupMembership, Membership
from rooms.privacy import people
from rooms.profiles import name_of

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


class GroupMembershipInline(admin.TabularInline):
    """Groups of the portal whose people are members."""

    model = GroupMembership
    extra = 0
    # Works with any group model, also where it is not registered for autocompletion.
    raw_id_fields = ("group",)
    readonly_fields = ("joined_at",)
    verbose_name = _("group")
    verbose_name_plural = _("groups")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("group", "room")


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


def confirm_anonymising(site: admin.AdminSite, request: HttpRequest, users: list[Any]) -> HttpResponse:
    """The page that says what happens, with the action again."""
    context = {
        **site.each_context(request),
        "title": gettext("Anonymise people"),
        "users": users,
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "action_name": request.POST.get("action"),
        "checkbox_name": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "ask_bridge/admin/anonymise.html", context)


@admin.register(Membership)
class MembershipAdmin(AuditedAdmin):
    list_display = ("user", "name", "room", "role", "joined_at")
    list_editable = ("role",)
    list_filter = ("role", "room")
    list_select_related = ("user", "room")
    autocomplete_fields = ("room",)
    # Works with any user model, also where it is not registered for autocompletion.
    raw_id_fields = ("user",)
    fields = ("room", "user", "role", "joined_at")
    actions = ("anonymise",)

    def has_anonymise_permission(self, request: HttpRequest) -> bool:
        """It changes what all rooms say of the person."""
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    @admin.action(description=_("Anonymise these people in all rooms"), permissions=["anonymise"])
    def anonymise(self, request: HttpRequest, queryset: QuerySet[Membership]) -> HttpResponse | None:
        """On a second page the admin confirms it."""
        chosen = {member.user_id: member.user for member in queryset.select_related("user")}
        if "confirmed" not in request.POST:
            return confirm_anonymising(self.admin_site, request, list(chosen.values()))
        for user in chosen.values():
            people.anonymise(user, by=request.user)
        self.message_user(
            request, gettext("People anonymised: %(count)s.") % {"count": len(chosen)}, messages.SUCCESS
        )
        return None

    @admin.display(description=_("name"))
    def name(self, membership: Membership) -> str:
        return name_of(membership.user)

    def get_search_fields(self, request: HttpRequest) -> Any:
        return (f"user__{get_user_model().USERNAME_FIELD}", "room__name", "=room__slug")

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> Any:
        """Room and user cannot be changed: that would be another membership."""
        return ("joined_at",) if obj is None else ("room", "user", "joined_at")
