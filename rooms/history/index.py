"""Entries of the full-text index of the history: ids, text and labels of a settled question.

An entry has three kinds of words in one index of the database: those of its text; labels, which turn every
filter into a word; and those of `similar.py` that similar questions share. So any combination of words and
filters is one index lookup, which finds rare words as quickly as frequent ones.

Ids of entries follow the time at which a question was settled, so that "newest first" is the order of ids.
`index_query.py` searches the index.
"""

from datetime import UTC, datetime, timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from rooms.history.tokenizer import words_of
from rooms.models import Question

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Entries of the same microsecond differ in the remainder of their ids.
IDS_PER_MICROSECOND = 1024
# A 64-bit integer: reached in the year 2255. A search may name a later day.
LARGEST_ID = 2**63 - 1


class State(models.TextChoices):
    """How a question ended, as shown to people."""

    ANSWERED = "answered", _("Answered")
    SKIPPED = "skipped", _("Skipped")
    ASKED_BACK = "asked-back", _("Asked back")
    EXPIRED = "expired", _("Expired")
    WITHDRAWN = "withdrawn", _("Withdrawn")


def first_id_at(moment: datetime) -> int:
    """The smallest possible id of an entry that was settled at this moment."""
    return (moment - EPOCH) // timedelta(microseconds=1) * IDS_PER_MICROSECOND


def text_of(question: Question) -> str:
    """Everything of a question that a person may search for, as plain words."""
    answer = question.answer_or_none
    parts = [question.agent_name, question.context.get("text", "")]
    for prompt in question.prompts:
        parts += prompt["question"], prompt.get("header", "")
        for option in prompt["options"]:
            parts += option["label"], option.get("description", "")
    if answer:
        parts += answer.person_name, answer.reason
        for choice in answer.choices:
            parts += *choice["selectedOptions"], choice.get("customInput") or "", choice.get("notes") or ""
    return " ".join(word for part in parts for word in words_of(part))


def labels_of(question: Question) -> str:
    """Room, state and names as words. The prefix zz keeps them apart from words that people write."""
    answer = question.answer_or_none
    people = words_of(answer.person_name) if answer else []
    return " ".join(
        [
            room_label(question.room_id),
            state_label(state_of(question)),
            *map(person_label, people),
            *map(agent_label, words_of(question.agent_name)),
        ]
    )


def state_of(question: Question) -> State:
    if question.status != Question.Status.DECLINED:
        return State(question.status)
    answer = question.answer_or_none
    return State.ASKED_BACK if answer and answer.asks_back else State.SKIPPED


def room_label(room_id: int) -> str:
    return f"zzr{room_id}"


def state_label(state: State) -> str:
    return f"zzs{state.replace('-', '')}"


def person_label(word: str) -> str:
    return f"zzp{word}"


def agent_label(word: str) -> str:
    return f"zza{word}"
