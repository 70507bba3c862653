"""AskUserQuestionResponse: each settled question leaves one message that ends a poll and says how."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import lifecycle
from rooms.models import Answer, Ending, Question, Room

DATABASE = "Which database should we use?"
SQLITE = {"question": DATABASE, "selectedOptions": ["SQLite"]}


def responses_after(agent: Any, question: Question) -> list[dict[str, Any]]:
    """What an agent finds that polls for the answer as the seeds' command does, content and all."""
    page = agent.get(f"{agent.messages_url}?after={question.pk}")
    assert page.status_code == 200, page.content
    responses = [each for each in page.json()["messages"] if each["type"] == "AskUserQuestionResponse"]
    for response in responses:
        response["content"] = json.loads(response["content"])
    return [each for each in responses if each["content"]["questionMessageId"] == question.pk]


@pytest.fixture
def response(agent: Any, question: Question) -> Callable[[], dict[str, Any]]:
    """The one response to the question."""

    def find() -> dict[str, Any]:
        (found,) = responses_after(agent, question)
        return found

    return find


def told(response: dict[str, Any]) -> tuple[Any, ...]:
    content = response["content"]
    return (response["sender"], response["sender_type"], content["status"], content["kind"], content["via"])


# ---- who, how and what -----------------------------------------------------------------------------------


def test_an_open_question_has_no_response(agent: Any, question: Question) -> None:
    assert responses_after(agent, question) == []


def test_a_person_on_the_page_is_human(question: Question, response: Any, ana: Any) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    assert told(response()) == ("Ana Costa", "human", "answered", "choice", "web")


def test_a_skip_ends_a_poll_with_its_reason(question: Question, response: Any, ana: Any) -> None:
    lifecycle.decline(question, ana, "Later.")
    assert told(response()) == ("Ana Costa", "human", "declined", "skip", "web")
    assert (response()["content"]["reason"], response()["content"]["selectedOptions"]) == ("Later.", [])


def test_an_answer_over_the_api_is_the_agents(
    question: Question, response: Any, chat_bot: Any, agent: Any, ana: Any
) -> None:
    content = json.dumps({"questionMessageId": question.pk, "selectedOptions": ["SQLite"], "by": "ana"})
    body = {"type": "AskUserQuestionResponse", "content": content, "sender": "Boss", "sender_type": "human"}
    posted = chat_bot.post(agent.messages_url, body)
    assert posted.status_code == 201, posted.content
    assert told(response()) == ("Chat bot", "agent", "answered", "choice", "api")
    assert (posted.json()["sender"], posted.json()["sender_type"]) == ("Chat bot", "agent")


def test_what_an_agent_reports_from_the_terminal_is_the_agents(
    question: Question, response: Any, agent: Any
) -> None:
    agent.post(agent.answer_url(question.pk), {"answers": {DATABASE: "SQLite"}, "via": "terminal"})
    assert told(response()) == ("refactor-bot", "agent", "answered", "choice", "terminal")


def test_an_answer_from_before_keys_were_noted_is_no_persons(
    question: Question, response: Any, agent: Any
) -> None:
    agent.post(agent.answer_url(question.pk), {"answers": {DATABASE: "SQLite"}, "via": "terminal"})
    Answer.objects.update(via="api", through="")
    assert told(response()) == ("api", "agent", "answered", "choice", "api")


def test_a_default_is_the_systems(ask: Callable[..., Question], agent: Any) -> None:
    question = ask(timeout_seconds=60, default={DATABASE: "SQLite"})
    lifecycle.expire(question)
    (response,) = responses_after(agent, question)
    assert told(response) == ("system", "system", "expired", "choice", "default")
    assert response["content"]["selectedOptions"] == ["SQLite"]


def test_an_expired_question_ends_a_poll(question: Question, response: Any) -> None:
    lifecycle.expire(question)
    assert told(response()) == ("system", "system", "expired", "none", None)
    content = response()["content"]
    assert (content["selectedOptions"], content["answers"]) == ([], [])
    assert content["reason"] == "No answer came in time."


def test_a_question_that_its_agent_withdrew_ends_a_poll(
    question: Question, response: Any, agent: Any
) -> None:
    agent.delete(agent.question_url(question.pk))
    assert told(response()) == ("refactor-bot", "agent", "withdrawn", "none", None)
    assert response()["content"]["reason"] == "Withdrawn by refactor-bot."


def test_a_question_that_an_admin_withdrew_names_the_admin(
    question: Question, response: Any, ana: Any, room: Room
) -> None:
    lifecycle.withdraw_open(room.questions.all(), by=ana)
    assert told(response()) == ("Ana Costa", "human", "withdrawn", "none", None)
    assert response()["content"]["reason"] == "Withdrawn by Ana Costa."


def test_a_command_that_withdraws_is_the_system(question: Question, response: Any, room: Room) -> None:
    lifecycle.withdraw_open(room.questions.all())
    assert told(response()) == ("system", "system", "withdrawn", "none", None)
    assert response()["content"]["reason"] == "Withdrawn."


def test_the_loser_of_a_race_leaves_no_entry(question: Question, response: Any) -> None:
    lifecycle.withdraw(question)
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.expire(question)
    assert told(response())[2] == "withdrawn"
    assert Ending.objects.count() == 1


# ---- own words -------------------------------------------------------------------------------------------


def test_own_words_are_in_selected_options_and_apart_in_answers(
    question: Question, response: Any, ana: Any
) -> None:
    choice = {"question": DATABASE, "customInput": "Both, for a year"}
    lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ana)
    content = response()["content"]
    assert content["selectedOptions"] == ["Both, for a year"]
    (answer,) = content["answers"]
    assert (answer["selectedOptions"], answer["customInput"]) == ([], "Both, for a year")


def test_own_words_stand_behind_the_labels_of_their_prompt(
    ask: Callable[..., Question], agent: Any, ana: Any
) -> None:
    question = ask(
        questions=[
            {"question": "Which ones?", "options": ["A", "B"], "multiSelect": True},
            {"question": "Which?", "options": ["C", "D"]},
        ]
    )
    choices = [
        {"question": "Which?", "selectedOptions": ["C"]},
        {"question": "Which ones?", "selectedOptions": ["B", "A"], "customInput": "E"},
    ]
    lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
    (response,) = responses_after(agent, question)
    assert response["content"]["selectedOptions"] == ["A", "B", "E", "C"]


# ---- its place -------------------------------------------------------------------------------------------


def test_entries_of_all_kinds_follow_each_other_without_gap_or_overlap(
    ask: Callable[..., Question], agent: Any, ana: Any, room: Room
) -> None:
    expected = []
    for _ in range(3):
        first, second = ask(), ask()
        expected += [first.pk, second.pk]
        expected.append(lifecycle.withdraw(second).ending.pk)
        expected.append(lifecycle.say(room, ana, "Hello").pk)
        expected.append(lifecycle.decline(first, ana).answer.pk)
    found: list[str] = []
    after = ""
    while page := agent.get(f"{agent.messages_url}?limit=2&after={after}").json()["messages"]:
        found += [entry["id"] for entry in page]
        after = found[-1]
    assert found == expected


def test_an_ending_of_another_room_is_no_cursor(question: Question, foreign_agent: Any, problem: Any) -> None:
    ending = lifecycle.withdraw(question).ending
    problem(foreign_agent.get(f"{foreign_agent.messages_url}?after={ending.pk}"), 422, "invalid_parameter")


def test_an_ending_is_on_the_card_and_no_entry_of_the_page(question: Question, browser: Client) -> None:
    ending = lifecycle.withdraw(question).ending
    page = browser.get("/rooms/ops").content.decode()
    assert f'id="card-{question.pk}"' in page
    assert ending.pk not in page


def test_a_deleted_account_keeps_its_name_in_the_entry(question: Question, response: Any, room: Room) -> None:
    boss = get_user_model().objects.create_user("boss", first_name="Bea", last_name="Oss")
    lifecycle.withdraw(question, by=boss)
    boss.delete()
    assert told(response())[:2] == ("Bea Oss", "human")
