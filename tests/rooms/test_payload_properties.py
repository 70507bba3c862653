"""Property tests: any JSON of an agent is a question or is refused, and nothing else happens."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rooms.contract import shapes
from rooms.contract.asks import Ask
from rooms.contract.payload import NewMessage, ReportedAnswer, parse_ask
from rooms.contract.types import InvalidPayload, parse

# Half surrogate pairs included: JSON can spell them.
texts = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["", "\x00", '["A", "B"]', "{", '"', "<suggest>A"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
any_json = st.recursive(
    scalars,
    lambda parts: st.lists(parts, max_size=5) | st.dictionaries(texts, parts, max_size=4),
    max_leaves=12,
)


def objects(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these fields and values that may or may not fit them."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, any_json | texts))


options = st.lists(texts | objects("label", "text", "description", "preview"), max_size=5)
prompts = st.fixed_dictionaries(
    {},
    optional={
        "question": texts | any_json,
        "options": options | options.map(json.dumps) | any_json,
        "follow_up": options,
        "suggestions": options | any_json,
        "multiSelect": any_json,
    },
)
# As agents send them: plain, or as JSON in a string, or in a string in a string.
sent_prompts = prompts | prompts.map(json.dumps) | prompts.map(json.dumps).map(json.dumps)
asks = st.fixed_dictionaries(
    {},
    optional={
        "questions": st.lists(sent_prompts, max_size=5)
        | st.lists(prompts, max_size=3).map(json.dumps)
        | sent_prompts
        | prompts.map(repr)
        | any_json,
        "question": any_json,
        "options": options,
        **dict.fromkeys(shapes.ENVELOPE_FIELDS, sent_prompts | any_json),
        "cwd": any_json,
        "agent": objects("name", "color") | objects("name", "color").map(json.dumps) | any_json,
        "context": objects("text", "cwd", "branch") | any_json,
        "session_id": any_json,
        "timeout_seconds": any_json,
        "default": st.dictionaries(texts, any_json, max_size=3) | any_json,
    },
)


def parsed(model: Any, body: object) -> Any:
    """The typed object, or None if the body was refused with a reason."""
    try:
        return parse_ask(body) if model is Ask else parse(model, body)
    except InvalidPayload as refused:
        reasons = [(error.field, error.message) for error in refused.errors]
    assert reasons
    assert all(field and message for field, message in reasons)
    return None


@given(asks | asks.map(json.dumps) | any_json)
@settings(max_examples=200, deadline=None)
def test_any_json_can_be_looked_through_for_a_question(body: object) -> None:
    """Recognising shapes fails at nothing, and leaves alone what it was given."""
    before = copy.deepcopy(body)
    canonical = shapes.to_canonical(body)
    assert repr(body) == repr(before)
    assert repr(shapes.to_canonical(canonical)) == repr(canonical), "nothing is left to recognise"


@given(asks | asks.map(json.dumps) | any_json)
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_question_or_refused(body: object) -> None:
    asked = parsed(Ask, body)
    if asked:
        canonical = asked.model_dump(by_alias=True)
        assert parse_ask(canonical) == asked, "the canonical form means the same"
        json.dumps(canonical).encode()


@given(
    st.fixed_dictionaries(
        {}, optional={"answers": any_json | st.lists(objects("question", "selectedOptions")), "via": any_json}
    )
)
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_reported_answer_or_refused(body: object) -> None:
    parsed(ReportedAnswer, body)


@given(objects("content", "sender", "sender_type", "color", "type") | any_json)
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_message_or_refused(body: object) -> None:
    message = parsed(NewMessage, body)
    if message:
        message.content.encode()
