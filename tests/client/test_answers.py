"""Claude's answers from the terminal, converted to choices."""

from typing import Any

import pytest

from bridge_client import (
    Choice,
)
from bridge_client.claude_code.answers import NOT_ANSWERED, choices_from_claude

INPUT: dict[str, Any] = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "options": [{"label": "PostgreSQL", "preview": "CREATE TABLE"}, {"label": "SQLite"}],
        },
        {
            "question": "Which checks?",
            "multiSelect": True,
            "options": [{"label": "Unit"}, {"label": "Unit, slow"}, {"label": "Browser"}],
        },
    ],
    "metadata": {"source": "test"},
}


def back(answer: Any, annotation: Any = None, prompt: int = 1) -> Choice:
    text = INPUT["questions"][prompt]["question"]
    (choice,) = choices_from_claude([INPUT["questions"][prompt]], {text: answer}, {text: annotation})
    assert choice.question == text
    return choice


@pytest.mark.parametrize(
    ("answer", "labels", "custom"),
    [
        ("Unit", ["Unit"], None),
        ("Unit, Browser", ["Unit", "Browser"], None),
        ("Unit, slow, Browser", ["Unit, slow", "Browser"], None),
        ("Unit, by hand, twice", ["Unit"], "by hand, twice"),
        ("by hand", [], "by hand"),
        (["Unit", "by hand"], ["Unit"], "by hand"),
        ("Units", [], "Units"),
    ],
)
def test_joined_labels_are_split(answer: Any, labels: list[str], custom: str | None) -> None:
    choice = back(answer)
    assert (choice.selected_options, choice.custom_input) == (labels, custom)


def test_a_single_choice_is_never_split() -> None:
    assert back("PostgreSQL", prompt=0).selected_options == ["PostgreSQL"]
    assert back("PostgreSQL, SQLite", prompt=0).custom_input == "PostgreSQL, SQLite"


def test_notes_are_kept() -> None:
    assert back("Unit", {"notes": "quickly"}).notes == "quickly"
    assert back("Unit", "strange").notes is None


@pytest.mark.parametrize("answer", [None, "", "  ", 7, []])
def test_a_question_without_an_answer_is_marked(answer: Any) -> None:
    assert back(answer).custom_input == NOT_ANSWERED
