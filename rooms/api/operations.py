"""The operations of the API, written by hand: what each takes, returns and fails with."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from rooms import serializers
from rooms.api.schemas import Health, HookEnvelope, Json, Readiness
from rooms.contract.asks import Ask
from rooms.contract.limits import BODY_LIMIT
from rooms.contract.payload import NewMessage, ReportedAnswer

# The description of a reply and the type of its JSON, or None.
Reply = tuple[str, Any]


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
    """One method of one address, named as in `urls.py`: its body, its replies and its problems."""

    address: str
    method: str
    id: str
    summary: str
    _: KW_ONLY
    replies: dict[int, Reply]
    body: type | None = None
    parameters: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    description: str = ""
    is_public: bool = False


BODY_PROBLEMS = (400, 413, 415, 422)


# The status of calls for which a key needs a scope.
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
        body=Ask,
        replies={
            201: ("The new question.", serializers.QuestionObject),
            200: (
                "The same was asked before: the existing question, as it is now.",
                serializers.QuestionObject,
            ),
        },
        problems=(*BODY_PROBLEMS, SCOPED, 409, 429),
    ),
    Call(
        "api-questions",
        "get",
        "listQuestions",
        "List the room's questions, oldest first.",
        parameters=("status", "after", "limit"),
        replies={200: ("A page; `next` is the `after` of the page that follows.", serializers.QuestionList)},
        problems=(422,),
    ),
    Call(
        "api-memory",
        "get",
        "remember",
        "Find what people of the room answered to very similar questions.",
        description="The most similar first, then the newest; only what a person answered. It is "
        "for reading: it never answers a question.",
        parameters=("similar_to", "memories"),
        replies={200: ("The earlier questions; often none.", serializers.MemoryList)},
        problems=(422,),
    ),
    Call(
        "api-question",
        "get",
        "readQuestion",
        "Read a question, or wait until it is settled.",
        description="A call with `wait` shows the agent as active and delivers the result.",
        parameters=("wait",),
        replies={
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
        replies={200: ("The withdrawn question.", serializers.QuestionObject)},
        problems=(SCOPED, 409),
    ),
    Call(
        "api-wait",
        "delete",
        "stopWaiting",
        "Stop waiting; the question stays open.",
        replies={204: ("Done.", None)},
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
        body=ReportedAnswer,
        replies={200: ("The answered question; still `open` after a vote.", serializers.QuestionObject)},
        problems=(*BODY_PROBLEMS, SCOPED, 409),
    ),
    Call(
        "api-messages",
        "get",
        "listMessages",
        "Read the timeline as messages, oldest first.",
        parameters=("after", "limit", "wait"),
        replies={200: ("A page; `next` is the `after` of the page that follows.", serializers.MessageList)},
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
        body=NewMessage,
        replies={
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
        replies={200: ("The stream.", serializers.MessageList)},
        problems=(422, 429),
    ),
    Call(
        "api-claude-code",
        "post",
        "hookOfClaudeCode",
        "Take a hook of Claude Code around AskUserQuestion or AskFollowupQuestion and reply in its output "
        "format.",
        description="PreToolUse and PermissionRequest ask the room and wait; PostToolUse closes the card "
        "with what was answered in the terminal. An empty object changes nothing: another "
        "tool, no answer in time, no open card, or an envelope that is not understood, such as that "
        "of another agent. With `headless=1` the model is told why its question was refused.",
        parameters=("timeout", "headless", "agent"),
        body=HookEnvelope,
        replies={200: ("What Claude Code reads as the output of its hook.", dict)},
        problems=(*BODY_PROBLEMS, SCOPED, 409, 429),
    ),
    Call(
        "api-openapi",
        "get",
        "readApiDocument",
        "This document.",
        replies={200: ("OpenAPI 3.1.", dict)},
        is_public=True,
    ),
    Call(
        "healthz",
        "get",
        "isUp",
        "Tell that the process is up.",
        replies={200: ("It is.", Health)},
        is_public=True,
    ),
    Call(
        "readyz",
        "get",
        "isReady",
        "Tell whether database and channel layer are reachable, and whether the database takes writes.",
        replies={200: ("They are.", Readiness), 503: ("One is not.", Readiness)},
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
    "(`database_unavailable`), or its database is read-only or full (`cannot_write`), or this process is "
    "older than what it should change (`needs_newer_version`); nothing is lost.",
}


# These carry Retry-After.
RETRYABLE = (429, 503)
