"""The section Members of a room's settings: find, add and remove people and groups, change their role."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from rooms import access, lifecycle, membership
from rooms.models import GroupMembership, Membership, Room
from rooms.pages.manage.invitation_form import InvitationForm, listed
from rooms.pages.manage.settings_page import back_to, page_of, section_page
from rooms.permissions import permissions
from rooms.web import form, page

MEMBERS_PER_PAGE = 50


@page
@require_safe
def members(request: HttpRequest, room: str) -> HttpResponse:
    return members_page(request, access.managed_room(request.user, room))


@form
def add(request: HttpRequest, room: str) -> HttpResponse:
    """Add a person or a group that was found."""
    own_room = access.managed_room(request.user, room)
    if "group" in request.POST:
        group = access.group_to_add(request.user, own_room, request.POST["group"])
        lifecycle.add_group(own_room, group, _role(request), by=request.user)
        return back_to(own_room, "manage-members", saved="added", fragment="ab-members")
    user = access.person_to_add(request.user, own_room, request.POST.get("user", ""))
    lifecycle.add_member(own_room, user, _role(request), by=request.user)
    return back_to(own_room, "manage-members", saved="added", fragment="ab-members")


@form
def change_role(request: HttpRequest, room: str) -> HttpResponse:
    """The form names the new role, so that sending it twice does not undo it."""
    own_room = access.managed_room(request.user, room)
    try:
        lifecycle.change_role(_own_membership(request, own_room), _role(request), by=request.user)
    except lifecycle.LastManager:
        return _last_manager(request, own_room)
    return _back(request, own_room, "role")


@form
def remove(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room)
    try:
        lifecycle.remove_member(_own_membership(request, own_room), by=request.user)
    except lifecycle.LastManager:
        return _last_manager(request, own_room)
    return _back(request, own_room, "removed")


def _back(request: HttpRequest, room: Room, saved: str) -> HttpResponse:
    """To the list; a person who gave up managing the room cannot see it any more."""
    if access.may_manage(request.user, room):
        return back_to(room, "manage-members", saved=saved, fragment="ab-members")
    return redirect(page_of(request, room))


def _last_manager(request: HttpRequest, room: Room) -> HttpResponse:
    sentence = gettext("This is the only manager of the room: make another person a manager first.")
    return members_page(request, room, status=409, problem=sentence)


def _role(request: HttpRequest) -> str:
    role = request.POST.get("role")
    return Membership.Role.MANAGER if role == Membership.Role.MANAGER else Membership.Role.MEMBER


def _own_membership(request: HttpRequest, room: Room) -> Membership | GroupMembership:
    """The form names the membership of a person or of a group."""
    name, of_room = (
        ("group", room.group_memberships) if "group" in request.POST else ("member", room.memberships)
    )
    number = request.POST.get(name, "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    found = of_room.select_related("room").filter(pk=number).first() if is_number else None
    if found is None:
        raise Http404("There is no such member.")
    return found


def members_page(request: HttpRequest, room: Room, status: int = 200, **context: Any) -> HttpResponse:
    """The section, also as the reply of a form that shows something once."""
    query = request.GET.get("q", "").replace("\x00", "").strip()[:100]
    memberships = room.memberships.select_related("user").order_by("role", "pk")  # "manager" before "member"
    shown = {
        "query": query,
        "found": _found(request, room, query) if query else [],
        "found_groups": _found_groups(request, room, query) if query else [],
        "has_groups": membership.belonging() is not None,
        "groups": _groups(room),
        "members": Paginator(memberships, MEMBERS_PER_PAGE).get_page(request.GET.get("page")),
        # Also those of groups.
        "manager_count": membership.people(room, Membership.Role.MANAGER).count(),
        # Not where the rules of a portal say who sees a room, instead of the members.
        "counts_members": permissions().knows_by_membership,
        "form": InvitationForm(),
        "invitations": listed(room),
        **context,
    }
    return section_page(request, room, "manage-members", "manage_members.html", status, **shown)


def _found(request: HttpRequest, room: Room, query: str) -> list[dict[str, Any]]:
    """People for the query, each with their role if they are members already."""
    people = access.find_people(request.user, room, query)
    memberships = room.memberships.filter(user__in=[person.pk for person in people])
    roles = {membership.user_id: membership.get_role_display() for membership in memberships}
    return [{"person": person, "role": roles.get(person.pk, "")} for person in people]


def _found_groups(request: HttpRequest, room: Room, query: str) -> list[dict[str, Any]]:
    """Groups for the query, each with its number of people, and with its role if it is a member already."""
    groups = access.find_groups(request.user, room, query)
    roles = {row.group_id: row.get_role_display() for row in room.group_memberships.filter(group__in=groups)}
    counts = membership.people_per_group(groups)
    return [
        {"group": group, "role": roles.get(group.pk, ""), "people": counts.get(group.pk, 0)}
        for group in groups
    ]


def _groups(room: Room) -> list[dict[str, Any]]:
    """The groups of the room, managers first, each with its number of people."""
    rows = list(room.group_memberships.select_related("group").order_by("role", "pk"))
    counts = membership.people_per_group([row.group_id for row in rows])
    return [{"row": row, "people": counts.get(row.group_id, 0)} for row in rows]
