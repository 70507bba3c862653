"""The section General of a room's settings: its name, who sees it, and when stale questions are closed."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.models import CLOSE_AFTER_CHOICES, Room
from rooms.pages.manage.new_room import openness_field
from rooms.pages.manage.settings_page import back_to, section_page
from rooms.web import page

NEVER = "never"


class GeneralForm(forms.ModelForm):
    is_open = openness_field()
    # The page sends a word for "never": a missing field is an error.
    close_after_seconds = forms.TypedChoiceField(
        choices=[(NEVER if seconds is None else str(seconds), text) for seconds, text in CLOSE_AFTER_CHOICES],
        coerce=lambda text: None if text == NEVER else int(text),
    )

    class Meta:
        model = Room
        fields = ("name", "is_open")

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        seconds = self.instance.close_after_seconds
        self.initial["close_after_seconds"] = NEVER if seconds is None else str(seconds)
        self.initial["is_open"] = "on" if self.instance.is_open else ""

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


@page
@require_http_methods(["GET", "HEAD", "POST"])
def general(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room, archived_too=True)
    if own_room.archived_at:
        return redirect("ask_bridge:manage-archive", own_room.slug)
    if request.method != "POST":
        return _page(request, own_room, GeneralForm(instance=own_room))
    form = GeneralForm(request.POST, instance=own_room)
    if not form.is_valid():
        # The form has changed its instance: the page shows the room as it is stored.
        return _page(request, access.managed_room(request.user, room), form, status=422)
    changed = [name for name in form.changed_data if name != "close_after_seconds"]
    lifecycle.change_room(own_room, changed, by=request.user)
    lifecycle.close_questions_after(own_room, form.cleaned_data["close_after_seconds"], by=request.user)
    return back_to(own_room, "manage", saved="general")


def _page(request: HttpRequest, room: Room, form: GeneralForm, status: int = 200) -> HttpResponse:
    return section_page(request, room, "manage", "manage_general.html", status, form=form)
