"""Rooms, members and keys for admins; questions, answers, messages and the audit for whoever looks things up.

What happened is read-only here. State changes only through the verbs of `lifecycle` and
`access.py`, as everywhere.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from rooms import access, audit, lifecycle
from rooms.models import (
    AgentKey,
    Answer,
    AuditEntry,
    Membership,
    Message,
    Question,
    QuestionQuerySet,
    Room,
)
from rooms.room_form import CARE_FIELDS, RoomForm
from rooms.scopes import Scope, default_scopes, in_order

# Enough of a text to tell it from others in a list.
SHORT_TEXT = 60
# As many members stand on the page of their room. A form has 4 fields for each, and Django takes 1,000.
LISTED_MEMBERS = 50


def short(text: str) -> str:
    return Truncator(text).chars(SHORT_TEXT)


def count_per_room(entries: QuerySet[Any]) -> Coalesce:
    """How many of the entries each room has: read from an index per room shown, not a join of all."""
    counts = (
        entries.filter(room=OuterRef("pk"))
        .order_by()
        .values("room")
        .annotate(count=Count("pk"))
        .values("count")
    )
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


class AuditedAdmin(admin.ModelAdmin):
    """Whatever a page here changes is the doing of whoever sent it."""

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().changelist_view(request, *args, **kwargs)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with audit.acting_as(request.user):
            return super().delete_view(request, *args, **kwargs)


class NewKeyPage(AuditedAdmin):
    """Where a save made agent keys, its reply shows them: here, once, and stored nowhere."""

    def create_key(self, request: HttpRequest, room: Room, named: AgentKey) -> AgentKey:
        key, text = access.create_key(
            room,
            label=named.label,
            created_by=request.user,
            expires_at=named.expires_at,
            scopes=named.scopes,
        )
        self.tell_key(request, key, text)
        return key

    def tell_key(self, request: HttpRequest, key: AgentKey, text: str) -> None:
        # Shown by this very reply, so that it gets into no cookie and no session on the way.
        messages.warning(
            request,
            gettext(
                "The key of “%(label)s” is %(key)s – copy it now: it is stored only as a hash and cannot be "
                "shown again."
            )
            % {"label": key.label, "key": text},
        )
        request.ask_bridge_made_keys = True  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.show_keys(request, super().response_add(request, *args, **kwargs))

    def response_change(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.show_keys(request, super().response_change(request, *args, **kwargs))

    def show_keys(self, request: HttpRequest, onward: HttpResponse) -> HttpResponse:
        if not hasattr(request, "ask_bridge_made_keys"):
            return onward
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("New agent key"),
            "content": format_html(
                '<p><a href="{}">{}</a></p>',
                onward.headers.get("Location", ""),
                gettext("I have copied it: go on"),
            ),
        }
        return TemplateResponse(request, "admin/base_site.html", context)


# ---- rooms ---------------------------------------------------------------------------------------


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
                form.add_error("user", gettext("%(user)s is a member already.") % {"user": user})


class NewMemberInline(MembershipInline):
    """Of a room with many members: those to add. The others have a list of their own."""

    formset = NewMembers
    verbose_name_plural = _("new members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).none()


class NewKeyForm(forms.ModelForm):
    """What can be said about a key when it is made."""

    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=Scope.choices,
        initial=default_scopes,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("What the key may do, for good. With none ticked: ask and terminal."),
    )

    def clean_scopes(self) -> list[str]:
        return in_order(self.cleaned_data["scopes"]) or default_scopes()


class AgentKeyInline(admin.TabularInline):
    """Keys that exist can only be read; a label on a new line makes a new one."""

    model = AgentKey
    form = NewKeyForm
    extra = 0
    can_delete = False
    fields = ("label", "scopes", "beginning", "created_at", "last_used_at", "expires_at", "revoked_at")
    readonly_fields = ("beginning", "created_at", "last_used_at", "revoked_at")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("key"))
    def beginning(self, key: AgentKey) -> str:
        return f"abk_{key.lookup}_…" if key.lookup else gettext("shown once, after saving")


class ArchivedFilter(admin.SimpleListFilter):
    title = _("archived")
    parameter_name = "archived"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", gettext("No")), ("yes", gettext("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(archived_at__isnull=self.value() == "no")


@admin.register(Room)
class RoomAdmin(NewKeyPage):
    list_display = (
        "name",
        "slug",
        "is_open",
        "member_count",
        "living_keys",
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
                    *("name", "slug", "is_open", "close_after_seconds"),
                    *("created_at", "changed_at", "archived_at"),
                )
            },
        ),
        (
            _("Careful questions"),
            {
                "fields": CARE_FIELDS,
                "description": _(
                    "For every question of this room. Agents can ask for more care, never for less."
                ),
            },
        ),
    )
    readonly_fields = ("created_at", "changed_at", "archived_at", "member_list")
    prepopulated_fields = {"slug": ("name",)}
    inlines = (MembershipInline, AgentKeyInline)
    actions = ("archive", "restore", "revoke_keys", "withdraw_open_questions")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Room]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                member_count=count_per_room(Membership.objects.all()),
                living_keys=count_per_room(AgentKey.objects.alive()),
                open_questions=count_per_room(Question.objects.open()),
            )
        )

    def get_inlines(self, request: HttpRequest, obj: Room | None = None) -> Any:
        """A pop-up closes after saving, before anybody could copy a key."""
        members = NewMemberInline if self._has_many_members(request, obj) else MembershipInline
        is_popup = IS_POPUP_VAR in request.GET or IS_POPUP_VAR in request.POST
        others = [inline for inline in self.inlines if inline is not MembershipInline and not is_popup]
        return (members, *others)

    def _has_many_members(self, request: HttpRequest, room: Room | None) -> bool:
        """Whether its members stand in a list of their own; a form that is sent goes on as it was shown."""
        if room is None:
            return False
        if request.method == "POST":
            return request.POST.get("memberships-INITIAL_FORMS") == "0"
        return room.memberships.all()[: LISTED_MEMBERS + 1].count() > LISTED_MEMBERS

    def get_fieldsets(self, request: HttpRequest, obj: Room | None = None) -> Any:
        """With a link to the list of members, for those who may see it."""
        (title, first), *others = super().get_fieldsets(request, obj)
        # A portal may have taken the list out of its admin.
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
        """Deleting takes the whole history along, so a room is archived first."""
        is_archived = obj is None or obj.archived_at is not None
        return is_archived and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Room, form: Any, change: bool) -> None:
        """Write what was edited and nothing else: questions move the revision on meanwhile."""
        if change:
            changed = [name for name in form.changed_fields if name != "close_after_seconds"]
            obj.save(update_fields=changed)
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

    @admin.display(description=_("living keys"), ordering="living_keys")
    def living_keys(self, room: Any) -> int:
        return room.living_keys

    @admin.display(description=_("open questions"), ordering="open_questions")
    def open_questions(self, room: Any) -> int:
        return room.open_questions

    @admin.action(
        description=_("Archive: withdraw open questions, stop the keys, keep the history"),
        permissions=["change"],
    )
    def archive(self, request: HttpRequest, queryset: QuerySet[Room]) -> None:
        rooms = list(queryset.filter(archived_at=None))
        for room in rooms:
            lifecycle.archive_room(room, by=request.user)
        self.message_user(
            request, gettext("Rooms archived: %(count)s.") % {"count": len(rooms)}, messages.SUCCESS
        )

    @admin.action(description=_("Restore: bring archived rooms back"), permissions=["change"])
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
        withdrawn = lifecycle.withdraw_open(questions, by=request.user)
        self.message_user(
            request, gettext("Questions withdrawn: %(count)s.") % {"count": withdrawn}, messages.SUCCESS
        )


# ---- keys ----------------------------------------------------------------------------------------


class KeyStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("alive", gettext("Alive")),
            ("revoked", gettext("Revoked")),
            ("expired", gettext("Expired")),
            ("archived", gettext("Room archived")),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> QuerySet[Any]:
        match self.value():
            case "alive":
                return queryset.usable()
            case "revoked":
                return queryset.exclude(revoked_at=None)
            case "expired":
                return queryset.filter(revoked_at=None, expires_at__lte=timezone.now())
            case "archived":
                return queryset.filter(revoked_at=None).exclude(room__archived_at=None)
            case _:
                return queryset


@admin.register(AgentKey)
class AgentKeyAdmin(NewKeyPage):
    form = NewKeyForm
    list_display = (
        *("label", "beginning", "room", "scope_names"),
        *("created_at", "last_used_at", "expires_at", "state"),
    )
    list_filter = (KeyStateFilter, "room", "created_at", "last_used_at")
    list_select_related = ("room",)
    search_fields = ("label", "lookup", "room__name", "room__slug")
    actions = ("revoke", "rotate")

    def get_fields(self, request: HttpRequest, obj: AgentKey | None = None) -> Any:
        if obj is None:
            return ("room", "label", "scopes", "expires_at")
        return ("room", "label", *self.get_readonly_fields(request, obj)[1:])

    def get_readonly_fields(self, request: HttpRequest, obj: AgentKey | None = None) -> Any:
        if obj is None:
            return ()
        return (
            "room",
            "beginning",
            "scope_names",
            "state",
            "created_at",
            "created_by",
            "last_used_at",
            "expires_at",
            "revoked_at",
        )

    def save_model(self, request: HttpRequest, obj: AgentKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        # From here on the admin's own object is the key that was made.
        obj.pk = self.create_key(request, obj.room, obj).pk
        obj.refresh_from_db()

    @admin.display(description=_("key"))
    def beginning(self, key: AgentKey) -> str:
        return f"abk_{key.lookup}_…"

    @admin.display(description=_("scopes"))
    def scope_names(self, key: AgentKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=_("state"))
    def state(self, key: AgentKey) -> str:
        if key.revoked_at:
            return gettext("revoked")
        if key.has_expired:
            return gettext("expired")
        return gettext("room archived") if key.room.archived_at else gettext("alive")

    @admin.action(description=_("Revoke selected keys"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AgentKey]) -> None:
        revoked = access.revoke_keys(queryset, by=request.user)
        self.message_user(request, gettext("Keys revoked: %(count)s.") % {"count": revoked}, messages.SUCCESS)

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        """Rotating shows a new key that works: it takes the permission to add one."""
        return self.has_change_permission(request) and self.has_add_permission(request)

    @admin.action(description=_("Rotate (the old key works one more day)"), permissions=["rotate"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[AgentKey]) -> HttpResponse:
        for key in queryset:
            try:
                self.tell_key(request, *access.rotate_key(key, by=request.user))
            except access.NotRotatable:
                refused = gettext("“%(label)s” was not rotated: it has less than a day left, or none.")
                messages.error(request, refused % {"label": key.label})
        return self.show_keys(request, redirect(request.get_full_path()))


# ---- what happened -------------------------------------------------------------------------------


class ReadOnlyAdmin(admin.ModelAdmin):
    """History: nobody writes or changes it here, and only superusers may remove from it."""

    # Ids sort by time, and their index is there on any size of table.
    ordering = ("-id",)
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    list_display = (
        "text",
        "room",
        "agent_name",
        "status",
        "asked_at",
        "settled_at",
        "agent_is_waiting",
    )
    list_filter = ("status", "room", "asked_at")
    list_select_related = ("room",)
    search_fields = ("agent_name", "=id", "=session_id")
    fields = (
        "id",
        "room",
        "key",
        "agent_name",
        "agent_color",
        "session_id",
        "tool_use_id",
        "prompts",
        "context",
        "default_choices",
        "status",
        "asked_at",
        "expires_at",
        "settled_at",
        "delivered_at",
        "agent_is_waiting",
        "last_seen_at",
        "closes_at",
        "ended",
    )
    actions = ("withdraw",)

    def has_delete_permission(self, request: HttpRequest, obj: Question | None = None) -> bool:
        """An agent may wait for an open question: it is withdrawn before it can be deleted."""
        is_settled = obj is None or not obj.is_open
        return is_settled and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Question) -> None:
        lifecycle.delete_questions(Question.objects.filter(pk=obj.pk), by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        lifecycle.delete_questions(queryset, by=request.user)

    def has_withdraw_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ask_bridge.change_question")

    @admin.display(description=_("question"), ordering="id")
    def text(self, question: Question) -> str:
        return short(str(question))

    @admin.display(description=_("active"), boolean=True)
    def agent_is_waiting(self, question: Question) -> bool:
        return question.agent_is_waiting

    @admin.action(description=_("Withdraw selected questions"), permissions=["withdraw"])
    def withdraw(self, request: HttpRequest, queryset: QuestionQuerySet) -> None:
        withdrawn = lifecycle.withdraw_open(queryset, by=request.user)
        self.message_user(
            request, gettext("Questions withdrawn: %(count)s.") % {"count": withdrawn}, messages.SUCCESS
        )


@admin.register(Answer)
class AnswerAdmin(ReadOnlyAdmin):
    list_display = ("question_text", "room", "person_name", "via", "answered_at")
    list_filter = ("via", "room", "answered_at")
    list_select_related = ("room", "question")
    search_fields = ("username", "person_name", "=question__id")
    fields = (
        "id",
        "question",
        "room",
        "username",
        "person_name",
        "via",
        "choices",
        "asks_back",
        "reason",
        "answered_at",
    )

    def has_delete_permission(self, request: HttpRequest, obj: Answer | None = None) -> bool:
        """An answer goes together with its question, never alone: answered would be without answer."""
        address = request.resolver_match.url_name if request.resolver_match else None
        is_alone = (address or "").startswith("ask_bridge_answer_")
        return not is_alone and super().has_delete_permission(request, obj)

    @admin.display(description=_("question"), ordering="id")
    def question_text(self, answer: Answer) -> str:
        return short(str(answer.question))


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("text", "room", "sender", "sender_type", "kind", "created_at")
    list_filter = ("kind", "sender_type", "room", "created_at")
    list_select_related = ("room",)
    search_fields = ("sender", "=id")
    fields = ("id", "room", "key", "sender", "sender_type", "kind", "content", "color", "created_at")

    @admin.display(description=_("message"), ordering="id")
    def text(self, message: Message) -> str:
        return short(message.content)


class AuditedRoomFilter(admin.SimpleListFilter):
    """The rooms of today; the names of rooms in the audit itself would be a walk through all of it."""

    title = _("room")
    parameter_name = "room"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(Room.objects.values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        is_room = self.value() in dict(self.lookup_choices)
        return queryset.filter(room=self.value()) if is_room else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Not even superusers remove anything here."""

    list_display = ("at", "room", "action", "actor_type", "actor", "subject", "in_short", "is_intact")
    list_filter = ("action", "actor_type", AuditedRoomFilter, "at")
    search_fields = ("actor", "=subject", "=room")
    search_help_text = _(
        "A part of the actor; or all of a room, of a question’s id, of what follows abk_ in a key"
    )
    fields = ("id", "at", "room", "action", "actor_type", "actor", "subject", "details", "is_intact")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("details"))
    def in_short(self, entry: AuditEntry) -> str:
        return ", ".join(f"{name}: {value}" for name, value in entry.details.items())

    @admin.display(description=_("intact"), boolean=True)
    def is_intact(self, entry: AuditEntry) -> bool:
        return audit.is_intact(entry)


# ---- what goes out -------------------------------------------------------------------------------

from rooms import member_admin, notice_admin  # noqa: E402, F401 - register themselves, with what stands above
