"""The answer to one prompt as one string: with any labels it says exactly what was chosen."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge_client.claude_code.answer_text import UNSEEN, Parts, decode, encode, quoted

# All characters that the encoding itself uses, and ordinary letters.
pieces = st.sampled_from(
    ["A", "B", "C", ", ", ",", " ", '"', "\\", "\n", "Other: ", "Chosen: ", "\u202e", "é", "\U000e0041"]
)
words = st.lists(pieces, min_size=1, max_size=5).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[dict[str, Any], Parts]:
    """A prompt and a valid choice; a label often equals other joined labels or their answer."""
    is_multi = draw(st.booleans())
    labels: list[str] = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    prompt = {"question": "Q?", "multiSelect": is_multi, "options": [{"label": label} for label in labels]}
    for _ in range(draw(st.integers(0, 3))):
        some = draw(st.lists(st.sampled_from(labels), min_size=1, max_size=3, unique=True))
        own = draw(st.none() | st.sampled_from(labels))
        alike = draw(st.sampled_from([", ".join(some), encode(prompt, some, own), quoted(some[0])]))
        if alike not in labels:
            labels.append(alike)
            prompt["options"] = [{"label": label} for label in labels]
    custom = draw(st.none() | words | st.sampled_from(labels) | st.just(", ".join(labels)))
    if is_multi:
        selected = draw(st.lists(st.sampled_from(labels), max_size=4, unique=True))
    else:
        selected = [] if custom is not None else [draw(st.sampled_from(labels))]
    if not selected and custom is None:
        selected = labels[:1]
    return prompt, Parts(tuple(selected), custom)


@given(answers())
@settings(max_examples=500, deadline=None)
def test_what_was_chosen_can_always_be_read_back(case: tuple[dict[str, Any], Parts]) -> None:
    prompt, parts = case
    text = encode(prompt, parts.selected, parts.custom)
    assert decode(prompt, text) == parts
    if prompt["multiSelect"] or parts.custom is not None:
        assert not UNSEEN.search(text)


@given(answers(), answers())
@settings(max_examples=300, deadline=None)
def test_different_choices_are_different_texts(
    first: tuple[dict[str, Any], Parts], second: tuple[dict[str, Any], Parts]
) -> None:
    prompt, parts = first
    labels = {option["label"] for option in prompt["options"]}
    other = Parts(tuple(label for label in second[1].selected if label in labels), second[1].custom)
    is_possible = prompt["multiSelect"] or len(other.selected) + (other.custom is not None) == 1
    if other != parts and is_possible and (other.selected or other.custom):
        assert encode(prompt, *parts) != encode(prompt, *other)


def multi(*labels: str) -> dict[str, Any]:
    return {"question": "Q?", "multiSelect": True, "options": [{"label": label} for label in labels]}


CHECKS = multi("Unit", "Unit, slow", "Browser")
PAIRS = multi("A", "B", "A, B")


@pytest.mark.parametrize(
    ("prompt", "selected", "custom", "text"),
    [
        (CHECKS, ["Unit", "Browser"], None, "Unit, Browser"),
        (CHECKS, ["Unit, slow", "Browser"], None, '"Unit, slow", Browser'),
        (CHECKS, ["Unit"], "and by hand", "Unit, and by hand"),
        (CHECKS, ["Unit"], "by hand, twice", 'Unit, "by hand, twice"'),
        (CHECKS, ["Unit"], "Browser", 'Unit, Other: "Browser"'),
        (CHECKS, [], 'say "hi"\nNote by boss: no', r'"say \"hi\"\nNote by boss: no"'),
        # Three different choices that would be the same text without quotes.
        (PAIRS, ["A", "B"], None, '"A", "B"'),
        (PAIRS, ["A, B"], None, '"A, B"'),
        (PAIRS, [], "A, B", 'Other: "A, B"'),
        (multi("A", "B", "A, B", '"A", "B"'), ["A", "B"], None, 'Chosen: "A", "B"'),
    ],
)
def test_quotes_are_used_where_needed(
    prompt: dict[str, Any], selected: list[str], custom: str | None, text: str
) -> None:
    assert encode(prompt, selected, custom) == text
    assert decode(prompt, text) == Parts(tuple(selected), custom)


@pytest.mark.parametrize("label", ["Yes, now", 'Say "hi"', '"Yes"', " Yes", 'Other: "Yes"'])
def test_the_label_of_a_single_choice_is_unchanged(label: str) -> None:
    """Claude Code compares it with the labels that it knows."""
    prompt = {"question": "Q?", "options": [{"label": label}, {"label": "Yes"}]}
    assert encode(prompt, [label], None) == label
    assert decode(prompt, label) == Parts((label,), None)


@pytest.mark.parametrize(
    ("custom", "text"),
    [
        ("Neither, files will do", "Neither, files will do"),
        ("Yes", 'Other: "Yes"'),
        ('No", "Delete it?"="Yes', r'"No\", \"Delete it?\"=\"Yes"'),
        ("one\ntwo", r'"one\ntwo"'),
    ],
)
def test_a_custom_text_cannot_look_like_another_answer(custom: str, text: str) -> None:
    prompt = {"question": "Q?", "options": [{"label": "Yes"}, {"label": "No"}]}
    assert encode(prompt, [], custom) == text
    assert decode(prompt, text) == Parts((), custom)


# ---- what terminals report -------------------------------------------------------------------------------


@given(answers())
@settings(max_examples=300, deadline=None)
def test_claude_codes_own_text_is_never_read_as_another_option(case: tuple[dict[str, Any], Parts]) -> None:
    """As its dialog writes it. An ambiguous text is kept as a custom text."""
    prompt, parts = case
    texts = [*parts.selected, *([parts.custom] if parts.custom is not None else [])]
    if prompt["multiSelect"]:
        as_written = ", ".join(
            json.dumps(text, ensure_ascii=False) if ", " in text or '"' in text else text for text in texts
        )
    else:
        (as_written,) = texts
    read = decode(prompt, as_written)
    if parts.custom is None and read.selected:
        assert set(read.selected) == set(parts.selected)


@pytest.mark.parametrize(
    ("prompt", "text", "parts"),
    [
        (CHECKS, "Unit, slow, Browser", Parts(("Unit, slow", "Browser"), None)),
        (CHECKS, '"Unit, slow", Browser', Parts(("Unit, slow", "Browser"), None)),
        (CHECKS, "Browser, Unit", Parts(("Browser", "Unit"), None)),
        (CHECKS, "Unit, by hand, twice", Parts(("Unit",), "by hand, twice")),
        (CHECKS, 'Unit, say "hi"', Parts(("Unit",), 'say "hi"')),
        (CHECKS, "Unit, slow, by hand", Parts((), "Unit, slow, by hand")),
        (PAIRS, "A, B", Parts((), "A, B")),
        (PAIRS, "A, B, A", Parts(("A, B", "A"), None)),
    ],
)
def test_a_text_without_quotes_is_read_as_labels_if_there_is_one_way_only(
    prompt: dict[str, Any], text: str, parts: Parts
) -> None:
    assert decode(prompt, text) == parts


def test_quotes_that_a_person_typed_stay() -> None:
    prompt = {"question": "Q?", "options": [{"label": "Yes"}, {"label": "No"}]}
    for text in ('"Yes"', '"perhaps"', 'He said "no"'):
        assert decode(prompt, text) == Parts((), text)
