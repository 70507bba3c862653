"""Buttons of a push notification: the options that can be chosen without opening the card."""

from typing import Any

from rooms import access
from rooms.models import Question
from rooms.notifications.content import BODY_CHARACTERS, one_line
from rooms.people import preferences
from rooms.rendering.card_content import Card

# A longer label would be cut off on the button, and so might its meaning.
LABEL_CHARACTERS = 60


def offered_labels(question: Question, user: Any) -> list[str]:
    """The labels of the options, if this person can decide with one press; else none.

    One prompt with one choice, all of which can be read in the notification. Not for careful questions, whose
    card shows who has a say; nor for people who always confirm with Submit, because one press would send.
    """
    card = Card(question)
    is_open = question.is_open and not question.is_held and question.is_understood
    is_plain = is_open and card.sends_on_click and question.care is None
    if not is_plain or card.prompts[0].has_previews or not access.may_answer(user, question.room):
        return []
    texts = [card.prompts[0].plain_question, *(option.label for option in card.prompts[0].options)]
    limits = [BODY_CHARACTERS, *[LABEL_CHARACTERS] * len(card.prompts[0].options)]
    is_whole = all(
        one_line(text, limit) == " ".join(text.split()) for text, limit in zip(texts, limits, strict=True)
    )
    # Two options may differ only in "(Recommended)", which a button does not show.
    is_clear = len(set(texts[1:])) == len(texts[1:])
    if not is_whole or not is_clear or preferences.preferences_of(user).always_submit:
        return []
    return [one_line(text, LABEL_CHARACTERS) for text in texts[1:]]
