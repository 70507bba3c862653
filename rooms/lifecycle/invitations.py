"""Verbs of invitation links: create, revoke, and join a room through one.

A link has a public part, by which it is found, and a secret part, of which only a keyed hash is stored.
"""

import re
import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from rooms import audit, membership
from rooms.audit import Action, actor_of
from rooms.contract.ids import ALPHABET
from rooms.crypto import is_keyed_hash_of, keyed_hash
from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.exceptions import InvitationEnded, TooManyInvitations
from rooms.models import Invitation, Membership, Room
from rooms.permissions import permissions

PURPOSE = "ask_bridge.invitation"
LOOKUP_CHARACTERS = 10
SECRET_CHARACTERS = 32  # from an alphabet of 32: 160 bits
TOKEN_PATTERN = re.compile(f"([{ALPHABET}]{{{LOOKUP_CHARACTERS}}})([{ALPHABET}]{{{SECRET_CHARACTERS}}})")
# More than a manager keeps an overview of.
INVITATIONS_PER_ROOM = 20


def create_invitation(room: Room, by: Person, *, days: int, max_uses: int) -> tuple[Invitation, str]:
    """A new link, and its token, which is not stored and cannot be shown again."""
    lookup, secret = _characters(LOOKUP_CHARACTERS), _characters(SECRET_CHARACTERS)
    with writing():
        Room.objects.using(alias()).select_for_update().get(pk=room.pk)
        if room.invitations.usable().count() >= INVITATIONS_PER_ROOM:
            raise TooManyInvitations
        invitation = Invitation.objects.create(
            room=room,
            lookup=lookup,
            digest=keyed_hash(PURPOSE, secret),
            created_by_id=by.pk,
            ends_at=timezone.now() + timedelta(days=days),
            max_uses=max_uses,
        )
        named = {"ends_at": invitation.ends_at.isoformat(), "max_uses": max_uses}
        _record(Action.INVITATION_CREATED, invitation, by, **named)
    return invitation, lookup + secret


def revoke_invitation(invitation: Invitation, by: Person) -> None:
    """Stop a link. People who joined through it stay."""
    with writing():
        alive = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
        if alive.update(revoked_at=timezone.now()):
            _record(Action.INVITATION_REVOKED, invitation, by)


def invitation_of(token: str, user: Person) -> Invitation:
    """The link with this token; InvitationEnded if there is none, it has ended, or is not for this person."""
    match = TOKEN_PATTERN.fullmatch(token)
    lookup, secret = match.groups() if match else ("", "")
    found = Invitation.objects.select_related("room", "created_by").filter(lookup=lookup).first()
    if found is None or not is_keyed_hash_of(PURPOSE, secret, found.digest) or found.room.archived_at:
        raise InvitationEnded
    # A link that is used up still leads those who used it to their room.
    if not is_member(found.room, user) and not _is_for(found, user):
        raise InvitationEnded
    return found


def is_vouched_for(invitation: Invitation) -> bool:
    """Whether the person who made it still manages the room: otherwise it does not work."""
    creator = invitation.created_by
    if creator is None or not creator.is_active:
        return False
    return permissions().may_manage(creator, invitation.room)


def _is_for(invitation: Invitation, user: Person) -> bool:
    """Whether this person, who is no member, can join through it now."""
    creator = invitation.created_by
    if creator is None or not invitation.is_usable or not is_vouched_for(invitation):
        return False
    return permissions().people(creator, invitation.room).filter(pk=user.pk).exists()


def join(invitation: Invitation, user: Person) -> None:
    """Become a member through a link. It counts one use for each new member, however often it is sent."""
    if is_member(invitation.room, user):
        return  # through a group, too: a membership of their own would outlast it
    with writing(), audit.acting_as(user):
        # The statement that counts also checks: of many people at once, only as many as the limit allows get
        # through. It locks the row until the commit.
        usable = Invitation.objects.usable().filter(pk=invitation.pk)
        if not usable.update(uses=F("uses") + 1):
            if is_member(invitation.room, user):
                return
            raise InvitationEnded
        user_id: Any = user.pk
        _, is_new = Membership.objects.get_or_create(room=invitation.room, user_id=user_id)
        if not is_new:
            transaction.set_rollback(True, using=alias())
            return
        _record(Action.INVITATION_USED, invitation, user)


def is_member(room: Room, user: Person) -> bool:
    """Whether this person belongs to the room, alone or through a group."""
    return membership.is_member(room, user)


def _characters(number: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(number))


def _record(action: Action, invitation: Invitation, by: Person, **details: Any) -> None:
    audit.record(action, invitation.room, actor_of(by), invitation.lookup, **details)
