"""Admin of agent keys: create, rotate and revoke. A new key is shown once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from rooms import access
from rooms.admin.model_admins import AuditedAdmin
from rooms.contract.scopes import Scope, default_scopes, in_order
from rooms.db import timezone
from rooms.models import AgentKey, Room


class NewKeyPage(AuditedAdmin):
    """Base of the admin pages that create keys: the response shows each new key once; it is not stored."""

    def create_key(self, request: HttpRequest, room: Room, named: AgentKey) -> AgentKey:
        key, text = access.create_key(
            room,
            label=named.label,
            created_by=request.user,
            expires_at=named.expires_at,
            scopes=named.scopes,
        )
        self.message_key(request, key, text)
        return key

    def message_key(self, request: HttpRequest, key: AgentKey, text: str) -> None:
        # Shown by this response itself, so that the key is never in a cookie or session.
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

    def show_keys(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not hasattr(request, "ask_bridge_made_keys"):
            return response
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("New agent key"),
            "content": format_html(
                '<p><a href="{}">{}</a></p>',
                response.headers.get("Location", ""),
                gettext("Copied, continue"),
            ),
        }
        return TemplateResponse(request, "admin/base_site.html", context)


class NewKeyForm(forms.ModelForm):
    """The fields of a key that can be set when it is created."""

    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=Scope.choices,
        initial=default_scopes,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "What the key may do. This cannot be changed later. If none is selected: ask and terminal."
        ),
    )

    def clean_scopes(self) -> list[str]:
        return in_order(self.cleaned_data["scopes"]) or default_scopes()


class NewKeyRow(forms.ModelForm):
    """As `NewKeyForm`. Its field is not named as the column, which Django would show as JSON in old rows."""

    scope_names = NewKeyForm.base_fields["scopes"]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        self.instance.scopes = in_order(cleaned.get("scope_names", [])) or default_scopes()
        return cleaned


class AgentKeyInline(admin.TabularInline):
    """Existing keys are read-only; a new row with a label creates a key."""

    model = AgentKey
    form = NewKeyRow
    extra = 0
    can_delete = False
    fields = ("label", "scope_names", "beginning", "created_at", "last_used_at", "expires_at", "revoked_at")
    readonly_fields = ("beginning", "created_at", "last_used_at", "revoked_at")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description=_("scopes"))
    def scope_names(self, key: AgentKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=_("key"))
    def beginning(self, key: AgentKey) -> str:
        return f"abk_{key.lookup}_…" if key.lookup else gettext("shown once, after saving")


class KeyStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("alive", pgettext("state of a key", "Active")),
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
        # From here on the admin works with the key that was created.
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
        return gettext("room archived") if key.room.archived_at else pgettext("state of a key", "active")

    @admin.action(description=_("Revoke selected keys"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AgentKey]) -> None:
        revoked = access.revoke_keys(queryset, by=request.user)
        self.message_user(request, gettext("Keys revoked: %(count)s.") % {"count": revoked}, messages.SUCCESS)

    def has_rotate_permission(self, request: HttpRequest) -> bool:
        """Rotating creates a key, so it needs the permission to add one."""
        return self.has_change_permission(request) and self.has_add_permission(request)

    @admin.action(description=_("Rotate (the old key works one more day)"), permissions=["rotate"])
    def rotate(self, request: HttpRequest, queryset: QuerySet[AgentKey]) -> HttpResponse:
        for key in queryset:
            try:
                self.message_key(request, *access.rotate_key(key, by=request.user))
            except access.NotRotatable:
                refused = gettext(
                    "“%(label)s” was not rotated: the key has expired, was revoked, or expires within a day."
                )
                messages.error(request, refused % {"label": key.label})
        return self.show_keys(request, redirect(request.get_full_path()))
