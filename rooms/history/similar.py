"""Similar questions: earlier answers to nearly the same question, found with MinHash.

Two questions are similar if their texts share most of their trigrams (any three consecutive characters). To
find them among hundreds of thousands, each answered question has a few words in the full-text index that are
computed from its trigrams (MinHash, in bands): similar texts share at least one of these words, others hardly
ever. An index lookup for any of them returns few candidates, and those are compared exactly.

File names, numbers and code count half: "Delete `old.py`?" is similar to "Delete `new.py`?", not the same.
"""

import hashlib
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rooms.history.index_query import IndexQuery
from rooms.history.tokenizer import words_of
from rooms.models import Answer, Question
from rooms.rendering.option_memory import SHOWN

# The most that an agent may request.
MOST = 20
# Below this they are different questions: "delete" and "rename" of one file are at 0.59, a question with two
# words more or another verb is at 0.61 to 0.69. See `tests/rooms/test_history_similar.py`.
MIN_SIMILARITY = 0.6
# The newest that share a word are compared. Most of them are similar, so more would only be older.
CANDIDATES = 50
# Three values make a word, so two texts share a given word with the probability similarity³: of texts at 0.6,
# 0.98 share at least one of sixteen; of texts at 0.2, 0.12.
BANDS = 16
ROWS = 3
# The beginning of a text says what it is about; the rest may be a whole log.
COMPARED_CHARACTERS = 1_000
# The same text with entirely different options is a different question.
OPTIONS_WEIGHT = 0.25

SPECIFIC = re.compile(r"`[^`]*`|\S*[\d/\\_=]\S*|\S+\.\w\S*")
# Replaces each of these parts.
PLACEHOLDER = " qxq "


@dataclass(frozen=True)
class Fingerprint:
    """What is compared of a question: trigrams without and with specific parts, words of options."""

    general: frozenset[str]
    exact: frozenset[str]
    options: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, options: Sequence[str] = ()) -> "Fingerprint":
        return _fingerprint(text[:COMPARED_CHARACTERS], tuple(options))

    @classmethod
    def of_prompts(cls, prompts: list[dict[str, Any]]) -> "Fingerprint":
        return cls.of(
            " ".join(prompt["question"] for prompt in prompts),
            tuple(option["label"] for prompt in prompts for option in prompt["options"]),
        )

    def words(self) -> list[str]:
        """MinHash words for the index: similar questions share at least one."""
        if not self.general:
            return []
        # Each trigram gives a row of pseudo-random numbers; the minimum of each column is kept.
        layout = struct.Struct(f"<{BANDS * ROWS}H")
        rows = (layout.unpack(_digest(trigram, layout.size)) for trigram in self.general)
        minima = [min(column) for column in zip(*rows, strict=True)]
        bands = (minima[start : start + ROWS] for start in range(0, len(minima), ROWS))
        return [
            "zzm{:02d}{}".format(band, "".join(f"{value:04x}" for value in values))
            for band, values in enumerate(bands)
        ]

    def similarity(self, other: "Fingerprint") -> float:
        """From 0 to 1; 1 means the same except for case and punctuation."""
        texts = (_jaccard(self.general, other.general) + _jaccard(self.exact, other.exact)) / 2
        if not self.options or not other.options:
            return texts
        return texts * (1 - OPTIONS_WEIGHT + OPTIONS_WEIGHT * _jaccard(self.options, other.options))


@lru_cache(maxsize=64)  # agents often repeat a question
def _fingerprint(text: str, options: tuple[str, ...]) -> Fingerprint:
    labels = [label.replace("(Recommended)", "") for label in options]
    return Fingerprint(
        _trigrams(SPECIFIC.sub(PLACEHOLDER, text)),
        _trigrams(text),
        frozenset(word for label in labels for word in words_of(label)),
    )


def _trigrams(text: str) -> frozenset[str]:
    words = f" {' '.join(words_of(text))} "
    return frozenset(words[start : start + 3] for start in range(len(words) - 2))


@lru_cache(maxsize=4096)  # texts consist of the same few thousand trigrams
def _digest(trigram: str, size: int) -> bytes:
    return hashlib.shake_128(trigram.encode()).digest(size)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


# ---- remembering -----------------------------------------------------------------------------------------


def is_worth_remembering(question: Question) -> bool:
    """Whether a person answered it: not a default, and not an answer over the API that names no person."""
    answer = question.answer_or_none
    if question.status != Question.Status.ANSWERED or answer is None:
        return False
    return bool(answer.username) or answer.via in (Answer.Via.WEB, Answer.Via.TERMINAL)


def find_similar(room_id: int, fingerprint: Fingerprint, limit: int = SHOWN) -> list[tuple[Question, float]]:
    """The most similar answered questions of the room with their similarity; newest first if equal."""
    words = fingerprint.words()
    if not words:
        return []
    rows = IndexQuery([room_id], similarity_words=words).newest_entries(CANDIDATES)
    newest_first = [question_id for _, question_id in rows]
    # Only the prompts, because most candidates are not shown.
    prompts = dict(Question.objects.filter(pk__in=newest_first).values_list("pk", "prompts"))
    # Rounded to the percent that is shown. The sort is stable, so of equals the newest stays first.
    compared = [
        (question_id, round(fingerprint.similarity(Fingerprint.of_prompts(prompts[question_id])), 2))
        for question_id in newest_first
        if question_id in prompts
    ]
    similar = [
        (question_id, similarity) for question_id, similarity in compared if similarity >= MIN_SIMILARITY
    ]
    best = sorted(similar, key=lambda found: -found[1])[:limit]
    questions = Question.objects.with_answer().in_bulk([question_id for question_id, _ in best])
    return [
        (questions[question_id], similarity) for question_id, similarity in best if question_id in questions
    ]


def earlier_answers_for(question: Question) -> list[dict[str, Any]]:
    """What its card shows of earlier answers, as stored with the question."""
    found = find_similar(question.room_id, Fingerprint.of_prompts(question.prompts))
    return [_earlier_answer(earlier, earlier.answer, similarity) for earlier, similarity in found]


def _earlier_answer(earlier: Question, answer: Answer, similarity: float) -> dict[str, Any]:
    return {
        "question_id": earlier.pk,
        "question": " · ".join(prompt["question"] for prompt in earlier.prompts),
        # It was recommended then, which says nothing about now.
        "chosen": [chosen_in(choice).replace(" (Recommended)", "") for choice in answer.choices],
        # The options alone, without a text of the person's own.
        "selected": [choice["selectedOptions"] for choice in answer.choices],
        "notes": [choice["notes"] for choice in answer.choices if choice.get("notes")],
        # Empty for an answer in a terminal.
        "person": answer.person_name,
        "at": answer.answered_at.isoformat(),
        "percent": round(similarity * 100),
    }


def chosen_in(choice: dict[str, Any]) -> str:
    """What was decided for one prompt, in one line."""
    own_words = choice.get("customInput")
    return ", ".join([*choice["selectedOptions"], *([own_words] if own_words else [])])
