"""GET and POST /api/v1/rooms/{room}/messages: the timeline as messages."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.api.messages import POST_BY_TYPE
from rooms.contract.payload import MESSAGE_TYPES
from rooms.models import Answer, Message, Question, Room

DATABASE = "Which database should we use?"


def post(agent: Any, **message: Any) -> Any:
    return agent.post(agent.messages_url, message)


def ids(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [message["id"] for message in response.json()["messages"]]


# ---- posting -------------------------------------------------------------------------------------


def test_message_comes_back_with_its_id(agent: Any) -> None:
    response = post(agent, sender="bot", content="Hello", sender_type="agent", color="#abc", type="message")
    assert response.status_code == 201
    reply = response.json()
    stored = Message.objects.get()
    assert reply.pop("created_at").endswith("Z")
    assert reply == {
        "id": stored.pk,
        "sender": "bot",
        "sender_type": "agent",
        "type": "message",
        "content": "Hello",
        "question": None,
        "color": "#aabbcc",
    }


def test_sender_is_the_label_of_the_key_unless_told_otherwise(agent: Any) -> None:
    reply = post(agent, content="Hello").json()
    assert (reply["sender"], reply["sender_type"], reply["color"]) == ("refactor-bot", "agent", None)


@pytest.mark.parametrize(
    ("sent", "stored"), [("log", "log"), ("message", "message"), ("system", "message"), (None, "message")]
)
def test_unknown_type_becomes_message(agent: Any, sent: str | None, stored: str) -> None:
    assert post(agent, content="Hello", type=sent).json()["type"] == stored


def test_posted_question_is_a_question(agent: Any) -> None:
    content = json.dumps({"question": "Which approach?", "options": [{"label": "A"}, {"label": "B"}]})
    response = post(agent, sender="my-agent", content=content, color="#818cf8", type="AskUserQuestion")
    assert response.status_code == 201
    reply, question = response.json(), Question.objects.get()
    assert (reply["id"], reply["type"], reply["sender"]) == (question.pk, "AskUserQuestion", "my-agent")
    assert (question.agent_name, question.agent_color) == ("my-agent", "#818cf8")
    shown = json.loads(reply["content"])
    assert shown["question"] == "Which approach?"
    assert [option["label"] for option in shown["options"]] == ["A", "B"]
    assert not Message.objects.exists()


def test_posted_question_may_name_its_agent_itself(agent: Any) -> None:
    content = json.dumps({"question": "?", "options": ["A", "B"], "agent": {"name": "inner"}})
    assert post(agent, sender="outer", content=content, type="AskUserQuestion").json()["sender"] == "inner"


def test_posted_question_that_does_not_fit_is_refused(agent: Any, problem: Any) -> None:
    content = json.dumps({"question": "?", "options": ["A"]})
    refused = problem(post(agent, content=content, type="AskUserQuestion"), 422, "invalid_question")
    assert refused["errors"][0]["field"] == "questions[0].options"
    assert not Question.objects.exists()


@pytest.mark.parametrize("kind", ["AskUserQuestion", "AskUserQuestionResponse"])
@pytest.mark.parametrize("content", ["Hello", "[]", "5", "{", '{"a": NaN}', "[" * 10_000])
def test_content_of_these_types_is_a_json_object(agent: Any, problem: Any, kind: str, content: str) -> None:
    refused = problem(post(agent, content=content, type=kind), 422, "invalid_message")
    assert [error["field"] for error in refused["errors"]] == ["content"]
    assert not Question.objects.exists()


def test_posted_response_answers_the_question(chat_bot: Any, question: Question) -> None:
    named = {"questionMessageId": question.pk, "selectedOptions": ["SQLite"], "by": "ana"}
    content = json.dumps(named)
    response = post(chat_bot, content=content, sender_type="human", type="AskUserQuestionResponse")
    assert response.status_code == 201
    answer = Answer.objects.get()
    assert (response.json()["id"], response.json()["type"]) == (answer.pk, "AskUserQuestionResponse")
    assert (answer.via, answer.username, answer.through) == ("api", "ana", "Chat bot")
    assert Question.objects.get().status == "answered"


def test_posted_response_to_several_prompts_names_each(chat_bot: Any, ask: Callable[..., Question]) -> None:
    question = ask(
        questions=[
            {"question": "Which?", "options": ["A", "B"]},
            {"question": "Which ones?", "options": ["C", "D"], "multiSelect": True},
        ]
    )
    answers = [
        {"question": "Which?", "customInput": "neither"},
        {"question": "Which ones?", "selectedOptions": ["C", "D"]},
    ]
    content = json.dumps({"questionMessageId": question.pk, "answers": answers, "by": "ana"})
    assert post(chat_bot, content=content, type="AskUserQuestionResponse").status_code == 201
    assert Answer.objects.get().choices[1]["selectedOptions"] == ["C", "D"]


def test_late_response_is_refused(chat_bot: Any, question: Question, problem: Any, ana: Any) -> None:
    lifecycle.decline(question, ana)
    named = {"questionMessageId": question.pk, "selectedOptions": ["SQLite"], "by": "ana"}
    response = post(chat_bot, content=json.dumps(named), type="AskUserQuestionResponse")
    refused = problem(response, 409, "question_settled")
    assert refused["question"]["id"] == question.pk


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"selectedOptions": ["SQLite"]}, "content.questionMessageId"),
        ({"questionMessageId": 5}, "content.questionMessageId"),
        ({"questionMessageId": "QUESTION", "selectedOptions": ["MySQL"]}, f'answers["{DATABASE}"]'),
        ({"questionMessageId": "QUESTION", "selectedOptions": []}, f'answers["{DATABASE}"]'),
        ({"questionMessageId": "QUESTION", "selectedOptions": "SQLite"}, "content.selectedOptions"),
    ],
)
def test_response_that_does_not_fit_is_refused(
    chat_bot: Any, question: Question, problem: Any, content: dict[str, Any], field: str
) -> None:
    text = json.dumps({**content, "by": "ana"}).replace("QUESTION", question.pk)
    refused = problem(post(chat_bot, content=text, type="AskUserQuestionResponse"), 422, "invalid_answer")
    assert [error["field"] for error in refused["errors"]] == [field]
    assert Question.objects.get().is_open


@pytest.mark.parametrize("question_id", ["q_missing", "m_x", "\x01"])
def test_response_to_nothing_is_not_found(agent: Any, problem: Any, question_id: str) -> None:
    content = json.dumps({"questionMessageId": question_id, "selectedOptions": ["A"]})
    problem(post(agent, content=content, type="AskUserQuestionResponse"), 404, "not_found")


def test_response_to_a_question_of_another_room_is_not_found(
    foreign_agent: Any, question: Question, problem: Any
) -> None:
    content = json.dumps({"questionMessageId": question.pk, "selectedOptions": ["SQLite"]})
    problem(post(foreign_agent, content=content, type="AskUserQuestionResponse"), 404, "not_found")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({}, "content"),
        ({"content": "  "}, "content"),
        ({"content": 5}, "content"),
        ({"content": "x" * 16_001}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "\udc00"}, "content"),
        ({"content": "Hello", "sender": "x" * 81}, "sender"),
        ({"content": "Hello", "sender_type": "system"}, "sender_type"),
        ({"content": "Hello", "color": "url(x)"}, "color"),
    ],
)
def test_message_that_does_not_fit_is_refused_and_nothing_stored(
    agent: Any, problem: Any, message: dict[str, Any], field: str
) -> None:
    refused = problem(agent.post(agent.messages_url, message), 422, "invalid_message")
    assert [error["field"] for error in refused["errors"]] == [field]
    assert not Message.objects.exists()


def test_longest_message_fits(agent: Any) -> None:
    assert post(agent, content="x" * 16_000).status_code == 201


def test_too_many_messages_are_refused(agent: Any, problem: Any, settings: Any) -> None:
    settings.ASK_BRIDGE = {"MESSAGES_PER_MINUTE": 1}
    assert post(agent, content="one").status_code == 201
    response = post(agent, content="two")
    problem(response, 429, "too_many_requests")
    assert int(response["Retry-After"]) > 0
    assert Message.objects.count() == 1


# ---- reading -------------------------------------------------------------------------------------


def test_empty_timeline_has_no_messages(agent: Any) -> None:
    assert agent.get(agent.messages_url).json() == {"messages": [], "next": None}


def test_timeline_has_questions_answers_and_messages_in_order(
    agent: Any, ask: Callable[..., Question], ana: Any
) -> None:
    line = post(agent, content="I begin", type="log").json()["id"]
    question = ask()
    choice = {"question": DATABASE, "selectedOptions": ["SQLite"], "notes": "small"}
    answered = lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    said = lifecycle.say(question.room, ana, "Well done")
    response = agent.get(agent.messages_url)
    assert ids(response) == [line, question.pk, answered.answer.pk, said.pk]
    messages = response.json()["messages"]
    assert [(message["type"], message["sender"], message["sender_type"]) for message in messages] == [
        ("log", "refactor-bot", "agent"),
        ("AskUserQuestion", "refactor-bot", "agent"),
        ("AskUserQuestionResponse", "Ana Costa", "human"),
        ("message", "Ana Costa", "human"),
    ]
    content = json.loads(messages[2]["content"])
    assert (content["questionMessageId"], content["selectedOptions"]) == (question.pk, ["SQLite"])
    assert (content["status"], content["via"]) == ("answered", "web")
    assert content["answers"][0]["notes"] == "small"


def test_content_of_a_question_is_flat_and_complete(agent: Any, question: Question) -> None:
    (message,) = agent.get(agent.messages_url).json()["messages"]
    content = json.loads(message["content"])
    assert content["question"] == DATABASE
    assert content["questions"] == question.prompts
    assert message["color"] == "#818cf8"


def test_skip_is_a_response_with_its_reason(agent: Any, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana, "Later.")
    content = json.loads(agent.get(agent.messages_url).json()["messages"][1]["content"])
    assert (content["status"], content["selectedOptions"], content["reason"]) == ("declined", [], "Later.")
    assert content["kind"] == "skip"


def test_a_reply_is_a_response_that_asks_back(agent: Any, question: Question, ana: Any) -> None:
    lifecycle.ask_back(question, ana, "How large does it get?")
    message = agent.get(agent.messages_url).json()["messages"][1]
    assert (message["type"], message["sender"]) == ("AskUserQuestionResponse", "Ana Costa")
    content = json.loads(message["content"])
    assert (content["kind"], content["status"]) == ("reply", "declined")
    assert (content["reason"], content["answers"]) == ("How large does it get?", [])


def test_pages_follow_each_other_without_gap_or_overlap(agent: Any, ask: Callable[..., Question]) -> None:
    expected = []
    for number in range(3):
        expected.append(post(agent, content=f"line {number}").json()["id"])
        expected.append(ask().pk)
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        response = agent.get(f"{agent.messages_url}?limit=4&after={after}")
        found += ids(response)
        after = response.json()["next"]
    assert found == expected


@pytest.mark.parametrize("kind", ["question", "answer", "ending", "message"])
def test_every_kind_of_entry_is_a_cursor(
    agent: Any, ask: Callable[..., Question], ana: Any, kind: str
) -> None:
    entries = {
        "message": post(agent, content="first").json()["id"],
        "answer": lifecycle.decline(ask(), ana).answer.pk,
        "ending": lifecycle.withdraw(ask()).ending.pk,
        "question": ask().pk,
    }
    last = post(agent, content="last").json()["id"]
    assert ids(agent.get(f"{agent.messages_url}?after={entries[kind]}"))[-1] == last
    assert entries[kind] not in ids(agent.get(f"{agent.messages_url}?after={entries[kind]}"))


@pytest.mark.parametrize("query", ["after=m_missing", "after=7", "after=m_%00", "limit=0", "limit=x"])
def test_wrong_parameters_are_refused(agent: Any, problem: Any, query: str) -> None:
    problem(agent.get(f"{agent.messages_url}?{query}"), 422, "invalid_parameter")


def test_other_rooms_are_not_read(agent: Any, other_room: Room) -> None:
    lifecycle.post_message(other_room, sender="x", sender_type="agent", content="secret")
    assert ids(agent.get(agent.messages_url)) == []


def test_timeline_takes_the_same_number_of_queries_however_long(
    agent: Any, ask: Callable[..., Question], ana: Any, django_assert_num_queries: Any
) -> None:
    for number in range(3):
        lifecycle.decline(ask(), ana)
        lifecycle.withdraw(ask())
        post(agent, content=f"line {number}")
    # The first read delivers the results to the agent that asked, and has nothing to do with the length.
    agent.get(agent.messages_url)
    with django_assert_num_queries(6):
        assert len(ids(agent.get(agent.messages_url))) == 15


# ---- the delivery of results -----------------------------------------------------------------------------


def delivered(question: Question) -> bool:
    return Question.objects.get(pk=question.pk).delivered_at is not None


def asked_by(agent: Any) -> Question:
    body = {"question": "Deploy?", "options": ["Yes", "No"]}
    return Question.objects.get(pk=agent.post(agent.questions_url, body).json()["id"])


def test_reading_the_response_is_its_delivery(agent: Any, ana: Any) -> None:
    question = asked_by(agent)
    lifecycle.decline(question, ana)
    agent.get(f"{agent.messages_url}?after={question.pk}")
    assert delivered(question)


def test_a_page_that_ends_before_the_response_delivers_nothing(agent: Any, ana: Any) -> None:
    question = asked_by(agent)
    post(agent, content="meanwhile")
    lifecycle.decline(question, ana)
    agent.get(f"{agent.messages_url}?limit=2")
    assert not delivered(question)


def test_a_reader_with_another_key_delivers_nothing(agent: Any, second_agent: Any, ana: Any) -> None:
    question = asked_by(agent)
    lifecycle.decline(question, ana)
    second_agent.get(second_agent.messages_url)
    assert not delivered(question)


def test_all_results_of_a_page_are_delivered(agent: Any, ana: Any) -> None:
    questions = [asked_by(agent) for _ in range(3)]
    for question in questions:
        lifecycle.decline(question, ana)
    agent.get(agent.messages_url)
    assert all(delivered(question) for question in questions)
    revisions = [Question.objects.get(pk=question.pk).revision for question in questions]
    assert revisions == sorted(set(revisions))


def test_a_wait_for_messages_that_cannot_be_held_is_a_sign_of_life(agent: Any, second_agent: Any) -> None:
    question = asked_by(agent)
    second_agent.get(f"{second_agent.messages_url}?after={question.pk}&wait=5")
    agent.get(f"{agent.messages_url}?after={question.pk}")
    assert not Question.objects.get(pk=question.pk).agent_is_waiting
    agent.get(f"{agent.messages_url}?after={question.pk}&wait=5")
    assert Question.objects.get(pk=question.pk).agent_is_waiting


def test_every_message_type_has_a_function_that_posts_it() -> None:
    assert tuple(POST_BY_TYPE) == MESSAGE_TYPES
