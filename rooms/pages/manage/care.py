"""The section Careful questions of a room's settings."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.contract.care import GROUP_PREFIX
from rooms.models import Room
from rooms.pages.manage.care_form import CareForm
from rooms.pages.manage.settings_page import back_to, section_page
from rooms.web import page

# The user names that the page offers for the people who are asked first.
MOST_NAMES = 20


@page
@require_http_methods(["GET", "HEAD", "POST"])
def care(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room)
    if request.method != "POST":
        return _page(request, own_room, CareForm(instance=own_room))
    form = CareForm(request.POST, instance=own_room)
    if not form.is_valid():
        return _page(request, own_room, form, status=422)
    lifecycle.change_room(own_room, form.changed_fields, by=request.user)
    return back_to(own_room, "manage-care", saved="care")


def _page(request: HttpRequest, room: Room, form: CareForm, status: int = 200) -> HttpResponse:
    members = room.memberships.select_related("user").order_by("pk")[:MOST_NAMES]
    groups = room.group_memberships.select_related("group").order_by("pk")[:MOST_NAMES]
    names = [
        *(member.user.get_username() for member in members if member.user.is_active),
        *(f"{GROUP_PREFIX}{member.group}" for member in groups),
    ]
    return section_page(request, room, "manage-care", "manage_care.html", status, form=form, names=names)
