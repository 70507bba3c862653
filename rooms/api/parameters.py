"""Parameters of the API as OpenAPI describes them."""

from rooms.api.schemas import Json
from rooms.contract.limits import (
    HOOK_TIMEOUT_SECONDS,
    IDENTIFIER_LENGTH,
    LONGEST_HOOK_TIMEOUT_SECONDS,
    LONGEST_WAIT_SECONDS,
    PAGE_LIMIT,
    PAGE_SIZE,
    QUESTION_LENGTH,
)
from rooms.history import similar
from rooms.models import Question
from rooms.rendering.option_memory import SHOWN


def parameters() -> Json:
    """All parameters by the name that operations refer to."""
    path = {"in": "path", "required": True}
    return {
        "room": path
        | {
            "name": "room",
            "description": "The slug of the key's room.",
            "schema": {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"},
            "example": "ops",
        },
        "question_id": path
        | {
            "name": "question_id",
            "description": "The `id` of a question.",
            "schema": {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$"},
        },
        "wait": _query(
            "wait",
            "Seconds to wait for a change; a value outside the limits becomes the nearest limit.",
            {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_SECONDS, "default": 0},
        ),
        "after": _query("after", "Only what comes after the entry with this id.", {"type": "string"}),
        "limit": _query(
            "limit",
            "How many at most; a larger value becomes the maximum.",
            {"type": "integer", "minimum": 1, "maximum": PAGE_LIMIT, "default": PAGE_SIZE},
        ),
        "similar_to": {
            **_query(
                "q",
                "The text of a question.",
                {"type": "string", "minLength": 1, "maxLength": QUESTION_LENGTH, "pattern": r"\S"},
            ),
            "required": True,
        },
        "memories": _query(
            "limit",
            "How many at most; a larger value becomes the maximum.",
            {"type": "integer", "minimum": 1, "maximum": similar.MOST, "default": SHOWN},
        ),
        "status": _query(
            "status",
            "Only questions in this state.",
            {"type": "string", "enum": list(Question.Status.values)},
        ),
        "timeout": _query(
            "timeout",
            "Seconds to wait for the room.",
            {
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST_HOOK_TIMEOUT_SECONDS,
                "default": HOOK_TIMEOUT_SECONDS,
            },
        ),
        "headless": _query(
            "headless",
            "`1`: no person is at a terminal, so the model is told when no answer came.",
            {"type": "string", "enum": ["0", "1"], "default": "0"},
        ),
        "agent": _query("agent", "The name on the card.", {"type": "string"}),
        "idempotency_key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "Any text: an ask that repeats it returns the same question.",
            "schema": {"type": "string", "maxLength": IDENTIFIER_LENGTH},
        },
        "last_event_id": {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The id of the last event that was received.",
            "schema": {"type": "string"},
        },
    }


def _query(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "description": description, "schema": schema}
