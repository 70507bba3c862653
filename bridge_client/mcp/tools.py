"""The tools of the MCP server, as a client lists them."""

from __future__ import annotations

from typing import Any

ASK, WAIT, REMEMBER, APPROVE = "ask_user_question", "wait_for_answer", "recall_decisions", "approve"

INSTRUCTIONS = (
    f"Asks the people of a room. Call {ASK} when a decision is theirs to make. A result with the status "
    f"still_open means that nobody has answered yet: call {WAIT} with its question_id."
)

# As in Claude's own AskUserQuestion, so that a model uses both in the same way.
_OPTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "label": {
            "type": "string",
            "description": "What people see and choose: one to five words that say what the choice is.",
        },
        "description": {
            "type": "string",
            "description": "What the option means, or what happens if it is chosen.",
        },
        "preview": {
            "type": "string",
            "description": "Optional text to compare the options by: a mockup, a snippet of code.",
        },
    },
    "required": ["label", "description"],
    "additionalProperties": False,
}

_QUESTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "The whole question, clear by itself and ending with a question mark.",
        },
        "header": {
            "type": "string",
            "description": 'A very short label, at most 12 characters, such as "Database".',
        },
        "options": {
            "type": "array",
            "description": '2 to 4 distinct choices. No "Other": people can always write their own text.',
            "items": _OPTION,
            "minItems": 2,
            "maxItems": 4,
        },
        "multiSelect": {
            "type": "boolean",
            "default": False,
            "description": "True if several options may be chosen.",
        },
    },
    "required": ["question", "header", "options"],
    "additionalProperties": False,
}

_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
# The long form only: a model needs one way to write it.
_CARE: dict[str, Any] = {
    "type": "object",
    "description": (
        "Leave it out as a rule. Only when people asked for it, or when the step is risky and cannot be "
        "taken back: who has to decide, and how. It then takes longer until there is an answer."
    ),
    "properties": {
        "first": {
            "type": "object",
            "description": "Who is asked first, by user names that you were told, by role, or both.",
            "properties": {"people": _NAMES, "role": {"type": "string", "enum": ["manager", "member"]}},
            "additionalProperties": False,
        },
        "votes": {
            "type": "object",
            "description": "How many people have to choose the same; `of` says who may vote if not all.",
            "properties": {"needed": {"type": "integer", "minimum": 2}, "of": _NAMES},
            "required": ["needed"],
            "additionalProperties": False,
        },
        "undo_seconds": {
            "type": "integer",
            "minimum": 1,
            "description": "How long people can undo a choice before you get it, such as 10.",
        },
        "escalate_seconds": {
            "type": "integer",
            "minimum": 1,
            "description": "After so long without an answer all may decide, not only those asked first.",
        },
    },
    "additionalProperties": False,
}

_PERSON: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {"username": {"type": "string"}, "name": {"type": "string"}},
}

_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "selectedOptions": {"type": "array", "items": {"type": "string"}},
        "customInput": {
            "type": ["string", "null"],
            "description": "A custom text, in addition to the options.",
        },
        "notes": {"type": ["string", "null"]},
    },
    "required": ["question", "selectedOptions", "customInput", "notes"],
}

_OUTCOME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {
            "type": "string",
            "enum": [
                "answered",
                "declined",
                "expired",
                "withdrawn",
                "still_open",
                "unreachable",
                "invalid",
            ],
        },
        "kind": {
            "type": "string",
            "enum": ["choice", "skip", "reply"],
            "description": "reply: a person asks back instead of choosing, and reason is what they wrote.",
        },
        "reason": {"type": "string"},
        "question_id": {"type": "string"},
        "url": {"type": "string", "description": "The page on which people answer."},
        "answers": {"type": "array", "items": _ANSWER},
        "is_default": {
            "type": "boolean",
            "description": "True if nobody answered and these are the defaults that the question named.",
        },
        "by": _PERSON,
        "votes": {
            "type": "array",
            "description": "Of a question that was asked with care: all votes for what was decided.",
            "items": {"type": "object", "properties": {"by": _PERSON, "at": {"type": "string"}}},
        },
        "via": {"type": "string", "description": "web, terminal, api or default."},
        "message": {"type": "string", "description": "What it means, in a sentence."},
        "next": {"type": "string", "description": "What to do now."},
    },
    "required": ["status"],
}

_MEMORIES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "description": "The most similar first; empty if nothing similar was answered.",
            "items": {
                "type": "object",
                "properties": {
                    "question_id": {"type": "string"},
                    "url": {"type": "string"},
                    "similarity": {"type": "number", "description": "From 0 to 1, which is the same words."},
                    "answers": {"type": "array", "items": _ANSWER},
                    "by": {"type": ["object", "null"]},
                    "at": {"type": "string"},
                },
                "required": ["question_id", "similarity", "answers"],
            },
        },
        "status": {"type": "string", "enum": ["unreachable", "invalid"]},
        "message": {"type": "string", "description": "Why nothing could be looked up."},
    },
}

# Claude Code hides tools behind a search by default, and a model does not search for a way to ask people.
_ALWAYS_LOADED = {"anthropic/alwaysLoad": True}
# Only a card changes, and calls may run in parallel.
_HARMLESS = {"readOnlyHint": True, "openWorldHint": True}

TOOLS: list[dict[str, Any]] = [
    {
        "name": ASK,
        "title": "Ask people",
        "description": (
            "Ask the people of a room one to four multiple-choice questions and wait for the answer. Use it "
            "when you are blocked on a decision that is theirs to make. They see only the question: make it "
            "stand on its own. If you recommend an option, put it first and end its label with "
            f'"(Recommended)". The status still_open means that nobody has answered yet: call {WAIT}.'
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "description": "1 to 4 questions.",
                    "items": _QUESTION,
                    "minItems": 1,
                    "maxItems": 4,
                },
                "care": _CARE,
            },
            "required": ["questions"],
            "additionalProperties": False,
        },
        "outputSchema": _OUTCOME,
        "annotations": _HARMLESS,
        "_meta": _ALWAYS_LOADED,
    },
    {
        "name": WAIT,
        "title": "Wait for an answer",
        "description": f"Wait for the answer to a question that {ASK} left with the status still_open.",
        "inputSchema": {
            "type": "object",
            "properties": {"question_id": {"type": "string", "description": "From the earlier result."}},
            "required": ["question_id"],
            "additionalProperties": False,
        },
        "outputSchema": _OUTCOME,
        "annotations": {**_HARMLESS, "idempotentHint": True},
        "_meta": _ALWAYS_LOADED,
    },
    {
        "name": REMEMBER,
        "title": "Recall decisions",
        "description": (
            "Find what the people of the room answered when something very similar was asked. It may spare "
            f"them a question; where it matters, or the case is another, use {ASK} all the same."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "The question as you would ask it."},
            },
            "required": ["question"],
            "additionalProperties": False,
        },
        "outputSchema": _MEMORIES,
        "annotations": {**_HARMLESS, "idempotentHint": True},
    },
    {
        "name": APPROVE,
        "title": "Permission prompt",
        "description": (
            "For Claude Code's --permission-prompt-tool, not for models: answers AskUserQuestion from the "
            "room and allows or denies every other tool as this server was started."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string"},
                "input": {"type": "object"},
                "tool_use_id": {"type": "string"},
            },
            "required": ["tool_name", "input"],
        },
    },
]
