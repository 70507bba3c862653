"""Serializers: questions, answers and messages as the JSON of the wire contract."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, cast

from django.conf import settings
from django.urls import get_script_prefix, get_urlconf, reverse
from pydantic import Field

# Those of Python 3.11 lack what pydantic needs for the schema.
from typing_extensions import TypeAliasType, TypedDict

from rooms.contract.votes import Vote, cast_at
from rooms.models import Answer, Ending, EndReason, Message, Question
from rooms.timeline import Entry

# Makes an absolute address of a path, as `HttpRequest.build_absolute_uri` does.
Absolute = Callable[[str], str]

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Status = Literal["open", "answered", "declined", "expired", "withdrawn"]
Kind = Literal["choice", "skip", "reply"]
Via = Literal["web", "terminal", "api", "default"]
SenderType = Literal["human", "agent", "system"]


class AgentObject(TypedDict):
    name: str
    color: str
    active: bool
    last_seen_at: Moment | None


class OptionObject(TypedDict):
    label: str
    description: str
    preview: str


class PromptObject(TypedDict):
    question: str
    header: str
    multiSelect: bool
    options: list[OptionObject]


class PersonObject(TypedDict):
    username: str
    name: str


class ChoiceObject(TypedDict):
    question: str
    header: str
    selectedOptions: list[str]
    customInput: str | None
    notes: str | None


class VoteObject(TypedDict):
    by: PersonObject
    through: str | None
    at: Moment


class AnswerObject(TypedDict):
    """`kind` is `reply` when a person asks back instead of choosing: `reason` is then what they wrote.

    Where several had to agree, `by` is whose vote decided and `votes` are all that made up the decision.
    `through` is the label of the key that passed it on: from the terminal, or for the person in `by`.
    """

    kind: Kind
    by: PersonObject | None
    via: Via
    through: str | None
    at: Moment
    answers: list[ChoiceObject]
    reason: str | None
    votes: list[VoteObject]


class FirstObject(TypedDict):
    people: list[str]
    role: Literal["manager", "member"] | None


class VotesObject(TypedDict):
    """How many votes have to agree, of which people (empty: all in the room), and how many were cast."""

    needed: int
    of: list[str]
    cast: int


class CareObject(TypedDict):
    first: FirstObject | None
    votes: VotesObject | None
    undo_seconds: int | None
    escalate_seconds: int | None
    escalated: bool


class EndedObject(TypedDict):
    """Why a question expired or was withdrawn, and which person did so."""

    reason: Literal["deadline", "agent", "person", "no_agent_waiting", "room_archived"]
    by: PersonObject | None


class QuestionObject(TypedDict):
    id: str
    room: str
    status: Status
    url: str
    agent: AgentObject
    session_id: str | None
    tool_use_id: str | None
    questions: list[PromptObject]
    context: dict[str, str]
    asked_at: Moment
    expires_at: Moment | None
    settled_at: Moment | None
    delivered_at: Moment | None
    revision: int
    care: CareObject | None
    answer: AnswerObject | None
    ended: EndedObject | None


class QuestionList(TypedDict):
    questions: list[QuestionObject]
    next: str | None


class MemoryObject(TypedDict):
    """An earlier question that a person answered; `similarity` is 1 for the same words."""

    question: QuestionObject
    similarity: float


class MemoryList(TypedDict):
    memories: list[MemoryObject]


class AskUserQuestionContent(PromptObject):
    """The first prompt in the fields of a flat question, and all of them as `questions`."""

    questions: list[PromptObject]


class AskUserQuestionResponseContent(TypedDict):
    """How a question ended: `status` says which way, `kind` what was given.

    `selectedOptions` are the labels and the texts of their own of all prompts; `answers` keep both apart.
    Without an answer `kind` is `none`, `via` is null, both lists are empty and `reason` says why.
    """

    questionMessageId: str
    selectedOptions: list[str]
    status: Literal["answered", "declined", "expired", "withdrawn"]
    kind: Literal["choice", "skip", "reply", "none"]
    via: Via | None
    answers: list[ChoiceObject]
    reason: str | None


def _json_of(schema: str) -> Any:
    """A text that holds JSON of this schema."""
    reference: dict[str, Any] = {"$ref": f"#/components/schemas/{schema}"}
    return Field(json_schema_extra={"contentMediaType": "application/json", "contentSchema": reference})


class EntryObject(TypedDict):
    """What every message has in common."""

    id: str
    sender: str
    color: str | None
    created_at: Moment


class LineMessage(EntryObject):
    """`question` is the id of the question that a person corrects with this message, else null."""

    sender_type: Literal["human", "agent"]
    type: Literal["message", "log"]
    content: str
    question: str | None


class QuestionMessage(EntryObject):
    sender_type: Literal["agent"]
    type: Literal["AskUserQuestion"]
    content: Annotated[str, _json_of("AskUserQuestionContent")]


class ResponseMessage(EntryObject):
    """`sender_type` is `system` for a default, and for a question that expired without one."""

    sender_type: SenderType
    type: Literal["AskUserQuestionResponse"]
    content: Annotated[str, _json_of("AskUserQuestionResponseContent")]


MessageObject = TypeAliasType(
    "MessageObject",
    Annotated[LineMessage | QuestionMessage | ResponseMessage, Field(discriminator="type")],
)


class MessageList(TypedDict):
    messages: list[MessageObject]
    next: str | None


def time(moment: datetime) -> str:
    """RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def time_or_none(moment: datetime | None) -> str | None:
    return time(moment) if moment else None


def question_object(question: Question, absolute: Absolute) -> QuestionObject:
    return {
        "id": question.pk,
        "room": question.room.slug,
        "status": question.status,  # type: ignore[typeddict-item] # a TextChoices value
        "url": absolute(path_of(question)),
        "agent": {
            "name": question.agent_name,
            "color": question.agent_color,
            "active": question.agent_is_waiting,
            "last_seen_at": time_or_none(question.last_seen_at),
        },
        "session_id": question.session_id or None,
        "tool_use_id": question.tool_use_id or None,
        "questions": question.prompts,
        "context": question.context,
        "asked_at": time(question.asked_at),
        "expires_at": time_or_none(question.expires_at),
        "settled_at": time_or_none(question.settled_at),
        "delivered_at": time_or_none(question.delivered_at),
        "revision": question.revision,
        "care": care_object(question) if question.care else None,
        "answer": answer_object(question.answer_or_none, question.decided_by),
        "ended": question.why_ended,  # type: ignore[typeddict-item] # a value of EndReason
    }


def care_object(question: Question) -> CareObject:
    """The care of a question and its progress; not the votes themselves, which are no answer yet."""
    asked: dict[str, Any] = question.care or {}
    votes = asked["votes"]
    cast = len(question.votes or ())
    return CareObject(
        first=asked["first"],
        votes=VotesObject(needed=votes["needed"], of=votes["of"], cast=cast) if votes else None,
        undo_seconds=asked["undo_seconds"],
        escalate_seconds=asked["escalate_seconds"],
        escalated=question.was_escalated,
    )


def path_of(question: Question) -> str:
    """The path of the question's page."""
    before_room, before_id = _path_parts(get_script_prefix(), get_urlconf() or settings.ROOT_URLCONF)
    return f"{before_room}{question.room.slug}{before_id}{question.pk}"


@lru_cache(maxsize=16)  # bounded: some servers let their clients name the prefix
def _path_parts(script_prefix: str, urlconf: str) -> tuple[str, str]:
    """Cached: resolving it takes as long as the rest of a question's object."""
    path = reverse("ask_bridge:question", urlconf, args=("ROOM", "ID"))
    before_room, before_id = path.removesuffix("ID").rsplit("ROOM", 1)
    return before_room, before_id


def answer_object(answer: Answer | None, votes: Sequence[Vote] = ()) -> AnswerObject | None:
    if answer is None:
        return None
    by = PersonObject(username=answer.username, name=answer.person_name)
    return AnswerObject(
        kind=_kind(answer),
        by=by if answer.username else None,
        via=answer.via,  # type: ignore[typeddict-item] # a TextChoices value
        through=answer.through or None,
        at=time(answer.answered_at),
        answers=answer.choices,
        reason=answer.reason or None,
        votes=[
            VoteObject(
                by=PersonObject(username=vote["username"], name=vote["name"]),
                through=vote.get("through"),
                at=time(cast_at(vote)),
            )
            for vote in votes
        ],
    )


def _kind(answer: Answer) -> Kind:
    if answer.asks_back:
        return "reply"
    # Every prompt of an answered question has a choice.
    return "choice" if answer.choices else "skip"


def message_object(entry: Entry) -> MessageObject:
    """Any entry of the timeline as a message."""
    match entry:
        case Message():
            return LineMessage(
                id=entry.pk,
                sender=entry.sender,
                sender_type=entry.sender_type,  # type: ignore[typeddict-item] # a TextChoices value
                type=entry.kind,  # type: ignore[typeddict-item] # a TextChoices value
                content=entry.content,
                question=entry.question_id,
                color=entry.color or None,
                created_at=time(entry.created_at),
            )
        case Question():
            return {
                "id": entry.pk,
                "sender": entry.agent_name,
                "sender_type": "agent",
                "type": "AskUserQuestion",
                "content": json.dumps(question_content(entry), ensure_ascii=False),
                "color": entry.agent_color,
                "created_at": time(entry.asked_at),
            }
        case Answer():
            sender, sender_type = _sender(entry)
            return _response(entry.pk, sender, sender_type, entry.answered_at, response_content(entry))
        case Ending():
            sender_type = cast(SenderType, entry.sender_type)
            sender = entry.sender or sender_type
            return _response(entry.pk, sender, sender_type, entry.ended_at, ending_content(entry))


def _response(
    id: str, sender: str, sender_type: SenderType, at: datetime, content: AskUserQuestionResponseContent
) -> ResponseMessage:
    return {
        "id": id,
        "sender": sender,
        "sender_type": sender_type,
        "type": "AskUserQuestionResponse",
        "content": json.dumps(content, ensure_ascii=False),
        "color": None,
        "created_at": time(at),
    }


def _sender(answer: Answer) -> tuple[str, SenderType]:
    """The sender of an answer: a person with a login, an agent with its key, or the question's default."""
    match answer.via:
        case Answer.Via.WEB:
            return answer.person_name, "human"
        case Answer.Via.DEFAULT:
            return "system", "system"
        case _:
            # The agent is the sender: people do not sign in at its terminal.
            return answer.through or answer.via, "agent"


def question_content(question: Question) -> AskUserQuestionContent:
    """The flat fields of the first prompt, and all prompts as `questions`."""
    return cast(AskUserQuestionContent, {**question.prompts[0], "questions": question.prompts})


def response_content(answer: Answer) -> AskUserQuestionResponseContent:
    return {
        "questionMessageId": answer.question_id,
        "selectedOptions": [text for choice in answer.choices for text in _chosen(choice)],
        "status": answer.question.status,  # type: ignore[typeddict-item] # a TextChoices value
        "kind": _kind(answer),
        "via": answer.via,  # type: ignore[typeddict-item] # a TextChoices value
        "answers": answer.choices,
        "reason": answer.reason or None,
    }


def _chosen(choice: ChoiceObject) -> list[str]:
    """The chosen labels, followed by the person's own text."""
    own_words = choice.get("customInput")
    return [*choice["selectedOptions"], *([own_words] if own_words else [])]


def ending_content(ending: Ending) -> AskUserQuestionResponseContent:
    """The same shape for a question that ended without an answer."""
    status = ending.question.status
    why = ending.question.why_ended
    match why and why["reason"]:
        case EndReason.NO_AGENT_WAITING:
            reason = "Closed: no agent was waiting."
        case EndReason.ROOM_ARCHIVED:
            reason = "Closed: the room was archived."
        case EndReason.DEADLINE:
            reason = "No answer came in time."
        case _:
            reason = f"Withdrawn by {ending.sender}." if ending.sender else "Withdrawn."
    return {
        "questionMessageId": ending.question_id,
        "selectedOptions": [],
        "status": status,  # type: ignore[typeddict-item] # a TextChoices value
        "kind": "none",
        "via": None,
        "answers": [],
        "reason": reason,
    }
