"""Decision memory: what people answered earlier when an agent asked very nearly the same.

Alike are questions whose texts share most of their trigrams, which are any three characters in a row. To find
them among hundreds of thousands, each answered question has a few words in the full-text index that are made
of its trigrams so that similar texts have some of these words in common, and others hardly ever (MinHash, in
bands). A look for any of them gives few candidates, and those are compared exactly.

File names, numbers and code count half: "Delete `old.py`?" is like "Delete `new.py`?", but not the same.
"""

import hashlib
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rooms.history.index import Look
from rooms.history.tokenizer import words_of
from rooms.models import Answer, Question

# What a card shows: more would not be read, and the newest of equals says what holds today.
SHOWN = 3
# What an agent may ask for.
MOST = 20
# Below this they are other questions: "delete" and "rename" of one file are at 0.59, a question with two
# words more or another verb is at 0.61 to 0.69. See `tests/rooms/test_history_similar.py`.
ALIKE = 0.6
# The newest that share a word are compared. Most that do are alike, so more would only be older.
CANDIDATES = 50
# Three values make a word, so that two texts share one with the third power of their likeness: 0.98 of those
# at 0.6 share one of sixteen, 0.12 of those at 0.2.
BANDS = 16
ROWS = 3
# A text says what it is about in its beginning; the rest may be a whole log.
COMPARED_CHARACTERS = 1_000
# With nothing on offer in common, the same words ask for something else.
OPTIONS_WEIGHT = 0.25

SPECIFIC = re.compile(r"`[^`]*`|\S*[\d/\\_=]\S*|\S+\.\w\S*")
# A word that stands for any of these.
ANYTHING = " qxq "


@dataclass(frozen=True)
class Likeness:
    """What of a question is compared with others."""

    general: frozenset[str]
    exact: frozenset[str]
    options: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, options: Sequence[str] = ()) -> "Likeness":
        return _likeness(text[:COMPARED_CHARACTERS], tuple(options))

    @classmethod
    def of_prompts(cls, prompts: list[dict[str, Any]]) -> "Likeness":
        return cls.of(
            " ".join(prompt["question"] for prompt in prompts),
            tuple(option["label"] for prompt in prompts for option in prompt["options"]),
        )

    def words(self) -> list[str]:
        """For the index: similar questions have at least one of them in common."""
        if not self.general:
            return []
        # Each trigram gives a row of numbers as random as its digest; the least in each column stays.
        layout = struct.Struct(f"<{BANDS * ROWS}H")
        rows = (layout.unpack(_digest(trigram, layout.size)) for trigram in self.general)
        least = [min(column) for column in zip(*rows, strict=True)]
        bands = (least[start : start + ROWS] for start in range(0, len(least), ROWS))
        return [
            "zzm{:02d}{}".format(band, "".join(f"{value:04x}" for value in values))
            for band, values in enumerate(bands)
        ]

    def similarity(self, other: "Likeness") -> float:
        """From 0 to 1, which is the same but for case and punctuation."""
        texts = (_jaccard(self.general, other.general) + _jaccard(self.exact, other.exact)) / 2
        if not self.options or not other.options:
            return texts
        return texts * (1 - OPTIONS_WEIGHT + OPTIONS_WEIGHT * _jaccard(self.options, other.options))


@lru_cache(maxsize=64)  # the same questions come again and again
def _likeness(text: str, options: tuple[str, ...]) -> Likeness:
    labels = [label.replace("(Recommended)", "") for label in options]
    return Likeness(
        _trigrams(SPECIFIC.sub(ANYTHING, text)),
        _trigrams(text),
        frozenset(word for label in labels for word in words_of(label)),
    )


def _trigrams(text: str) -> frozenset[str]:
    words = f" {' '.join(words_of(text))} "
    return frozenset(words[start : start + 3] for start in range(len(words) - 2))


@lru_cache(maxsize=4096)  # what people write is made of the same few thousand
def _digest(trigram: str, size: int) -> bytes:
    return hashlib.shake_128(trigram.encode()).digest(size)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


# ---- remembering -----------------------------------------------------------------------------------------


def is_worth_remembering(question: Question) -> bool:
    """Only what a person decided; a default or an agent's own word is no example."""
    answer = question.answer_or_none
    if question.status != Question.Status.ANSWERED or answer is None:
        return False
    return bool(answer.username) or answer.via in (Answer.Via.WEB, Answer.Via.TERMINAL)


def remember(room_id: int, likeness: Likeness, limit: int = SHOWN) -> list[tuple[Question, float]]:
    """Earlier answered questions of the room that are most alike, the newest of equals first."""
    words = likeness.words()
    if not words:
        return []
    rows = Look([room_id], likeness=words).first(CANDIDATES)
    newest_first = [question_id for _, question_id in rows]
    # Only what is compared: most of them are not shown.
    prompts = dict(Question.objects.filter(pk__in=newest_first).values_list("pk", "prompts"))
    # To the percent, as it is shown: sorting keeps the order of equals.
    compared = [
        (question_id, round(likeness.similarity(Likeness.of_prompts(prompts[question_id])), 2))
        for question_id in newest_first
        if question_id in prompts
    ]
    alike = [(question_id, similarity) for question_id, similarity in compared if similarity >= ALIKE]
    best = sorted(alike, key=lambda found: -found[1])[:limit]
    questions = Question.objects.with_answer().in_bulk([question_id for question_id, _ in best])
    return [
        (questions[question_id], similarity) for question_id, similarity in best if question_id in questions
    ]


def memories_for(question: Question) -> list[dict[str, Any]]:
    """What its card is going to show of earlier answers, as it is stored with the question."""
    found = remember(question.room_id, Likeness.of_prompts(question.prompts))
    return [_memory(earlier, earlier.answer, similarity) for earlier, similarity in found]


def _memory(earlier: Question, answer: Answer, similarity: float) -> dict[str, Any]:
    return {
        "question_id": earlier.pk,
        "question": " · ".join(prompt["question"] for prompt in earlier.prompts),
        # Then recommended, which says nothing about now.
        "chosen": [chosen_in(choice).replace(" (Recommended)", "") for choice in answer.choices],
        "notes": [choice["notes"] for choice in answer.choices if choice.get("notes")],
        # Whoever answers in a terminal has no name.
        "person": answer.person_name,
        "at": answer.answered_at.isoformat(),
        "percent": round(similarity * 100),
    }


def chosen_in(choice: dict[str, Any]) -> str:
    """What was decided for one prompt, in one line."""
    own_words = choice.get("customInput")
    return ", ".join([*choice["selectedOptions"], *([own_words] if own_words else [])])
