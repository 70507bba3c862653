"""Scopes of a key: what it may do, and that without one it changes nothing."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import AgentKey, Answer, AuditEntry, Membership, Message, Question, Room
from rooms.rendering.card_content import Card

DATABASE = "Which database should we use?"
REPORT = {"answers": {DATABASE: "SQLite"}, "via": "terminal"}
FOR_ANA = {"answers": {DATABASE: "SQLite"}, "via": "api", "by": {"username": "ana"}}


def response_to(question: Question, **fields: Any) -> dict[str, str]:
    content = {"questionMessageId": question.pk, "selectedOptions": ["SQLite"], **fields}
    return {"type": "AskUserQuestionResponse", "content": json.dumps(content)}


def is_untouched(question: Question) -> bool:
    question.refresh_from_db()
    return question.is_open and not Answer.objects.exists() and not question.agent_active


# ---- ask -------------------------------------------------------------------------------------------------

ASKING: dict[str, Callable[[Any, Question, Any], Any]] = {
    "ask": lambda bot, question, body: bot.post(bot.questions_url, body),
    "post a question": lambda bot, question, body: bot.post(
        bot.messages_url, {"type": "AskUserQuestion", "content": json.dumps(body)}
    ),
    "wait": lambda bot, question, body: bot.get(f"{bot.question_url(question.pk)}?wait=0"),
    "stop waiting": lambda bot, question, body: bot.delete(bot.wait_url(question.pk)),
    "withdraw": lambda bot, question, body: bot.delete(bot.question_url(question.pk)),
    "write": lambda bot, question, body: bot.post(bot.messages_url, {"content": "Hello"}),
}


@pytest.mark.parametrize("call", ASKING)
def test_without_ask_nothing_is_asked_or_written(
    chat_bot: Any, question: Question, body: Any, problem: Any, call: str
) -> None:
    refused = problem(ASKING[call](chat_bot, question, body), 403, "missing_scope")
    assert refused["scope"] == "ask"
    assert is_untouched(question)
    assert Question.objects.count() == 1
    assert not Message.objects.exists()


@pytest.mark.parametrize("call", [call for call in ASKING if call != "withdraw"])
def test_ask_alone_is_enough_to_ask(strict_agent: Any, question: Question, body: Any, call: str) -> None:
    assert ASKING[call](strict_agent, question, body).status_code < 300


def test_every_key_may_read_its_room(chat_bot: Any, question: Question) -> None:
    for path in (chat_bot.questions_url, chat_bot.question_url(question.pk), chat_bot.messages_url):
        assert chat_bot.get(path).status_code == 200


def test_key_withdraws_only_what_it_asked(
    agent: Any, second_agent: Any, question: Question, problem: Any
) -> None:
    problem(second_agent.delete(second_agent.question_url(question.pk)), 403, "not_own_question")
    assert is_untouched(question)
    assert agent.delete(agent.question_url(question.pk)).status_code == 200


def test_test_question_of_a_person_belongs_to_no_key(
    agent: Any, room: Room, ana: Any, body: Any, problem: Any
) -> None:
    question, _ = lifecycle.ask(room, None, parse_ask(body), by=ana)
    problem(agent.delete(agent.question_url(question.pk)), 403, "not_own_question")
    assert is_untouched(question)


# ---- terminal --------------------------------------------------------------------------------------------


def test_key_that_only_asks_cannot_report_the_terminal(strict_agent: Any, body: Any, problem: Any) -> None:
    asked = Question.objects.get(pk=strict_agent.post(strict_agent.questions_url, body).json()["id"])
    refused = problem(strict_agent.post(strict_agent.answer_url(asked.pk), REPORT), 403, "missing_scope")
    assert refused["scope"] == "terminal"
    assert is_untouched(asked)


def test_key_reports_the_terminal_only_for_what_it_asked(
    agent: Any, second_agent: Any, question: Question, problem: Any
) -> None:
    refused = second_agent.post(second_agent.answer_url(question.pk), REPORT)
    problem(refused, 403, "not_own_question")
    assert is_untouched(question)
    assert agent.post(agent.answer_url(question.pk), REPORT).json()["status"] == "answered"


@pytest.mark.parametrize("verb", ["withdraw", "report"])
def test_rotated_key_and_its_successors_are_one_agent(
    agent: Any, second_agent: Any, ask: Callable[..., Question], ana: Any, room: Room, verb: str
) -> None:
    questions = [ask(), ask()]
    following, _ = access.rotate_key(agent.key_row, by=ana)
    last = agent.in_process(room, *access.rotate_key(following, by=ana))
    for bot, question in zip((agent, last), questions, strict=True):
        if verb == "withdraw":
            reply = bot.delete(bot.question_url(question.pk))
        else:
            reply = bot.post(bot.answer_url(question.pk), REPORT)
        assert reply.status_code == 200
    other = agent.in_process(room, *access.rotate_key(second_agent.key_row, by=ana))
    assert other.delete(other.question_url(ask().pk)).status_code == 403


# ---- answer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["agent", "strict_agent", "second_agent"])
def test_only_a_key_with_the_scope_answers_for_people(
    request: pytest.FixtureRequest, question: Question, problem: Any, who: str
) -> None:
    bot = request.getfixturevalue(who)
    for reply in (
        bot.post(bot.answer_url(question.pk), FOR_ANA),
        bot.post(bot.answer_url(question.pk), {**FOR_ANA, "by": None}),
        bot.post(bot.messages_url, response_to(question, by="ana")),
        bot.post(bot.messages_url, response_to(question)),
    ):
        assert problem(reply, 403, "missing_scope")["scope"] == "answer"
    assert is_untouched(question)


def test_key_with_answer_alone_reports_no_terminal(chat_bot: Any, question: Question, problem: Any) -> None:
    assert problem(chat_bot.post(chat_bot.answer_url(question.pk), REPORT), 403, "missing_scope")
    assert is_untouched(question)


def test_answer_through_a_key_names_person_and_key(chat_bot: Any, question: Question, ben: Any) -> None:
    reply = chat_bot.post(chat_bot.messages_url, response_to(question, by={"username": "ben"}))
    assert reply.status_code == 201
    question = Question.objects.with_answer().get()
    answer = question.answer
    assert (answer.user, answer.username, answer.via, answer.through) == (ben, "ben", "api", "Chat bot")
    assert Card(question).outcome.text == "Answered by ben through Chat bot"
    assert Card(question, is_mine=True).outcome.text == "Answered by you through Chat bot"
    # The chat bot is not the agent that asked: nothing has reached that one yet.
    assert question.delivered_at is None


@pytest.mark.parametrize("path", ["answer", "message"])
def test_person_has_to_be_named(chat_bot: Any, question: Question, problem: Any, path: str) -> None:
    if path == "answer":
        reply = chat_bot.post(chat_bot.answer_url(question.pk), {**FOR_ANA, "by": None})
    else:
        reply = chat_bot.post(chat_bot.messages_url, response_to(question))
    refused = problem(reply, 422, "invalid_answer")
    assert [error["field"] for error in refused["errors"]] == ["by"]
    assert is_untouched(question)


def test_unknown_people_and_those_who_may_not_answer_look_the_same(
    chat_bot: Any, question: Question, problem: Any, ben: Any
) -> None:
    get_user_model().objects.create_user("outsider")
    get_user_model().objects.filter(pk=ben.pk).update(is_active=False)
    told = [
        problem(
            chat_bot.post(chat_bot.answer_url(question.pk), {**FOR_ANA, "by": name}), 422, "invalid_answer"
        )
        for name in ("outsider", "ben", "made-up")
    ]
    assert told[0]["errors"][0]["field"] == "by"
    assert told[0] == told[1] == told[2]
    assert is_untouched(question)


def test_answer_through_a_key_is_a_vote_like_any_other(
    chat_bot: Any, ask: Callable[..., Question], ana: Any
) -> None:
    question = ask(care={"votes": 2})
    reply = chat_bot.post(chat_bot.messages_url, response_to(question, by="ana"))
    assert (reply.status_code, reply.json()["type"]) == (201, "AskUserQuestion")
    assert chat_bot.get(chat_bot.question_url(question.pk)).json()["care"]["votes"]["cast"] == 1
    again = chat_bot.post(chat_bot.answer_url(question.pk), FOR_ANA).json()
    assert (again["status"], again["care"]["votes"]["cast"]) == ("open", 1)
    decided = chat_bot.post(chat_bot.answer_url(question.pk), {**FOR_ANA, "by": "ben"}).json()
    assert (decided["status"], decided["answer"]["through"]) == ("answered", "Chat bot")
    voters = [(vote["by"]["username"], vote["through"]) for vote in decided["answer"]["votes"]]
    assert voters == [("ana", "Chat bot"), ("ben", "Chat bot")]
    last = AuditEntry.objects.filter(subject=question.pk).latest("id")
    assert (last.action, last.actor_type, last.actor) == ("answered", "agent", "Chat bot")
    assert last.details == {"via": "api", "person": "ben"}


def test_those_who_are_not_asked_first_cannot_decide_through_a_key(
    chat_bot: Any, ask: Callable[..., Question], problem: Any
) -> None:
    question = ask(care={"first": "ben"})
    problem(chat_bot.post(chat_bot.answer_url(question.pk), FOR_ANA), 409, "not_their_turn")
    assert is_untouched(question)
    reply = chat_bot.post(chat_bot.answer_url(question.pk), {**FOR_ANA, "by": "ben"})
    assert reply.json()["status"] == "answered"


def test_held_decision_through_a_key_says_so(chat_bot: Any, ask: Callable[..., Question]) -> None:
    question = ask(care={"undo_seconds": 60})
    assert chat_bot.post(chat_bot.answer_url(question.pk), FOR_ANA).json()["status"] == "open"
    question = Question.objects.with_answer().get()
    assert Card(question).outcome.text == "Answered by Ana Costa through Chat bot"
    lifecycle.release(question)
    answer = Answer.objects.get()
    assert (answer.username, answer.via, answer.through) == ("ana", "api", "Chat bot")


# ---- making keys -----------------------------------------------------------------------------------------


def test_new_key_asks_and_reports_and_the_audit_says_so(room: Room) -> None:
    key, _ = access.create_key(room, label="bot")
    assert key.scopes == ["ask", "terminal"]
    assert AuditEntry.objects.get(subject=key.lookup).details["scopes"] == ["ask", "terminal"]


def test_rotated_key_keeps_its_scopes(chat_bot: Any, ana: Any) -> None:
    new, _ = access.rotate_key(chat_bot.key_row, by=ana)
    assert new.scopes == ["answer"]
    assert AuditEntry.objects.get(subject=new.lookup).details["scopes"] == ["answer"]


@pytest.mark.parametrize(
    ("given", "scopes"),
    [([], ["ask", "terminal"]), (["ask"], ["ask"]), (["answer", "ask", "ask"], ["ask", "answer"])],
)
def test_createkey_takes_scopes(room: Room, given: list[str], scopes: list[str]) -> None:
    call_command("createkey", "ops", "--label", "bot", *(f"--scope={scope}" for scope in given))
    assert AgentKey.objects.get().scopes == scopes


def test_createkey_refuses_an_unknown_scope(room: Room) -> None:
    with pytest.raises(CommandError, match="invalid choice: 'root'"):
        call_command("createkey", "ops", "--label", "bot", "--scope=root")
    assert not AgentKey.objects.exists()


@pytest.mark.parametrize(
    ("chosen", "scopes"),
    [({}, ["ask", "terminal"]), ({"scopes": "ask"}, ["ask"]), ({"scopes": "answer"}, ["answer"])],
)
def test_manager_chooses_what_a_key_may_do(
    browser: Client, room: Room, ana: Any, chosen: dict[str, str], scopes: list[str]
) -> None:
    Membership.objects.filter(user=ana).update(role="manager")
    page = browser.post("/rooms/ops/connect", {"label": "bot", **chosen}).content.decode()
    assert AgentKey.objects.get().scopes == scopes
    assert f'data-label="Scopes"><code>{", ".join(scopes)}</code></td>' in page


def test_manager_cannot_invent_a_scope(browser: Client, room: Room, ana: Any) -> None:
    Membership.objects.filter(user=ana).update(role="manager")
    browser.post("/rooms/ops/connect", {"label": "bot", "scopes": "root"})
    assert not AgentKey.objects.exists()


@pytest.mark.parametrize(
    ("ticked", "scopes"), [([], ["ask", "terminal"]), (["ask"], ["ask"]), (["answer"], ["answer"])]
)
def test_admin_ticks_what_a_key_may_do(
    admin_client: Client, room: Room, ticked: list[str], scopes: list[str]
) -> None:
    form = admin_client.get("/admin/ask_bridge/agentkey/add/").content.decode()
    boxes = re.findall(r'<input type="checkbox" name="scopes" value="(\w+)"[^>]*?( checked)?>', form)
    assert boxes == [("ask", " checked"), ("terminal", " checked"), ("answer", "")]
    data = {"room": room.pk, "label": "bot", "scopes": ticked}
    admin_client.post("/admin/ask_bridge/agentkey/add/", data)
    key = AgentKey.objects.get()
    assert key.scopes == scopes
    # Later they can be read, and not changed.
    shown = admin_client.get(f"/admin/ask_bridge/agentkey/{key.pk}/change/").content.decode()
    assert ", ".join(scopes) in shown
    assert 'name="scopes"' not in shown
    assert ", ".join(scopes) in admin_client.get("/admin/ask_bridge/agentkey/").content.decode()
    admin_client.post(
        f"/admin/ask_bridge/agentkey/{key.pk}/change/", {"label": "bot", "scopes": ["answer", "ask"]}
    )
    key.refresh_from_db()
    assert key.scopes == scopes
