"""The section Retention of a room's settings: for how long it keeps settled questions and messages."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.conf import setting
from rooms.lifecycle import Removed
from rooms.models import LONGEST_KEEP_DAYS, Room
from rooms.pages.manage.settings_page import back_to, section_page
from rooms.web import page


class RetentionForm(forms.ModelForm):
    """A number that removes something has to be confirmed: the page says how much first."""

    keep_days = forms.IntegerField(min_value=0, max_value=LONGEST_KEEP_DAYS, required=False)
    confirmed = forms.BooleanField(required=False)

    class Meta:
        model = Room
        fields = ("keep_days",)

    def would_remove(self) -> Removed:
        since = lifecycle.kept_since(self.instance)
        return lifecycle.count_old(self.instance, since) if since else Removed()


@page
@require_http_methods(["GET", "HEAD", "POST"])
def retention(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room)
    if request.method != "POST":
        return _page(request, own_room, RetentionForm(instance=own_room))
    form = RetentionForm(request.POST, instance=own_room)
    if not form.is_valid():
        return _page(request, access.managed_room(request.user, room), form, status=422)
    if "keep_days" in form.changed_data:
        removed = form.would_remove()
        if removed and not form.cleaned_data["confirmed"]:
            return _page(request, own_room, form, status=422, removed=removed)
        lifecycle.change_room(own_room, ["keep_days"], by=request.user)
    return back_to(own_room, "manage-retention", saved="retention")


def _page(
    request: HttpRequest, room: Room, form: RetentionForm, status: int = 200, removed: Removed | None = None
) -> HttpResponse:
    context = {"form": form, "removed": removed, "site_days": setting("KEEP_DAYS")}
    return section_page(request, room, "manage-retention", "manage_retention.html", status, **context)
