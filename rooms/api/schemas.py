"""JSON shapes of the API that no serializer makes: problems, hook envelopes, probes."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # Python 3.11's own lacks what pydantic needs

from rooms import serializers
from rooms.contract.types import FieldError

Json = dict[str, Any]


class Problem(TypedDict):
    """RFC 9457: `code` is stable, `detail` is one sentence for a person."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: NotRequired[list[FieldError]]
    question: NotRequired[serializers.QuestionObject]


class HookEnvelope(TypedDict):
    """What Claude Code posts to an HTTP hook; its other fields are ignored."""

    hook_event_name: str
    tool_name: str
    tool_input: Json
    session_id: NotRequired[str]
    tool_use_id: NotRequired[str]
    prompt_id: NotRequired[str]
    cwd: NotRequired[str]


class Health(TypedDict):
    status: str


class Readiness(TypedDict):
    """Each part is `ok` or `unreachable`; the database is `cannot_write` when it is read-only or full.

    `version` is there only when it is `older_than_database`.
    """

    database: str
    channel_layer: NotRequired[str]
    version: NotRequired[str]
