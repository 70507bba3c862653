"""Every accepted shape of a question comes out as the same canonical one."""

import json
from typing import Any

import pytest

from rooms.contract.asks import Ask
from rooms.contract.payload import parse_ask
from rooms.contract.prompts import Option, Prompt
from rooms.contract.shapes import OBJECT_FIELDS, to_canonical
from rooms.contract.types import InvalidPayload

OPTIONS = [{"label": "Red"}, {"label": "Blue"}]
PROMPT = {"question": "Which colour?", "options": OPTIONS}

SHAPES: dict[str, Any] = {
    "canonical": {"questions": [PROMPT]},
    "flat": PROMPT,
    "options as strings": {"questions": [{**PROMPT, "options": ["Red", "Blue"]}]},
    "flat with options as strings": {"question": "Which colour?", "options": ["Red", "Blue"]},
    "one question, not in a list": {"questions": PROMPT},
    "questions as a JSON string": {"questions": json.dumps([PROMPT])},
    "one question as a JSON string": {"questions": json.dumps(PROMPT)},
    "questions as JSON in JSON": {"questions": json.dumps(json.dumps([PROMPT]))},
    "each question a JSON string": {"questions": [json.dumps(PROMPT)]},
    "options as a JSON string": {"questions": [{**PROMPT, "options": json.dumps(OPTIONS)}]},
    "options as a JSON string of strings": {"question": "Which colour?", "options": '["Red", "Blue"]'},
    "options that call their label text": {
        "question": "Which colour?",
        "options": [{"text": "Red"}, {"text": "Blue"}],
    },
    "options that call their label value": {
        "question": "Which colour?",
        "options": [{"value": "Red"}, {"title": "Blue"}],
    },
    "follow_up as strings": {"question": "Which colour?", "follow_up": ["Red", "Blue"]},
    "follow_up as objects": {
        "question": "Which colour?",
        "follow_up": [{"text": "Red", "mode": "code"}, {"text": "Blue"}],
    },
    "followUp": {"question": "Which colour?", "followUp": ["Red", "Blue"]},
    "follow_up as markup": {
        "question": "Which colour?",
        "follow_up": '<suggest>Red</suggest>\n<suggest mode="x">Blue</suggest>',
    },
    "AskFollowupQuestion": {
        "AskFollowupQuestion": {"question": "Which colour?", "follow_up": ["Red", "Blue"]}
    },
    "AskUserQuestion": {"AskUserQuestion": {"questions": [PROMPT]}},
    "hook envelope": {"tool_name": "AskUserQuestion", "tool_input": {"questions": [PROMPT]}},
    "hook envelope with a JSON string": {"tool_input": json.dumps({"questions": [PROMPT]})},
    "hook envelope with a flat question": {"tool_input": PROMPT},
    "tool use block": {"type": "tool_use", "id": "toolu_1", "input": {"questions": [PROMPT]}},
    "arguments of a function call": {"name": "ask", "arguments": json.dumps(PROMPT)},
    "whole body as a JSON string": json.dumps({"questions": [PROMPT]}),
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES.keys())
def test_every_known_shape_means_the_same_question(body: object) -> None:
    asked = parse_ask(body)
    assert [prompt.question for prompt in asked.questions] == ["Which colour?"]
    assert asked.questions[0].labels == ["Red", "Blue"]


@pytest.mark.parametrize("name", ["multiSelect", "multi_select"])
def test_multi_select_has_two_spellings(name: str) -> None:
    assert parse_ask({**PROMPT, name: True}).questions[0].multi_select


def test_flat_question_keeps_header_and_fields_of_the_ask() -> None:
    asked = parse_ask({**PROMPT, "header": "Paint", "agent": {"name": "painter"}, "timeout_seconds": 5})
    assert (asked.questions[0].header, asked.agent.name, asked.timeout_seconds) == ("Paint", "painter", 5)


def test_envelope_gives_session_tool_use_and_folder() -> None:
    asked = parse_ask(
        {
            "session_id": "s1",
            "tool_use_id": "t1",
            "cwd": "/srv/shop",
            "hook_event_name": "PreToolUse",
            "tool_input": {"questions": [PROMPT]},
        }
    )
    assert (asked.session_id, asked.tool_use_id, asked.context.cwd) == ("s1", "t1", "/srv/shop")


def test_envelope_does_not_replace_a_context_of_its_own() -> None:
    asked = parse_ask({"cwd": "/srv", "context": {"text": "hello"}, "tool_input": PROMPT})
    assert (asked.context.text, asked.context.cwd) == ("hello", "")


def test_agent_and_context_may_be_json_strings() -> None:
    asked = parse_ask({**PROMPT, "agent": '{"name": "painter"}', "context": '{"branch": "main"}'})
    assert (asked.agent.name, asked.context.branch) == ("painter", "main")


def test_question_that_looks_like_json_stays_a_text() -> None:
    text = '["a", "b"] or {"a": "b"}?'
    assert parse_ask({**PROMPT, "question": text}).questions[0].question == text


def test_description_and_preview_come_along_with_any_label_name() -> None:
    option = {"text": "Red", "description": "warm", "preview": "#f00"}
    parsed = parse_ask({"question": "Which colour?", "options": [option, "Blue"]}).questions[0].options[0]
    assert (parsed.label, parsed.description, parsed.preview) == ("Red", "warm", "#f00")


@pytest.mark.parametrize(
    "body", [None, 5, "hello", [], ["Red"], {}, {"questions": "no JSON"}, {"tool_input": 5}]
)
def test_what_is_no_question_is_refused_by_the_check(body: object) -> None:
    with pytest.raises(InvalidPayload):
        parse_ask(body)


def test_deeply_nested_json_string_is_left_to_the_check() -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_ask({"questions": "[" * 60_000})
    assert [error.field for error in refused.value.errors] == ["questions"]


def test_json_nested_too_often_is_left_alone() -> None:
    nested = json.dumps([PROMPT])
    for _ in range(5):
        nested = json.dumps(nested)
    canonical = to_canonical({"questions": nested})
    assert isinstance(canonical, dict)
    assert isinstance(canonical["questions"], str)


def test_a_null_is_as_good_as_nothing() -> None:
    prompt = {"question": "Which?", "header": None, "multiSelect": None, "options": ["A", "B"]}
    body = {"questions": [prompt], "agent": None, "context": None, "default": None, "session_id": None}
    assert parse_ask(body) == parse_ask({"questions": [{"question": "Which?", "options": ["A", "B"]}]})


@pytest.mark.parametrize(
    "wrap", [lambda ask: ask, lambda ask: {**ask, "tool_input": {"questions": [PROMPT]}}]
)
def test_every_field_of_the_ask_arrives(wrap: Any) -> None:
    sent = {name: f"value of {name}" for name in Ask.model_fields if name != "questions"}
    canonical = to_canonical(wrap(sent))
    assert isinstance(canonical, dict)
    assert {name: canonical.get(name) for name in sent} == sent


def test_every_field_of_a_prompt_and_of_an_option_arrives() -> None:
    option = {name: f"value of {name}" for name in Option.model_fields}
    names = {*Prompt.model_fields, *Prompt.model_json_schema()["properties"]} - {"options"}
    prompt = {**{name: f"value of {name}" for name in names}, "options": [option]}
    assert to_canonical({"questions": [prompt]}) == {"questions": [prompt]}


def test_every_object_of_the_ask_may_be_a_json_string() -> None:
    schemas = Ask.model_json_schema()["properties"]
    branches = {name: [schema, *schema.get("anyOf", ())] for name, schema in schemas.items()}
    objects = {
        name
        for name, schemas in branches.items()
        if any("$ref" in schema or schema.get("type") == "object" for schema in schemas)
    }
    assert objects == set(OBJECT_FIELDS)
