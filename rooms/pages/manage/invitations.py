"""Invitation links: create and revoke them in a room's settings, and the page that they lead to."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from rooms import access, lifecycle
from rooms.models import Invitation, Room
from rooms.pages.manage.invitation_form import InvitationForm
from rooms.pages.manage.members import members_page
from rooms.pages.manage.settings_page import back_to, page_of
from rooms.web import base_context, form, page


@form
def invite(request: HttpRequest, room: str) -> HttpResponse:
    """Create a link, which only this reply shows."""
    own_room = access.managed_room(request.user, room)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return members_page(request, own_room, status=422, form=form)
    try:
        invitation, token = lifecycle.create_invitation(own_room, request.user, **form.cleaned_data)
    except lifecycle.TooManyInvitations:
        form.add_error(None, gettext("This room has too many invitation links: revoke one first."))
        return members_page(request, own_room, status=422, form=form)
    link = request.build_absolute_uri(reverse("ask_bridge:join", args=(token,)))
    return members_page(request, own_room, invitation=invitation, link=link)


@form
def revoke(request: HttpRequest, room: str) -> HttpResponse:
    own_room = access.managed_room(request.user, room)
    lifecycle.revoke_invitation(_own_invitation(request, own_room), by=request.user)
    return back_to(own_room, "manage-members", saved="revoked", fragment="ab-invitations")


def _own_invitation(request: HttpRequest, room: Room) -> Invitation:
    lookup = request.POST.get("invitation", "").replace("\x00", "")
    found = room.invitations.filter(lookup=lookup).first()
    if found is None:
        raise Http404("There is no such invitation.")
    return found


@page
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a link: a button to join. Ended links and those that never existed look the same."""
    # The log of a failed request must not have the token.
    request.path = reverse("ask_bridge:join", args=("…",))
    try:
        invitation = lifecycle.invitation_of(token, request.user)
        if request.method == "POST":
            lifecycle.join(invitation, request.user)
    except lifecycle.InvitationEnded:
        return _page(request, status=404)
    if not lifecycle.is_member(invitation.room, request.user):
        inviter = lifecycle.name_of(invitation.created_by) if invitation.created_by else ""
        return _page(request, token=token, invitation=invitation, inviter=inviter)
    return redirect(page_of(request, invitation.room))  # the rules of a portal decide who sees the room


def _page(request: HttpRequest, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "ask_bridge/join.html", {**base_context(request), **context}, status=status)
