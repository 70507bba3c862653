"""Admin of rooms, with their members and keys."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected as django_delete
from django.contrib.admin.options import IS_POPUP_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from rooms import access, lifecycle, membership
from rooms.admin.keys import AgentKeyInline, NewKeyPage
from rooms.admin.members import LISTED_MEMBERS, GroupMembershipInline, MembershipInline, NewMemberInline
from rooms.admin.model_admins import count_per_room
from rooms.admin.room_form import RoomForm
from rooms.models import AgentKey, Membership, Question, Room
from rooms.pages.manage.care_form import CARE_FIELDS
from rooms.web import needs_newer_version_in_words


class ArchivedFilter(admin.SimpleListFilter):
    title = _("archived")
    parameter_name = "archived"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", gettext("No")), ("yes", gettext("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(archived_at__isnull=self.value() == "no")


def _archive_first(rooms: Sequence[Room]) -> str:
    names = ", ".join(room.name for room in rooms)
    sentence = ngettext(
        "Archive this room before you delete it: %(names)s.",
        "Archive these rooms before you delete them: %(names)s.",
        len(rooms),
    )
    return sentence % {"names": names}


@admin.register(Room)
class RoomAdmin(NewKeyPage):
    list_display = (
        "name",
        "slug",
        "is_open",
        "member_count",
        "active_keys",
        "open_questions",
        "changed_at",
    )
    list_filter = ("is_open", ArchivedFilter)
    search_fields = ("name", "slug")
    form = RoomForm
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("name", "slug", "is_open", "close_after_seconds", "keep_days"),
                    *("created_at", "changed_at", "archived_at"),
                )
            },
        ),
        (
            _("Careful questions"),
            {
                "fields": CARE_FIELDS,
                "description": _(
                    "Applies to every question in this room. Agents can ask for more care, but not for less."
                ),
            },
        ),
    )
    readonly_fields = ("created_at", "changed_at", "archived_at", "member_list")
    prepopulated_fields = {"slug": ("name",)}
    inlines = (MembershipInline, AgentKeyInline)
    actions = ("archive", "restore", "revoke_keys", "withdraw_open_questions", "delete_selected")
    change_form_template = "ask_bridge/admin/room.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Room]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                member_count=count_per_room(Membership.objects.all()),
                active_keys=count_per_room(AgentKey.objects.alive()),
                open_questions=count_per_room(Question.objects.open()),
            )
        )

    def get_inlines(self, request: HttpRequest, obj: Room | None = None) -> Any:
        """No keys in a pop-up: it closes after saving, so a new key could not be copied."""
        members = NewMemberInline if self._has_many_members(request, obj) else MembershipInline
        is_popup = IS_POPUP_VAR in request.GET or IS_POPUP_VAR in request.POST
        # A portal's users may have no groups, or groups of another model.
        groups = (GroupMembershipInline,) if membership.belonging() else ()
        others = [inline for inline in self.inlines if inline is not MembershipInline and not is_popup]
        return (members, *groups, *others)

    def _has_many_members(self, request: HttpRequest, room: Room | None) -> bool:
        """Whether members are in the separate list. A sent form is read in the way it was shown."""
        if room is None:
            return False
        if request.method == "POST":
            return request.POST.get("memberships-INITIAL_FORMS") == "0"
        return room.memberships.all()[: LISTED_MEMBERS + 1].count() > LISTED_MEMBERS

    def get_fieldsets(self, request: HttpRequest, obj: Room | None = None) -> Any:
        """Adds a link to the list of members for users who may see the list."""
        (title, first), *others = super().get_fieldsets(request, obj)
        # A portal may have unregistered the list.
        is_listed = obj is not None and self.admin_site.is_registered(Membership)
        if is_listed and self.admin_site.get_model_admin(Membership).has_view_permission(request):
            first = {**first, "fields": (*first["fields"], "member_list")}
        return ((title, first), *others)

    @admin.display(description=_("members"))
    def member_list(self, room: Room) -> str:
        count = room.memberships.count()
        address = reverse(f"{self.admin_site.name}:ask_bridge_membership_changelist")
        text = ngettext("%(count)s member", "%(count)s members", count) % {"count": count}
        return format_html('<a href="{}?room__id__exact={}">{}</a>', address, room.pk, text)

    def has_delete_permission(self, request: HttpRequest, obj: Room | None = None) -> bool:
        """Deleting a room deletes its history, so it has to be archived first."""
        is_archived = obj is None or obj.archived_at is not None
        return is_archived and super().has_delete_permission(request, obj)

    def must_be_archived(self, request: HttpRequest, room: Room | None) -> bool:
        """Whether this person could delete the room if it were archived."""
        return room is not None and room.archived_at is None and super().has_delete_permission(request, room)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        room = self.get_object(request, object_id)
        # The button runs the action of the list, which needs the permission to change rooms.
        is_offered = self.must_be_archived(request, room) and self.has_change_permission(request, room)
        context = {"archive_before_deleting": is_offered, **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The page of a room that has to be archived first, with a sentence that says so."""
        room = self.get_object(request, object_id)
        if room is None or not self.must_be_archived(request, room):
            return super().delete_view(request, object_id, extra_context)
        self.message_user(request, _archive_first([room]), messages.ERROR)
        return redirect(f"{self.admin_site.name}:ask_bridge_room_change", room.pk)

    def delete_model(self, request: HttpRequest, obj: Room) -> None:
        lifecycle.delete_rooms([obj], by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        lifecycle.delete_rooms(queryset, by=request.user)

    @admin.action(description=django_delete.short_description, permissions=["delete"])  # type: ignore[attr-defined]
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Room]) -> HttpResponse | None:
        """As Django's, which would say that the permission to delete rooms is missing."""
        in_use = list(queryset.filter(archived_at=None))
        if in_use:
            self.message_user(request, _archive_first(in_use), messages.ERROR)
            return None
        return django_delete(self, request, queryset)

    def save_model(self, request: HttpRequest, obj: Room, form: Any, change: bool) -> None:
        """As on the pages for managers, with the same verbs."""
        if change:
            changed = [name for name in form.changed_fields if name != "close_after_seconds"]
            lifecycle.change_room(obj, changed, by=request.user)
            lifecycle.close_questions_after(obj, obj.close_after_seconds, by=request.user)
        else:
            lifecycle.add_room(obj, by=request.user)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        if formset.model is not AgentKey:
            super().save_formset(request, form, formset, change)
            return
        named = formset.save(commit=False)
        formset.new_objects = [self.create_key(request, form.instance, key) for key in named]

    @admin.display(description=_("members"), ordering="member_count")
    def member_count(self, room: Any) -> int:
        return room.member_count

    @admin.display(description=_("active keys"), ordering="active_keys")
    def active_keys(self, room: Any) -> int:
        return room.active_keys

    @admin.display(description=_("open questions"), ordering="open_questions")
    def open_questions(self, room: Any) -> int:
        return room.open_questions

    @admin.action(
        description=_("Archive: withdraw open questions, disable keys, keep the history"),
        permissions=["change"],
    )
    def archive(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        rooms = list(queryset.filter(archived_at=None))
        for room in rooms:
            lifecycle.archive_room(room, by=request.user)
        self.message_user(
            request, gettext("Rooms archived: %(count)s.") % {"count": len(rooms)}, messages.SUCCESS
        )

    @admin.action(description=_("Restore archived rooms"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        rooms = list(queryset.exclude(archived_at=None))
        for room in rooms:
            lifecycle.restore_room(room, by=request.user)
        self.message_user(
            request, gettext("Rooms restored: %(count)s.") % {"count": len(rooms)}, messages.SUCCESS
        )

    @admin.action(description=_("Revoke all keys"), permissions=["change"])
    def revoke_keys(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        keys = AgentKey.objects.filter(room__in=queryset.values("pk"))
        revoked = access.revoke_keys(keys, by=request.user)
        self.message_user(request, gettext("Keys revoked: %(count)s.") % {"count": revoked}, messages.SUCCESS)

    @admin.action(description=_("Withdraw open questions"), permissions=["change"])
    def withdraw_open_questions(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        questions = Question.objects.filter(room__in=queryset.values("pk"))
        try:
            withdrawn = lifecycle.withdraw_open(questions, by=request.user)
        except lifecycle.NeedsNewerVersion:
            self.message_user(request, needs_newer_version_in_words(), messages.ERROR)
            return
        self.message_user(
            request, gettext("Questions withdrawn: %(count)s.") % {"count": withdrawn}, messages.SUCCESS
        )
