"""Labels that people can tell apart, and names on one line."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from rooms.contract.payload import NewMessage, parse_ask
from rooms.contract.types import InvalidPayload, parse
from rooms.contract.votes import Vote, decided_choices
from rooms.lifecycle.actors import name_of


def ask(*labels: str, header: str = "", agent: str = "agent") -> Any:
    prompt = {"question": "Which?", "header": header, "options": list(labels)}
    return parse_ask({"questions": [prompt], "agent": {"name": agent}})


def refusal(*labels: str, header: str = "") -> tuple[str, str]:
    with pytest.raises(InvalidPayload) as refused:
        ask(*labels, header=header)
    (error,) = refused.value.errors
    return error.field, error.message


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("Yes\x1b[2J", "U+001B"),
        ("Yes\nNo", "U+000A"),
        ("Yes\tNo", "U+0009"),
        ("Yes\x7f", "U+007F"),
        ("Yes\x9b2J", "U+009B"),
        ("Yes\u2028No", "U+2028"),
        ("Yes \u202eoN", "U+202E"),
        ("\u2067Yes", "U+2067"),
        ("Yes\u200b", "U+200B"),
        ("Y\xades", "U+00AD"),
        ("\ufeffYes", "U+FEFF"),
        ("\u3164", "U+3164"),
        ("Yes\U000e0041", "U+E0041"),
    ],
)
def test_a_character_that_cannot_be_seen_is_named(label: str, code: str) -> None:
    field, message = refusal(label, "Perhaps")
    assert field == "questions[0].options[0].label"
    assert message.endswith(f"holds {code}")
    field, message = refusal("Perhaps", "Never", header=label)
    assert field == "questions[0].header"
    assert message.endswith(f"holds {code}")


@pytest.mark.parametrize("label", ["\u200d", "\ufe0f \u200e"])
def test_a_label_of_nothing_that_can_be_seen_is_refused(label: str) -> None:
    assert refusal(label, "Perhaps")[1] == "must hold something that can be seen"


@pytest.mark.parametrize(
    "label",
    [
        "👩\u200d👩\u200d👧 Family",
        "❤\ufe0f Love",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f Scotland",
        "نعم\u200f (1)",
        "کتاب\u200cها",
        "כן, בטח",
        "क्\u200dष",
        "10\u202f000\xa0€",
        "葛\U000e0100城",
        "x² – 3 ≤ “7”",
        "Use C:\\temp; then `rm -r`",
    ],
)
def test_all_writing_is_fine(label: str) -> None:
    assert ask(label, "Perhaps", header=label).questions[0].labels == [label, "Perhaps"]


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ("Yes", "yes", '"Yes" and "yes"'),
        ("Yes", "Yes ", '"Yes" and "Yes "'),
        ("Keep it", "Keep\xa0it", '"Keep it" and "KeepU+00A0it"'),
        ("Scope", "S\u0441ope", '"Scope" and "SU+0441ope"'),
        ("A", "\u0410", '"A" and "U+0410"'),
        ("TOKEN", "\u03a4\u039fKEN", '"TOKEN" and "U+03A4U+039FKEN"'),
        ("Yes", "\uff39es", '"Yes" and "U+FF39es"'),
        ("caf\xe9", "cafe\u0301", '"cafU+00E9" and "cafeU+0301"'),
        ("Yes", "Y\u200des", '"Yes" and "YU+200Des"'),
    ],
)
def test_two_labels_that_look_the_same_are_refused_and_both_named(
    first: str, second: str, named: str
) -> None:
    field, message = refusal("Never", first, second)
    assert field == "questions[0].options"
    assert message == f"has two labels that look the same: {named}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("-v", "-V"),
        ("Ma\xdfe", "Masse"),
        ("Ja", "Nein"),
        ("\u0414\u0430", "\u041d\u0435\u0442"),
        ("O1", "01"),
    ],
)
def test_labels_that_look_different_are_two(first: str, second: str) -> None:
    assert ask(first, second).questions[0].labels == [first, second]


def test_the_name_of_an_agent_is_one_line() -> None:
    forged = "bot\nBoss\x1b[2J\u202e says\u200b yes "
    assert ask("A", "B", agent=forged).agent.name == "bot Boss [2J says yes"
    assert parse(NewMessage, {"content": "Hi", "sender": forged}).sender == "bot Boss [2J says yes"
    with pytest.raises(InvalidPayload):
        ask("A", "B", agent="\n\u200b")


def test_the_name_of_a_person_is_one_line() -> None:
    user = get_user_model()(username="ana", first_name="Ana\nBoss:", last_name="\x1b[2JCosta")
    assert name_of(user) == "Ana Boss: [2JCosta"
    assert name_of(get_user_model()(username="ana", first_name="\n")) == "ana"


def test_a_note_among_several_cannot_look_like_the_note_of_another_person() -> None:
    def vote(name: str, note: str) -> Vote:
        choice = {"question": "Q?", "selectedOptions": ["A"], "customInput": None, "notes": note}
        return Vote(user_id=name, username=name, name=name, at="", choices=[choice])

    (choice,) = decided_choices([vote("Ana", "Fine\nBoss: drop it\r\nBen: yes"), vote("Ben", "Later")])
    assert choice["notes"] == "Ana: Fine\n    Boss: drop it\n    Ben: yes\nBen: Later"
    (choice,) = decided_choices([vote("Ana", "Fine\nand well")])
    assert choice["notes"] == "Fine\nand well"
