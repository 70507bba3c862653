"""Converter of the shapes in which agents send questions into the canonical one, which `asks.py` describes.

It only moves and renames fields; the pydantic models check the result. It passes on what it does not
recognise, so that the models can say what is wrong with it. The names of the fields come from the models: a
field that is added there arrives.
"""

import json
import re
from typing import Any

from rooms.contract.asks import Ask
from rooms.contract.prompts import Prompt
from rooms.contract.types import names_of_fields

# JSON in JSON in JSON: real agents send two levels, and a third does no harm.
NESTED_JSON_DEPTH = 3

# Fields with the wrapped call in hook envelopes, control requests and tool-use blocks.
ENVELOPE_FIELDS = ("tool_input", "input", "AskUserQuestion", "AskFollowupQuestion", "arguments")
# Synonyms in the order of preference.
OPTION_FIELDS = ("options", "follow_up", "followUp", "suggestions", "choices")
LABEL_FIELDS = ("label", "text", "title", "value", "answer")

# `questions` and `options` have shapes of their own, below.
ASK_FIELDS = tuple(name for name in names_of_fields(Ask) if name != "questions")
PROMPT_FIELDS = tuple(name for name in names_of_fields(Prompt) if name != "options")
# May come as a JSON string. The other fields are numbers or texts, and a text that looks like JSON stays one.
OBJECT_FIELDS = ("agent", "context", "default", "care")


def to_canonical(body: object) -> object:
    """`{"questions": [{"question", "options": [{"label"}]}], …}` from any known shape."""
    body = _unnest(body)
    if not isinstance(body, dict):
        return body
    body = _open_envelope(body)
    canonical = _filled(body, ASK_FIELDS)
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


def _filled(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """These fields, without those that are null: null means the same as a missing field."""
    return {name: given[name] for name in names if given.get(name) is not None}


def _unnest(value: object) -> object:
    """The list or object in a string of JSON; any other value as it is."""
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
    """The wrapped call, with the fields of an ask that only the envelope has."""
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
    prompt = _filled(question, PROMPT_FIELDS)
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
