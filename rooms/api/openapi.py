"""The OpenAPI document of the agents' API.

Its schemas are made from the code that validates (`payload.py`) and the code that answers
(`wire.py`). Only which call takes and gives what is written by hand.
"""

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, NotRequired, cast

from django.urls import reverse
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict  # Python 3.11's own lacks what pydantic needs

from rooms import __version__, serializers
from rooms.contract.asks import Ask
from rooms.contract.limits import (
    BODY_LIMIT,
    HOOK_TIMEOUT_SECONDS,
    IDENTIFIER_LENGTH,
    LONGEST_HOOK_TIMEOUT_SECONDS,
    LONGEST_WAIT_SECONDS,
    PAGE_LIMIT,
    PAGE_SIZE,
    QUESTION_LENGTH,
)
from rooms.contract.payload import NewMessage, ReportedAnswer, ResponseContent
from rooms.contract.problems import CONTENT_TYPE as PROBLEM
from rooms.contract.problems import TITLES
from rooms.contract.types import FieldError
from rooms.history import similar
from rooms.models import Question

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

Json = dict[str, Any]
Given = tuple[str, Any]  # what it means, and the JSON that comes with it: a type with a name, or None


class Problem(TypedDict):
    """RFC 9457: `code` is stable, `detail` is one sentence for a person."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: NotRequired[list[FieldError]]
    question: NotRequired[serializers.QuestionObject]


class MemoryObject(TypedDict):
    """An earlier question that a person answered; `similarity` is 1 for the same words."""

    question: serializers.QuestionObject
    similarity: float


class MemoryList(TypedDict):
    memories: list[MemoryObject]


class HookEnvelope(TypedDict):
    """What Claude Code posts to an HTTP hook; more fields come along and are left alone."""

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
    """Each part is `ok` or `unreachable`; the database is `cannot_write` when it is read-only or full."""

    database: str
    channel_layer: NotRequired[str]


# JSON inside a text: what `content` holds, where a schema refers to it as its `contentSchema`.
CONTENTS = (serializers.AskUserQuestionContent, serializers.AskUserQuestionResponseContent, ResponseContent)

EXAMPLE_ASK: Json = {
    "agent": {"name": "refactor-bot", "color": "#818cf8"},
    "session_id": "8f0c2a",
    "tool_use_id": "toolu_abc",
    "questions": [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {
                    "label": "PostgreSQL (Recommended)",
                    "description": "One more service to run, and no limit to grow into.",
                    "preview": "DATABASE_URL=postgres://…",
                },
                {"label": "SQLite"},
            ],
        }
    ],
    "context": {"text": "The tests pass on both.", "cwd": "/srv/shop", "branch": "main"},
    "timeout_seconds": 3600,
    "default": {"Which database should we use?": ["SQLite"]},
    "care": {"escalate_seconds": 900},
}

OTHER_SHAPES = (
    "Also accepted and brought into this form: one flat question (`question`, `options`, `header`, "
    "`multiSelect` at the top), options as plain strings, `questions` or `options` as a string of "
    "JSON, `follow_up` and `AskFollowupQuestion`, a whole hook envelope with `tool_input`, and "
    "`multi_select` for `multiSelect`."
)


@dataclass(frozen=True)
class Call:
    """One method of one address, by its name in `urls.py`: what it takes, gives and fails with."""

    address: str
    method: str
    id: str
    summary: str
    _: KW_ONLY
    gives: dict[int, Given]
    takes: type | None = None
    parameters: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    description: str = ""
    is_public: bool = False


BODY_PROBLEMS = (400, 413, 415, 422)
# Of calls for which a key needs a scope.
SCOPED = 403

CALLS = (
    Call(
        "api-questions",
        "post",
        "ask",
        "Ask the room a question of one to four prompts.",
        description="With an idempotency key, or `session_id` and `tool_use_id`, asking again "
        "gives the question that is there. With `wait` the reply comes when it is settled or the "
        f"seconds are over. {OTHER_SHAPES}",
        parameters=("wait", "idempotency_key"),
        takes=Ask,
        gives={
            201: ("The new question.", serializers.QuestionObject),
            200: ("The same was asked before: that question, as it is now.", serializers.QuestionObject),
        },
        problems=(*BODY_PROBLEMS, SCOPED, 409, 429),
    ),
    Call(
        "api-questions",
        "get",
        "listQuestions",
        "List the room's questions, oldest first.",
        parameters=("status", "after", "limit"),
        gives={200: ("A page; `next` is the `after` of the page that follows.", serializers.QuestionList)},
        problems=(422,),
    ),
    Call(
        "api-memory",
        "get",
        "remember",
        "Find what people of the room answered to very similar questions.",
        description="The most similar first, the newest of equals first; only what a person answered. It is "
        "for reading: no question is ever answered by it.",
        parameters=("similar_to", "memories"),
        gives={200: ("What was found; often nothing.", MemoryList)},
        problems=(422,),
    ),
    Call(
        "api-question",
        "get",
        "readQuestion",
        "Read a question, or wait until it is settled.",
        description="A call with `wait` is the sign of life that shows the agent as active, and "
        "delivers the result.",
        parameters=("wait",),
        gives={
            200: (
                "The question as it is now; still `open` if the seconds are over.",
                serializers.QuestionObject,
            )
        },
        problems=(SCOPED, 422),
    ),
    Call(
        "api-question",
        "delete",
        "withdraw",
        "Take a question back that this key asked.",
        gives={200: ("The withdrawn question.", serializers.QuestionObject)},
        problems=(SCOPED, 409),
    ),
    Call(
        "api-wait",
        "delete",
        "stopWaiting",
        "Say that this agent waits no longer; the question stays open.",
        gives={204: ("Noted.", None)},
        problems=(SCOPED,),
    ),
    Call(
        "api-answer",
        "post",
        "reportAnswer",
        "Report an answer that was given elsewhere, such as in the terminal.",
        description="`terminal` takes the scope of this name and a question that this key asked. `api` takes "
        "the scope `answer` and the person in `by`, who must be able to answer in the room; to a careful "
        "question it is this person's vote.",
        takes=ReportedAnswer,
        gives={200: ("The answered question; still `open` after a vote.", serializers.QuestionObject)},
        problems=(*BODY_PROBLEMS, SCOPED, 409),
    ),
    Call(
        "api-messages",
        "get",
        "listMessages",
        "Read the timeline as messages, oldest first.",
        parameters=("after", "limit", "wait"),
        gives={200: ("A page; `next` is the `after` of the page that follows.", serializers.MessageList)},
        problems=(422, 429),
    ),
    Call(
        "api-messages",
        "post",
        "postMessage",
        "Post a message or log line, a question or an answer.",
        description="`type` is `message`, `log`, `AskUserQuestion` or `AskUserQuestionResponse`; "
        "anything else becomes `message`. The last two take their payload as JSON in `content`: an `Ask` and "
        "a `ResponseContent`. A response takes the scope `answer` and a person: `by` of its content.",
        parameters=("idempotency_key",),
        takes=NewMessage,
        gives={
            201: (
                "The message with its id; the question itself after a response that was counted as a vote.",
                serializers.MessageObject,
            )
        },
        problems=(*BODY_PROBLEMS, SCOPED, 409, 429),
    ),
    Call(
        "api-events",
        "get",
        "listen",
        "Follow the timeline as server-sent events.",
        description="The `data` of each event is a message as JSON and its `id` a cursor for "
        "`Last-Event-ID`. Without a cursor the stream begins now. Under WSGI, which cannot stream, "
        "this gives a page of messages.",
        parameters=("after", "last_event_id"),
        gives={200: ("The stream.", serializers.MessageList)},
        problems=(422, 429),
    ),
    Call(
        "api-claude-code",
        "post",
        "hookOfClaudeCode",
        "Take a hook of Claude Code around AskUserQuestion or AskFollowupQuestion and reply in its output "
        "format.",
        description="PreToolUse and PermissionRequest ask the room and wait; PostToolUse closes the card "
        "with what was answered in the terminal. An empty object leaves everything as it was: another "
        "tool, nobody in time, nothing left to close, or an envelope that is not understood, such as that "
        "of another agent. With `headless=1` the model is told why its question was refused.",
        parameters=("timeout", "headless", "agent"),
        takes=HookEnvelope,
        gives={200: ("What Claude Code reads as the output of its hook.", dict)},
        problems=(*BODY_PROBLEMS, SCOPED, 409, 429),
    ),
    Call(
        "api-openapi",
        "get",
        "readApiDocument",
        "This document.",
        gives={200: ("OpenAPI 3.1.", dict)},
        is_public=True,
    ),
    Call(
        "healthz",
        "get",
        "isUp",
        "Tell that the process is up.",
        gives={200: ("It is.", Health)},
        is_public=True,
    ),
    Call(
        "readyz",
        "get",
        "isReady",
        "Tell whether database and channel layer are reachable, and whether the database takes writes.",
        gives={200: ("They are.", Readiness), 503: ("One is not.", Readiness)},
        is_public=True,
    ),
)

PATH_PARAMETERS = {
    "api-questions": "room",
    "api-memory": "room",
    "api-messages": "room",
    "api-events": "room",
    "api-claude-code": "room",
    "api-question": "question_id",
    "api-wait": "question_id",
    "api-answer": "question_id",
}

PROBLEMS = {
    400: "The body is not JSON (`malformed_json`).",
    401: "No key, or one that is unknown, revoked or expired (`unauthorized`).",
    403: "The key lacks the scope that this call needs (`missing_scope`, with the `scope`), or another key "
    "asked the question (`not_own_question`).",
    404: "Not there, or not for this key (`not_found`).",
    409: "Settled already (`question_settled`, with the `question`), an idempotency key came "
    "with another question (`idempotency_conflict`), or the question is for other people (`needs_people`, "
    "`not_their_turn`).",
    413: f"The body is over {BODY_LIMIT // 1024} KiB (`too_large`).",
    415: "The body is not sent as JSON (`unsupported_media_type`).",
    422: "Something does not fit; `errors` says what and where (`invalid_question`, "
    "`invalid_answer`, `invalid_message`, `invalid_parameter`).",
    429: "This key has sent too much within a minute, or has too many connections open "
    "(`too_many_requests`).",
    503: "The bridge is restarting (`shutting_down`) or cannot reach its database "
    "(`database_unavailable`), or its database is read-only or full (`cannot_write`); nothing is lost.",
}
COMING_BACK = (429, 503)


def document() -> Json:
    """The whole document, with addresses that are right at the prefix a portal includes us at."""
    return _document(reverse("ask_bridge:inbox"))


# One prefix a process is the rule; a few hosts serve the same site below several.
@lru_cache(maxsize=8)
def _document(prefix: str) -> Json:
    paths: dict[str, Json] = {}
    for call in CALLS:
        path = _path(call.address, prefix)
        paths.setdefault(path, {})[call.method] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ask Bridge",
            "version": __version__,
            "description": "Agents ask, people answer on a web page, agents go on.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": prefix.rstrip("/") or "/"}],
        "security": [{"agentKey": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "agentKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "abk_LOOKUP_SECRET",
                    "description": "An agent key, bound to one room.",
                }
            },
            "parameters": _parameters(),
            "responses": {_problem_name(status): _problem(status) for status in PROBLEMS},
            "schemas": _schemas(),
        },
    }


def _path(address: str, prefix: str) -> str:
    """An address below the prefix, as a template."""
    parameter = PATH_PARAMETERS.get(address)
    # `reverse` would refuse or encode the braces of a template.
    stand_in = "PARAMETER"
    path = reverse(f"ask_bridge:{address}", kwargs={parameter: stand_in} if parameter else {})
    return "/" + path.removeprefix(prefix).replace(stand_in, f"{{{parameter}}}")


def _operation(call: Call) -> Json:
    operation: Json = {"operationId": call.id, "summary": call.summary}
    if call.description:
        operation["description"] = call.description
    if call.is_public:
        operation["security"] = []
    in_path = PATH_PARAMETERS.get(call.address)
    if parameters := [*([in_path] if in_path else []), *call.parameters]:
        operation["parameters"] = [_reference("parameters", name) for name in parameters]
    if call.takes:
        content: Json = {"schema": _schema(call.takes)}
        if call.takes is Ask:
            content["example"] = EXAMPLE_ASK
        operation["requestBody"] = {"required": True, "content": {JSON: content}}
    problems = () if call.is_public else (401, 404, *call.problems, 503)
    operation["responses"] = {
        **{str(status): _response(call, *given) for status, given in sorted(call.gives.items())},
        **{str(status): _reference("responses", _problem_name(status)) for status in sorted(problems)},
    }
    return operation


def _response(call: Call, description: str, given: Any) -> Json:
    content: Json = {}
    if given:
        content[JSON] = {"schema": _schema(given)}
    if call.address == "api-events":
        content[EVENT_STREAM] = {"schema": {"type": "string"}}
    return {"description": description, "content": content} if content else {"description": description}


def _parameters() -> Json:
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
            "How many seconds to wait for news; less or more is taken as the nearest limit.",
            {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_SECONDS, "default": 0},
        ),
        "after": _query("after", "Only what comes after the entry with this id.", {"type": "string"}),
        "limit": _query(
            "limit",
            "How many at most; more is taken as the maximum.",
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
            "How many at most; more is taken as the maximum.",
            {"type": "integer", "minimum": 1, "maximum": similar.MOST, "default": similar.SHOWN},
        ),
        "status": _query(
            "status",
            "Only questions in this state.",
            {"type": "string", "enum": list(Question.Status.values)},
        ),
        "timeout": _query(
            "timeout",
            "How many seconds the room may take.",
            {
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST_HOOK_TIMEOUT_SECONDS,
                "default": HOOK_TIMEOUT_SECONDS,
            },
        ),
        "headless": _query(
            "headless",
            "`1`: nobody is at a terminal, so tell the model when nobody answered.",
            {"type": "string", "enum": ["0", "1"], "default": "0"},
        ),
        "agent": _query("agent", "The name on the card.", {"type": "string"}),
        "idempotency_key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A text of the agent's choosing: asking again with it is the same ask.",
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


def _problem(status: int) -> Json:
    response: Json = {
        "description": PROBLEMS[status],
        "content": {PROBLEM: {"schema": _schema(Problem)}},
    }
    if status in COMING_BACK:
        response["headers"] = {
            "Retry-After": {"description": "Seconds to stay away.", "schema": {"type": "integer"}}
        }
    return response


def _problem_name(status: int) -> str:
    return (TITLES.get(status) or HTTPStatus(status).phrase).replace(" ", "")


def _reference(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


class _WithoutFieldTitles(GenerateJsonSchema):
    """A title that only repeats the name of a field says nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: Any) -> Json:
    return {"type": "object"} if model is dict else _reference("schemas", model.__name__)


def _schemas() -> Json:
    """Everything that is sent or given, with all that it consists of."""
    models: dict[str, Any] = {model.__name__: model for model in (Problem, *CONTENTS)}
    for call in CALLS:
        for model in (call.takes, *(given for _, given in call.gives.values())):
            if model not in (None, dict):
                models[model.__name__] = model
    _, schemas = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(model)) for name, model in models.items()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_WithoutFieldTitles,
    )
    return cast(Json, schemas["$defs"])
