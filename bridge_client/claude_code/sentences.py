"""Sentences about the end of a question, for models and people.

What people wrote is in quotes in each sentence, on one line and with escapes. So no text can look like
another note, another answer or the words of another person.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge_client.claude_code.answer_text import UNSEEN, quoted
from bridge_client.claude_code.answers import claude_answers
from bridge_client.results import Answered, AskedBack, Choice, Declined, Expired, Question

# A model that gets only "no answer" repeats its question many times.
DO_NOT_ASK_AGAIN = (
    "Do not ask it again: go on with what you can decide yourself, or stop and say what you need."
)

NO_ANSWER_YET = "Nobody has answered yet"


def no_answer_sentence(question: Question) -> str:
    """Why there is no answer: the beginning of a sentence that ends with the time."""
    return "Too few people agreed" if question.is_voted_on else "Nobody answered"


def no_answer_yet_sentence(question: Question) -> str:
    """Why there is no answer so far."""
    return "Too few people agree so far" if question.is_voted_on else NO_ANSWER_YET


def expired_sentence(question: Question) -> str:
    """Why the question ended without an answer and without its default."""
    if question.ended == "no_agent_waiting":
        return "The question was closed without an answer, because no agent was waiting for it any more"
    return f"{no_answer_sentence(question)} before the question's deadline"


def withdrawn_sentence(question: Question) -> str:
    """Who withdrew the question: the beginning of a sentence."""
    if question.ended == "room_archived":
        return "The question was closed with its room"
    if question.ended == "person":
        name = question.ended_by.name if question.ended_by else "A person"
        return f"{name} withdrew the question"
    return "The question was taken back"


def default_sentence(result: Expired) -> str:
    return (
        f"{no_answer_sentence(result.question)} in time. "
        "These are the defaults that the question named, not a person's choice."
    )


def declined_sentence(result: Declined) -> str:
    """Who declined, and why; a person who asks back expects a reply and the question again."""
    name = as_name(result.by.name) if result.by else "Somebody"
    if isinstance(result, AskedBack):
        return (
            f"{name} asks back instead of choosing: {quoted(result.reason)}. Answer that in your next "
            "message, and ask the question again if it is still open."
        )
    if result.reason:
        return f"{name} chose not to answer: {quoted(result.reason)}"
    return f"{name} chose not to answer."


def answers_sentence(result: Answered) -> str:
    """Who answered what, for a model whose tool may not pass the answers on."""
    names = all_names(result.names or ["Somebody"])
    return f"{names} answered: {answers_in_words(result.choices, result.question)}"


def answers_in_words(choices: Sequence[Choice], question: Question) -> str:
    """`"Which database?" = SQLite; "Which checks?" = Unit, Browser`."""
    answers = claude_answers(choices, question.prompts)
    return "; ".join(f"{quoted(text)} = {answer}" for text, answer in answers.items())


def all_names(names: Sequence[str]) -> str:
    """`Ana, Ben and Cleo`."""
    *others, last = [as_name(name) for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def as_name(name: str) -> str:
    """The name, in quotes if it could be read as several names or as part of the sentence."""
    is_ambiguous = UNSEEN.search(name) or any(sign in name for sign in ('"', ":", ",", " and "))
    return quoted(name) if is_ambiguous else name
