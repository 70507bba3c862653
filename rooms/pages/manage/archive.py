"""The section Archive of a room's settings: archive the room, or restore it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.models import Question
from rooms.pages.manage.settings_page import back_to, section_page
from rooms.web import page


@page
@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HttpRequest, room: str) -> HttpResponse:
    """The form names the new state, so that sending it twice does not undo it."""
    own_room = access.managed_room(request.user, room, archived_too=True)
    if request.method == "POST" and request.POST.get("archive") == "on":
        lifecycle.archive_room(own_room, by=request.user)
        return back_to(own_room, "manage-archive")
    if request.method == "POST" and request.POST.get("archive") == "off":
        lifecycle.restore_room(own_room, by=request.user)
        return back_to(own_room, "manage-archive", saved="restored")
    counts = {
        "open_count": Question.objects.open().filter(room=own_room).count(),
        "key_count": own_room.keys.alive().count(),
    }
    return section_page(request, own_room, "manage-archive", "manage_archive.html", **counts)
