"""The shapes in which agents send questions, brought into the canonical one.

Only moves and renames happen here; `payload.py` checks the result. What cannot be recognised is passed on
as it is, so that the check can say what is wrong with it.
"""

import json
import re
from typing import Any

# JSON in JSON in JSON: seen from real agents two levels deep, and one more does no harm.
NESTED_JSON_DEPTH = 3

# Where the wrapped call stands in hook envelopes, control requests and tool-use blocks.
ENVELOPE_FIELDS = ("tool_input", "input", "AskUserQuestion", "AskFollowupQuestion", "arguments")
OPTION_FIELDS = ("options", "follow_up", "followUp", "suggestions", "choices")
LABEL_FIELDS = ("label", "text", "title", "value", "answer")
ASK_FIELDS = ("agent", "session_id", "tool_use_id", "context", "timeout_seconds", "default", "care")
OBJECT_FIELDS = ("agent", "context", "default", "care")


def to_canonical(body: object) -> object:
    """`{"questions": [{"question", "options": [{"label"}]}], …}` from any shape that we know."""
    body = _unnest(body)
    if not isinstance(body, dict):
        return body
    body = _open_envelope(body)
    # A null says nothing, so it is as if the field were not there.
    canonical = {name: body[name] for name in ASK_FIELDS if body.get(name) is not None}
    canonical |= {name: _unnest_object(canonical[name]) for name in OBJECT_FIELDS if name in canonical}
    if "questions" in body:
        questions = _unnest(body["questions"])
        if isinstance(questions, dict):
            questions = [questions]
    elif "question" in body:
        questions = [body]
    else:
        return canonical
    if isinstance(questions, list):
        questions = [_prompt(question) for question in questions]
    return {**canonical, "questions": questions}


def _unnest(value: object) -> object:
    """What a string of JSON holds, if it holds a list or an object."""
    for _ in range(NESTED_JSON_DEPTH):
        if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def _unnest_object(value: object) -> object:
    inner = _unnest(value)
    return inner if isinstance(inner, dict) else value


def _open_envelope(body: dict[str, Any]) -> dict[str, Any]:
    """The wrapped call with what the envelope knows about it."""
    for name in ENVELOPE_FIELDS:
        inner = _unnest(body.get(name))
        if isinstance(inner, dict) and "questions" not in body and "question" not in body:
            outer = {key: value for key, value in body.items() if key in ASK_FIELDS}
            if body.get("cwd") and "context" not in outer:
                outer["context"] = {"cwd": body["cwd"]}
            return {**outer, **inner}
    return body


def _prompt(question: object) -> object:
    question = _unnest_object(question)
    if not isinstance(question, dict):
        return question
    fields = ("question", "header", "multiSelect", "multi_select")
    prompt = {name: question[name] for name in fields if question.get(name) is not None}
    for name in OPTION_FIELDS:
        if name in question:
            options = _options(question[name])
            prompt["options"] = [_option(o) for o in options] if isinstance(options, list) else options
            break
    return prompt


def _options(options: object) -> object:
    options = _unnest(options)
    if isinstance(options, str) and "<suggest" in options:
        return re.findall(r"<suggest[^>]*>(.*?)</suggest>", options, re.DOTALL)
    return options


def _option(option: object) -> object:
    if isinstance(option, str):
        return {"label": option}
    if isinstance(option, dict) and "label" not in option:
        for name in LABEL_FIELDS:
            if name in option:
                return {**option, "label": option[name]}
    return option
