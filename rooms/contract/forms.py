"""HTML forms: the form of a card, and those for messages, skips and keys."""

from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.contract.choices import check_choices
from rooms.contract.ids import is_nonce
from rooms.contract.limits import FREE_TEXT_LENGTH, MESSAGE_LENGTH
from rooms.contract.prompts import Prompt
from rooms.contract.scopes import DEFAULT_SCOPES
from rooms.contract.types import FieldError, InvalidPayload

OTHER = "other"


@dataclass(frozen=True)
class Draft:
    """The input for one prompt, valid or not, so that the form can show it again."""

    selected: list[int]
    wants_other: bool
    other: str
    notes: str

    @property
    def lacks_text(self) -> bool:
        """Whether Other is ticked without a text."""
        return self.wants_other and not self.other.strip()

    def as_choice(self, prompt: Prompt) -> dict[str, Any]:
        """The choice that it means: text without a tick counts as Other where possible, else as a note."""
        labels = [prompt.labels[index] for index in self.selected]
        other_counts = self.wants_other or prompt.multi_select or not labels
        notes = [self.notes, "" if other_counts else self.other]
        return {
            "question": prompt.question,
            "selectedOptions": labels,
            "customInput": (self.other.strip() or None) if other_counts else None,
            "notes": "\n".join(note.strip() for note in notes if note.strip()) or None,
        }


def read_drafts(prompts: list[Prompt], data: QueryDict) -> list[Draft]:
    """The fields `choice-0`, `other-0`, `notes-0` and so on, one draft per prompt."""
    drafts = []
    for index, prompt in enumerate(prompts):
        values = data.getlist(choice_field(index))
        offered = {str(number): number for number in range(len(prompt.options))}
        drafts.append(
            Draft(
                selected=[offered[value] for value in values if value in offered],
                wants_other=OTHER in values,
                other=_text(data, other_field(index)),
                notes=_text(data, f"notes-{index}"),
            )
        )
    return drafts


def as_choices(prompts: list[Prompt], drafts: list[Draft]) -> list[dict[str, Any]]:
    """The choices that the drafts mean; InvalidPayload has all errors, also of an Other without text."""
    choices = [draft.as_choice(prompt) for draft, prompt in zip(drafts, prompts, strict=True)]
    lacking = [index for index, draft in enumerate(drafts) if draft.lacks_text]
    if not lacking:
        return choices
    message = gettext("Other needs a text of your own")
    errors = [FieldError(field=other_field(index), message=message) for index in lacking]
    others = [index for index in range(len(prompts)) if index not in lacking]
    try:
        check_choices([prompts[index] for index in others], [choices[index] for index in others])
    except InvalidPayload as problem:
        errors += problem.errors
    raise InvalidPayload(errors)


def choice_field(index: int) -> str:
    """The name of the options of this prompt."""
    return f"choice-{index}"


def other_field(index: int) -> str:
    """The name of the text field for Other of this prompt."""
    return f"other-{index}"


def read_reply(data: QueryDict) -> str:
    """The field `reply`: a text for the agent instead of a choice."""
    return _text(data, "reply")


def read_nonce(data: QueryDict) -> str:
    """The field `nonce`, which is the same when a message is sent again; empty if it is not valid."""
    nonce = _text(data, "nonce")
    return nonce if is_nonce(nonce) else ""


def read_key(data: QueryDict) -> str:
    """The field `key`: the lookup of the key that a button is for."""
    return _text(data, "key")


def _text(data: QueryDict, name: str) -> str:
    # Browsers send CRLF; agents expect LF. NUL cannot be stored.
    return data.get(name, "").replace("\r\n", "\n").replace("\x00", "")


class SkipForm(forms.Form):
    reason = forms.CharField(max_length=FREE_TEXT_LENGTH, required=False)


class MessageForm(forms.Form):
    content = forms.CharField(max_length=MESSAGE_LENGTH)


class KeyForm(forms.Form):
    label = forms.CharField(max_length=80)
    expires_in_days = forms.TypedChoiceField(
        choices=[
            ("", _("works until it is revoked")),
            ("7", _("works for 7 days")),
            ("30", _("works for 30 days")),
            ("90", _("works for 90 days")),
            ("365", _("works for a year")),
        ],
        coerce=int,
        empty_value=None,
        required=False,
    )
    scopes = forms.TypedChoiceField(
        choices=[
            ("", _("asks and reports the terminal")),
            ("ask", _("only asks")),
            ("answer", _("answers for named people, such as a chat bot")),
            ("ask answer", _("asks, and answers for named people")),
        ],
        coerce=str.split,
        empty_value=cast(Any, DEFAULT_SCOPES),  # the stubs know only texts
        required=False,
    )
