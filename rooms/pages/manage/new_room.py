"""The page for a new room, and the list of archived rooms."""

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from rooms import access, lifecycle
from rooms.access import rate_limits
from rooms.models import RESERVED_SLUGS, Room
from rooms.pages.manage.settings_page import page_of
from rooms.web import base_context, page, retry_later, too_many_in_words

SLUG_LENGTH = 60
# Tries 2 to 99 before the person has to choose: as many rooms of one name are a mistake.
MOST_OF_ONE_NAME = 99
OPENNESS = [("", _("Members only")), ("on", _("Everyone who can sign in"))]


def openness_field() -> forms.TypedChoiceField:
    """Who may see and answer, as two choices."""
    nothing: Any = False  # the stubs know only texts
    return forms.TypedChoiceField(choices=OPENNESS, coerce=bool, empty_value=nothing, required=False)


class NewRoomForm(forms.ModelForm):
    """A room with a name; the address may be left empty."""

    is_open = openness_field()
    slug = forms.SlugField(
        max_length=SLUG_LENGTH,
        required=False,
        error_messages={"unique": _("This address is taken. Choose another one.")},
    )

    class Meta:
        model = Room
        fields = ("name", "slug", "is_open")

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"] or free_slug(self.cleaned_data.get("name", ""))
        if not slug and "name" in self.cleaned_data:
            raise forms.ValidationError(gettext("Enter an address: letters a–z, digits and hyphens."))
        return slug


def free_slug(name: str) -> str:
    """An address for a room of this name that no room has; empty if the name has no letters for one."""
    base = slugify(name)[: SLUG_LENGTH - len(f"-{MOST_OF_ONE_NAME}")].strip("-_")
    if not base:
        return ""
    taken = {*RESERVED_SLUGS, *Room.objects.filter(slug__startswith=base).values_list("slug", flat=True)}
    numbered = (f"{base}-{number}" for number in range(2, MOST_OF_ONE_NAME + 1))
    return next((slug for slug in (base, *numbered) if slug not in taken), "")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new_room(request: HttpRequest) -> HttpResponse:
    """Create a room. Its creator manages it."""
    if not access.may_create(request.user):
        raise Http404("There is no such page.")
    if request.method != "POST":
        return _page(request, NewRoomForm())
    form = NewRoomForm(request.POST)
    try:
        rate_limits.check_rooms(request.user)
        if form.is_valid():
            lifecycle.add_room(form.instance, by=request.user, is_manager=True)
            return redirect(_first_page(request, form.instance))
    except rate_limits.TooMany as over:
        form.add_error(NON_FIELD_ERRORS, f"{too_many_in_words(over)}.")
        return retry_later(_page(request, form, status=429), over)
    except IntegrityError:
        # Another person took the address in this moment.
        form.add_error("slug", gettext("This address is taken. Choose another one."))
    return _page(request, form, status=422)


def _first_page(request: HttpRequest, room: Room) -> str:
    """Its members; the rules of a portal may let the creator only see the room, or not even that."""
    if access.may_manage(request.user, room):
        return reverse("ask_bridge:manage-members", args=(room.slug,))
    return page_of(request, room)


def _page(request: HttpRequest, form: NewRoomForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {**base_context(request), "rail_place": "new-room", "form": form}
    context["has_archived"] = bool(access.archived_rooms(request.user))
    return render(request, "ask_bridge/manage_new_room.html", context, status=status)


@page
@require_safe
def archived_rooms(request: HttpRequest) -> HttpResponse:
    """The archived rooms that this person can restore; an empty list for all others."""
    context = {**base_context(request), "archived": access.archived_rooms(request.user)}
    return render(request, "ask_bridge/manage_archived_rooms.html", context)
