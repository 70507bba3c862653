"""The care of a room as a form, for the admin and for the page of its managers."""

from typing import Any

from django import forms
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms import access
from rooms.contract.care import (
    ESCALATION_SECONDS,
    LONGEST_ESCALATION_SECONDS,
    LONGEST_UNDO_SECONDS,
    MOST_PEOPLE,
    Care,
    care_of,
)
from rooms.contract.types import InvalidPayload, parse
from rooms.models import Room

CARE_FIELDS = ("first_role", "first_people", "votes_needed", "undo_seconds", "escalate_seconds")


class CareForm(forms.ModelForm):
    """`Room.care` is one JSON value; the form has a field for each of its parts."""

    first_role = forms.ChoiceField(
        label=_("Ask first"),
        choices=[("", _("all at the same time")), ("manager", _("managers")), ("member", _("members"))],
        required=False,
    )
    first_people = forms.CharField(
        label=_("Ask these people first"),
        required=False,
        help_text=_("User names, or group:NAME for the people of a group, separated by commas."),
    )
    votes_needed = forms.IntegerField(
        label=_("Matching votes needed"), min_value=2, max_value=MOST_PEOPLE, required=False
    )
    undo_seconds = forms.IntegerField(
        label=_("Undo period in seconds"),
        min_value=1,
        max_value=LONGEST_UNDO_SECONDS,
        required=False,
        help_text=_("The agent receives a decision only after this time."),
    )
    escalate_seconds = forms.IntegerField(
        label=_("Seconds until managers are notified"),
        min_value=1,
        max_value=LONGEST_ESCALATION_SECONDS,
        required=False,
        help_text=format_lazy(
            _("After that, all may answer. If people are asked first and this is empty: {seconds}."),
            seconds=ESCALATION_SECONDS,
        ),
    )

    class Meta:
        model = Room
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        care = care_of(self.instance.care)
        if care:
            self.initial.update(
                first_role=(care.first.role if care.first else "") or "",
                first_people=", ".join(care.first.people) if care.first else "",
                votes_needed=care.votes.needed if care.votes else None,
                undo_seconds=care.undo_seconds,
                escalate_seconds=care.escalate_seconds,
            )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        people = [name.strip() for name in cleaned.get("first_people", "").split(",") if name.strip()]
        role = cleaned.get("first_role") or None
        asked = {
            "first": {"people": people, "role": role} if people or role else None,
            "votes": cleaned.get("votes_needed"),
            "undo_seconds": cleaned.get("undo_seconds"),
            "escalate_seconds": cleaned.get("escalate_seconds"),
        }
        try:
            care = parse(Care, asked)
            # A room that is not saved yet has no members to choose from.
            if self.instance.pk:
                access.check_named(self.instance, care)
            elif people:
                self.add_error("first_people", gettext("Save the room with its members first."))
        except InvalidPayload as problem:
            self.add_error("first_people", f"{capfirst(problem.errors[0].message)}.")
        else:
            self.instance.care = care.model_dump() if any(asked.values()) else None
        return cleaned

    @property
    def changed_fields(self) -> list[str]:
        """The columns that were edited."""
        changed = [name for name in self.changed_data if name not in CARE_FIELDS]
        return changed if len(changed) == len(self.changed_data) else [*changed, "care"]
