"""What agents and people may send, and what they are told when it does not fit."""

import copy
from typing import Any

import pytest

from rooms.contract.choices import Choice, check_choices
from rooms.contract.limits import MESSAGE_LENGTH
from rooms.contract.payload import NewMessage, ReportedAnswer, parse_ask
from rooms.contract.prompts import Prompt, parse_prompts
from rooms.contract.types import FieldError, InvalidPayload, parse

COLOURS = Prompt.model_validate(
    {"question": "Which colour?", "header": "Paint", "options": [{"label": "Red"}, {"label": "Blue"}]}
)
SIZES = Prompt.model_validate(
    {
        "question": "Which sizes?",
        "multiSelect": True,
        "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}],
    }
)


def spoiled(body: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """The body with another value at one place."""
    changed: Any = copy.deepcopy(body)
    place = changed
    for part in path[:-1]:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    place[path[-1]] = value
    return changed


def errors_of(body: object) -> list[FieldError]:
    with pytest.raises(InvalidPayload) as refused:
        parse_ask(body)
    return refused.value.errors


def prompts(count: int) -> list[dict[str, Any]]:
    return [{"question": f"Question {number}?", "options": ["A", "B"]} for number in range(count)]


def options(count: int) -> list[dict[str, Any]]:
    return [{"label": f"Option {number}"} for number in range(count)]


# ---- limits --------------------------------------------------------------------------------------

QUESTION = ("questions", 0)
OPTION = ("questions", 0, "options", 0)
TEXT_LIMITS: list[tuple[tuple[str | int, ...], str, int]] = [
    ((*QUESTION, "question"), "questions[0].question", 2_000),
    ((*QUESTION, "header"), "questions[0].header", 80),
    ((*OPTION, "label"), "questions[0].options[0].label", 200),
    ((*OPTION, "description"), "questions[0].options[0].description", 1_000),
    ((*OPTION, "preview"), "questions[0].options[0].preview", 8_000),
    (("agent", "name"), "agent.name", 80),
    (("context", "text"), "context.text", 8_000),
    (("context", "cwd"), "context.cwd", 1_000),
    (("context", "branch"), "context.branch", 250),
    (("session_id",), "session_id", 200),
    (("tool_use_id",), "tool_use_id", 200),
]


@pytest.mark.parametrize(("path", "field", "limit"), TEXT_LIMITS, ids=[field for _, field, _ in TEXT_LIMITS])
def test_text_may_be_as_long_as_its_limit_and_no_longer(
    body: dict[str, Any], path: tuple[str | int, ...], field: str, limit: int
) -> None:
    parse_ask(spoiled(body, path, "ä" * limit))
    (error,) = errors_of(spoiled(body, path, "ä" * (limit + 1)))
    assert error.field == field
    assert error.message == f"is too long: {limit + 1:,} characters, {limit:,} are allowed"


@pytest.mark.parametrize("count", [1, 4])
def test_one_to_four_questions_are_accepted(count: int) -> None:
    assert len(parse_ask({"questions": prompts(count)}).questions) == count


@pytest.mark.parametrize("count", [0, 5])
def test_other_numbers_of_questions_are_refused(count: int) -> None:
    assert errors_of({"questions": prompts(count)}) == [
        FieldError(field="questions", message=f"needs 1 to 4 questions, got {count}")
    ]


@pytest.mark.parametrize("count", [2, 4])
def test_two_to_four_options_are_accepted(count: int) -> None:
    assert len(parse_ask({"question": "?", "options": options(count)}).questions[0].options) == count


@pytest.mark.parametrize("count", [0, 1, 5])
def test_other_numbers_of_options_are_refused(count: int) -> None:
    assert errors_of({"question": "?", "options": options(count)}) == [
        FieldError(field="questions[0].options", message=f"needs 2 to 4 options, got {count}")
    ]


def test_same_label_twice_is_refused() -> None:
    (error,) = errors_of({"question": "?", "options": ["A", "A"]})
    assert error.field == "questions[0].options"
    assert "same label twice" in error.message


def test_same_question_text_twice_is_refused() -> None:
    (error,) = errors_of({"questions": [*prompts(1), *prompts(1)]})
    assert error.field == "questions"
    assert "same question text twice" in error.message


def test_single_letters_that_differ_in_case_are_different() -> None:
    asked = parse_ask({"question": "?", "options": ["a", "A", "-v", "-V"]})
    assert asked.questions[0].labels == ["a", "A", "-v", "-V"]


def test_texts_are_kept_to_the_letter() -> None:
    asked = parse_ask({"question": "  Which?\n", "header": " H ", "options": [" A ", "B\u2009"]})
    prompt = asked.questions[0]
    assert (prompt.question, prompt.header, prompt.labels) == ("  Which?\n", " H ", [" A ", "B\u2009"])


@pytest.mark.parametrize("seconds", [0.001, 1, 3600.5, 30 * 24 * 3600])
def test_timeout_up_to_a_month_is_accepted(body: dict[str, Any], seconds: float) -> None:
    assert parse_ask({**body, "timeout_seconds": seconds}).timeout_seconds == seconds


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (0, "must be more than 0"),
        (-1, "must be more than 0"),
        (30 * 24 * 3600 + 1, "must be at most 2,592,000"),
        (float("inf"), "must be at most 2,592,000"),
        ("60", "must be a number"),
        (True, "must be a number"),
    ],
)
def test_other_timeouts_are_refused(body: dict[str, Any], seconds: object, message: str) -> None:
    assert errors_of({**body, "timeout_seconds": seconds}) == [
        FieldError(field="timeout_seconds", message=message)
    ]


def test_timeout_that_is_not_a_number_is_refused(body: dict[str, Any]) -> None:
    assert errors_of({**body, "timeout_seconds": float("nan")})[0].field == "timeout_seconds"


# ---- kinds of values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        (("questions",), 5, "questions", "must be a list"),
        (("questions",), ["Which?"], "questions[0]", "must be an object"),
        ((*QUESTION, "question"), 5, "questions[0].question", "must be a text"),
        ((*QUESTION, "question"), None, "questions[0].question", "is required"),
        ((*QUESTION, "question"), " \n", "questions[0].question", "must not be empty"),
        ((*QUESTION, "options"), "A or B", "questions[0].options", "must be a list"),
        ((*QUESTION, "options", 1), 5, "questions[0].options[1]", "must be an object"),
        ((*QUESTION, "options", 1), {}, "questions[0].options[1].label", "is required"),
        ((*OPTION, "label"), "", "questions[0].options[0].label", "must not be empty"),
        ((*QUESTION, "multiSelect"), "yes", "questions[0].multiSelect", "must be true or false"),
        ((*QUESTION, "multiSelect"), 1, "questions[0].multiSelect", "must be true or false"),
        (("agent",), "refactor-bot", "agent", "must be an object"),
        (("agent", "name"), " ", "agent.name", "must not be empty"),
        (("context",), "text", "context", "must be an object"),
        (("session_id",), 7, "session_id", "must be a text"),
    ],
)
def test_wrong_kind_of_value_is_named_with_its_place(
    body: dict[str, Any], path: tuple[str | int, ...], value: object, field: str, message: str
) -> None:
    assert errors_of(spoiled(body, path, value)) == [FieldError(field=field, message=message)]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "questions", "is required"),
        ({"question": "?"}, "questions[0].options", "is required"),
        ({"questions": [{"options": ["A", "B"]}]}, "questions[0].question", "is required"),
        (None, "body", "must be an object"),
        ([], "body", "must be an object"),
    ],
)
def test_missing_fields_are_named(body: object, field: str, message: str) -> None:
    assert errors_of(body) == [FieldError(field=field, message=message)]


def test_all_errors_come_at_once() -> None:
    errors = errors_of(
        {
            "questions": [{"question": "", "options": ["A"]}, {"options": ["A", "B"]}],
            "agent": {"color": "mauve-ish"},
        }
    )
    assert [error.field for error in errors] == [
        "questions[0].question",
        "questions[0].options",
        "questions[1].question",
        "agent.color",
    ]


def test_unknown_fields_are_ignored(body: dict[str, Any]) -> None:
    asked = parse_ask({**body, "priority": "high", "agent": {"name": "bot", "mood": "good"}})
    assert asked.agent.name == "bot"


@pytest.mark.parametrize("field", ["session_id", "tool_use_id"])
def test_null_text_counts_as_none(body: dict[str, Any], field: str) -> None:
    assert getattr(parse_ask({**body, field: None}), field) == ""


TEXT_PATHS = [path for path, _, _ in TEXT_LIMITS]


@pytest.mark.parametrize("path", TEXT_PATHS, ids=str)
def test_nul_is_refused_in_every_text(body: dict[str, Any], path: tuple[str | int, ...]) -> None:
    (error,) = errors_of(spoiled(body, path, "a\x00b"))
    assert error.message == "must not contain NUL characters"


@pytest.mark.parametrize("path", TEXT_PATHS, ids=str)
@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDFFF)], ids=ascii)
def test_half_a_surrogate_pair_is_refused_in_every_text(
    body: dict[str, Any], path: tuple[str | int, ...], half: str
) -> None:
    (error,) = errors_of(spoiled(body, path, f"a{half}b"))
    assert error.message == "is not valid Unicode text"


def test_every_other_character_is_accepted(body: dict[str, Any]) -> None:
    text = "\x01 \x7f \u202e עברית 日本語 👩‍👩‍👧 </script> {braces} %s \U0010ffff"
    assert parse_ask(spoiled(body, (*QUESTION, "question"), text)).questions[0].question == text


# ---- agents --------------------------------------------------------------------------------------


def test_agent_needs_no_name_and_no_color() -> None:
    asked = parse_ask({"question": "?", "options": ["A", "B"]})
    assert (asked.agent.name, asked.agent.color) == ("agent", "")


@pytest.mark.parametrize(
    ("color", "stored"),
    [
        ("#818cf8", "#818cf8"),
        ("#ABC", "#aabbcc"),
        (" #ABCDEF ", "#abcdef"),
        ("Red", "#dc4c4c"),
        ("", ""),
        (None, ""),
    ],
)
def test_color_is_hex_or_a_known_name(body: dict[str, Any], color: object, stored: str) -> None:
    assert parse_ask({**body, "agent": {"color": color}}).agent.color == stored


@pytest.mark.parametrize("color", ["#12345", "818cf8", "mauve", "red; background: url(x)", "#ggg"])
def test_other_colors_are_refused(body: dict[str, Any], color: str) -> None:
    (error,) = errors_of({**body, "agent": {"color": color}})
    assert error.field == "agent.color"
    assert error.message.startswith("must be a colour like #818cf8 or one of: red, ")


# ---- defaults ------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["SQLite", ["SQLite"]])
def test_default_is_a_label_or_a_list_of_them(body: dict[str, Any], labels: object) -> None:
    asked = parse_ask({**body, "default": {"Which database should we use?": labels}})
    assert asked.default_choices is not None
    assert asked.default_choices[0].selected_options == ["SQLite"]


def test_no_default_means_no_choices(body: dict[str, Any]) -> None:
    assert parse_ask(body).default_choices is None
    assert parse_ask({**body, "default": None}).default_choices is None


def test_default_without_timeout_is_accepted(body: dict[str, Any]) -> None:
    asked = parse_ask({**body, "default": {"Which database should we use?": "SQLite"}})
    assert asked.timeout_seconds is None


@pytest.mark.parametrize(
    ("default", "message"),
    [
        ({"Which database should we use?": "MySQL"}, '"MySQL" is not on offer'),
        ({"Which database should we use?": ["SQLite", "PostgreSQL (Recommended)"]}, "takes one answer"),
        ({"Which database should we use?": []}, "needs an option"),
        ({"Another?": "SQLite"}, "is not one of the questions asked"),
        ({}, "has no answer"),
        ([], "must be an object"),
        ("SQLite", "must be an object"),
    ],
)
def test_default_must_be_on_offer(body: dict[str, Any], default: object, message: str) -> None:
    error = errors_of({**body, "default": default})[0]
    assert error.field == "default"
    assert message in error.message


def test_braces_in_labels_stay_as_they_are_in_messages() -> None:
    (error,) = errors_of({"question": "?", "options": ["{a}", "{b}"], "default": {"?": "{c}"}})
    assert error.message == '"{c}" is not on offer; choose from "{a}", "{b}", or send it as customInput'


# ---- choices -------------------------------------------------------------------------------------


def test_choices_come_back_in_the_order_of_prompts_and_options() -> None:
    checked = check_choices(
        [COLOURS, SIZES],
        [
            {"question": "Which sizes?", "selectedOptions": ["L", "S", "L"]},
            {"question": "Which colour?", "selected_options": ["Red"], "notes": "a warm one"},
        ],
    )
    assert [choice.model_dump(by_alias=True) for choice in checked] == [
        {
            "question": "Which colour?",
            "header": "Paint",
            "selectedOptions": ["Red"],
            "customInput": None,
            "notes": "a warm one",
        },
        {
            "question": "Which sizes?",
            "header": "",
            "selectedOptions": ["S", "L"],
            "customInput": None,
            "notes": None,
        },
    ]


def test_text_of_ones_own_is_an_answer() -> None:
    (checked,) = check_choices([COLOURS], [{"question": "Which colour?", "customInput": " Green "}])
    assert (checked.selected_options, checked.custom_input) == ([], " Green ")


def test_multi_select_takes_labels_and_a_text_together() -> None:
    (checked,) = check_choices(
        [SIZES], [{"question": "Which sizes?", "selectedOptions": ["S"], "custom_input": "XXL"}]
    )
    assert (checked.selected_options, checked.custom_input) == (["S"], "XXL")


def test_blank_texts_count_as_none() -> None:
    (checked,) = check_choices(
        [COLOURS],
        [{"question": "Which colour?", "selectedOptions": ["Red"], "customInput": " ", "notes": "\n"}],
    )
    assert (checked.custom_input, checked.notes) == (None, None)


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ([], 'answers["Which colour?"]', "has no answer"),
        ([{}], 'answers["Which colour?"]', "needs an option or a text of your own"),
        ([{"customInput": "  "}], 'answers["Which colour?"]', "needs an option or a text of your own"),
        ([{"notes": "hm"}], 'answers["Which colour?"]', "needs an option or a text of your own"),
        ([{"selectedOptions": ["Red", "Blue"]}], 'answers["Which colour?"]', "takes one answer, got 2"),
        (
            [{"selectedOptions": ["Red"], "customInput": "Green"}],
            'answers["Which colour?"]',
            "takes one answer, got 2",
        ),
        (
            [{"selectedOptions": ["red"]}],
            'answers["Which colour?"]',
            '"red" is not on offer; choose from "Red", "Blue", or send it as customInput',
        ),
        (
            [{"selectedOptions": ["Red"]}, {"selectedOptions": ["Blue"]}],
            "answers[1].question",
            "is answered twice",
        ),
        (
            [{"selectedOptions": ["Red"]}, {"question": "Another?", "selectedOptions": ["Red"]}],
            "answers[1].question",
            "is not one of the questions asked",
        ),
        (
            [{"customInput": "x" * 4_001}],
            "answers[0].customInput",
            "is too long: 4,001 characters, 4,000 are allowed",
        ),
        (
            [{"selectedOptions": ["Red"], "notes": "x" * 4_001}],
            "answers[0].notes",
            "is too long: 4,001 characters, 4,000 are allowed",
        ),
        ([{"selectedOptions": "Red"}], "answers[0].selectedOptions", "must be a list"),
        ([{"selectedOptions": [1]}], "answers[0].selectedOptions[0]", "must be a text"),
    ],
)
def test_only_what_was_offered_can_be_chosen(given: list[Any], field: str, message: str) -> None:
    choices = [{"question": "Which colour?", **choice} for choice in given]
    with pytest.raises(InvalidPayload) as refused:
        check_choices([COLOURS], choices)
    assert refused.value.errors == [FieldError(field=field, message=message)]


def test_free_text_may_be_as_long_as_its_limit() -> None:
    text = "x" * 4_000
    (checked,) = check_choices([COLOURS], [{"question": "Which colour?", "customInput": text, "notes": text}])
    assert (checked.custom_input, checked.notes) == (text, text)


def test_stored_prompts_are_read_back() -> None:
    stored = [prompt.model_dump(by_alias=True) for prompt in (COLOURS, SIZES)]
    assert parse_prompts(stored) == [COLOURS, SIZES]


# ---- reported answers and messages ---------------------------------------------------------------


@pytest.mark.parametrize(
    "answers",
    [
        {"Which colour?": "Red"},
        {"Which colour?": ["Red"]},
        {"Which colour?": {"selectedOptions": ["Red"]}},
        [{"question": "Which colour?", "selectedOptions": ["Red"]}],
    ],
)
def test_reported_answer_is_a_map_or_a_list(answers: object) -> None:
    reported = parse(ReportedAnswer, {"answers": answers})
    assert reported.answers == [Choice(question="Which colour?", selected_options=["Red"])]
    assert reported.via == "terminal"


@pytest.mark.parametrize("via", ["web", "default", "", None, 5])
def test_agent_cannot_claim_that_a_person_on_the_web_answered(via: object) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse(ReportedAnswer, {"answers": {"Which colour?": "Red"}, "via": via})
    assert [error.field for error in refused.value.errors] == ["via"]


@pytest.mark.parametrize("answers", [None, 5, "Red", {"Which colour?": 5}, {"Which colour?": None}, [5]])
def test_other_reported_answers_are_refused(answers: object) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse(ReportedAnswer, {"answers": answers})
    assert refused.value.errors[0].field.startswith("answers")


@pytest.mark.parametrize("kind", ["message", "log", "AskUserQuestion", "AskUserQuestionResponse"])
def test_known_message_types_are_kept(kind: str) -> None:
    assert parse(NewMessage, {"content": "hello", "type": kind}).type == kind


@pytest.mark.parametrize("kind", ["LOG", "system", "", None, 5, [], {}])
def test_unknown_message_types_become_message(kind: object) -> None:
    assert parse(NewMessage, {"content": "hello", "type": kind}).type == "message"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", " "),
        ("content", None),
        ("content", {"question": "?"}),
        ("content", "x" * 16_001),
        ("content", "a\x00"),
        ("content", "\ud800"),
        ("sender", "x" * 81),
        ("sender_type", "system"),
        ("color", "mauve"),
    ],
)
def test_message_that_does_not_fit_is_refused(field: str, value: object) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse(NewMessage, {"content": "hello", field: value})
    assert [error.field for error in refused.value.errors] == [field]


def test_only_lines_of_the_timeline_are_capped_as_lines() -> None:
    long = "x" * (MESSAGE_LENGTH + 1)
    assert parse(NewMessage, {"type": "AskUserQuestion", "content": long}).content == long
    with pytest.raises(InvalidPayload, match="is too long: 16,001 characters, 16,000 are allowed"):
        parse(NewMessage, {"content": long})
