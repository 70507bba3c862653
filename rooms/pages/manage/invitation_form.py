"""The form of a new invitation link, and the list of the links of a room."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from rooms import lifecycle
from rooms.models import Room

# Ended links stay in the list for a look back; older ones are in the audit log.
MOST_LISTED = 30


def _numbers_of_people() -> list[tuple[int, str]]:
    texts = [(number, ngettext("%(count)s person", "%(count)s people", number)) for number in (1, 5, 25, 100)]
    return [(number, text % {"count": number}) for number, text in texts]


class InvitationForm(forms.Form):
    days = forms.TypedChoiceField(
        choices=[(1, _("1 day")), (7, _("7 days")), (30, _("30 days"))], coerce=int, initial=7
    )
    max_uses = forms.TypedChoiceField(choices=_numbers_of_people, coerce=int, initial=5)


def listed(room: Room) -> list[dict[str, Any]]:
    """The newest links of the room, each with whether it works."""
    invitations = list(room.invitations.select_related("created_by", "room")[:MOST_LISTED])
    # Asked once for each person who made some of them.
    usable = {one.created_by_id: one for one in invitations if one.is_usable}
    managing = {person for person, one in usable.items() if lifecycle.is_vouched_for(one)}
    return [
        {"invitation": one, "is_vouched_for": one.is_usable and one.created_by_id in managing}
        for one in invitations
    ]
