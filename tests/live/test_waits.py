"""Waits of agents: answered at once, shown as waiting, shown as gone."""

import json
import threading

from tests.harness.agents import Agent
from tests.harness.timing import eventually


def test_a_click_ends_the_wait_within_a_second(agent: Agent, person) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        person.answer(question, "SQLite")
        settled = wait.result(timeout=1)
    assert settled["status"] == "answered"
    assert settled["answer"]["by"]["username"] == person.username
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_asking_and_waiting_is_one_request(agent: Agent, person) -> None:
    with agent.asking(wait=30) as wait:
        question = eventually(lambda: agent.open_questions())[0]
        person.answer(question, "PostgreSQL")
        reply = wait.result(timeout=1)
    assert reply["id"] == question["id"]
    assert reply["status"] == "answered"


def test_a_wait_without_an_answer_returns_the_open_question(agent: Agent) -> None:
    question = agent.ask()
    reply = agent.wait(question["id"], seconds=0.5)
    assert reply["status"] == "open"
    assert reply["agent"]["active"] is True


def test_asking_is_not_a_sign_of_life(agent: Agent) -> None:
    assert agent.ask()["agent"] == {
        "name": "test-agent",
        "color": "#818cf8",
        "active": False,
        "last_seen_at": None,
    }


def test_two_waits_on_one_question_get_the_same_answer(agent: Agent, person) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as first, agent.waiting(question["id"]) as second:
        person.answer(question, "SQLite")
        assert first.result(timeout=1)["answer"] == second.result(timeout=1)["answer"]


def test_an_answer_is_delivered_to_a_later_wait(agent: Agent, person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    assert agent.read(question["id"])["delivered_at"] is None
    assert agent.wait(question["id"], seconds=5)["status"] == "answered"
    eventually(lambda: agent.read(question["id"])["delivered_at"])


def test_an_agent_that_hangs_up_is_gone_at_once(agent: Agent) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        wait.hang_up()
        eventually(lambda: not agent.read(question["id"])["agent"]["active"], seconds=2)


def test_an_agent_that_says_goodbye_is_gone_at_once(agent: Agent) -> None:
    question = agent.ask()
    agent.wait(question["id"], seconds=0.1)
    assert agent.read(question["id"])["agent"]["active"] is True
    assert agent.call("DELETE", f"/api/v1/questions/{question['id']}/wait").status == 204
    assert agent.read(question["id"])["agent"]["active"] is False
    agent.wait(question["id"], seconds=0.1)
    assert agent.read(question["id"])["agent"]["active"] is True


def test_an_agent_that_does_not_come_back_is_gone_within_30_seconds(agent: Agent) -> None:
    question = agent.ask()
    agent.wait(question["id"], seconds=0.1)
    revision = agent.read(question["id"])["revision"]
    # The sweep changed the card, not only the clock: open pages were told.
    gone = eventually(
        lambda: (reply := agent.read(question["id"]))["revision"] > revision and reply, seconds=30
    )
    assert gone["agent"]["active"] is False


def test_a_question_expires_by_itself_and_wakes_its_agent(agent: Agent) -> None:
    question = agent.ask(timeout_seconds=1)
    settled = agent.wait(question["id"], seconds=10)
    assert settled["status"] == "expired"
    assert settled["answer"] is None


def test_an_expired_question_has_its_default_and_says_so(agent: Agent) -> None:
    question = agent.ask(timeout_seconds=5, default={"Which database?": ["SQLite"]})
    settled = agent.wait(question["id"], seconds=50)
    assert settled["status"] == "expired"
    assert settled["answer"]["via"] == "default"
    assert settled["answer"]["by"] is None
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_a_withdrawn_question_wakes_its_waits(agent: Agent) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as wait:
        assert agent.call("DELETE", f"/api/v1/questions/{question['id']}").status == 200
        assert wait.result(timeout=1)["status"] == "withdrawn"


def test_waits_of_another_room_look_missing(agent: Agent, stranger: Agent) -> None:
    question = agent.ask()
    reply = stranger.call("GET", f"/api/v1/questions/{question['id']}?wait=5")
    assert (reply.status, reply.json()["code"]) == (404, "not_found")


def test_a_wait_without_a_key_is_refused(agent: Agent) -> None:
    question = agent.ask()
    reply = agent.call("GET", f"/api/v1/questions/{question['id']}?wait=5", key="")
    assert (reply.status, reply.json()["code"]) == (401, "unauthorized")


def test_a_wait_of_nonsense_seconds_is_refused(agent: Agent) -> None:
    question = agent.ask()
    reply = agent.call("GET", f"/api/v1/questions/{question['id']}?wait=soon")
    assert (reply.status, reply.json()["code"]) == (422, "invalid_parameter")


def test_messages_can_be_waited_for(agent: Agent, person) -> None:
    before = agent.send("hello")
    with agent.background("GET", f"{agent.path}/messages?after={before['id']}&wait=20") as wait:
        person.say("Good morning")
        messages = wait.result(timeout=1)["messages"]
    assert [(m["sender_type"], m["content"]) for m in messages] == [("human", "Good morning")]


def test_events_bring_the_timeline_and_resume_where_they_ended(agent: Agent, person) -> None:
    with agent.events() as events:
        question = agent.ask()
        person.answer(question, "SQLite")
        asked, response = events.next(), events.next()
    assert (asked["type"], asked["id"]) == ("AskUserQuestion", question["id"])
    assert response["type"] == "AskUserQuestionResponse"
    content = json.loads(response["content"])
    assert content["questionMessageId"] == question["id"]
    assert content["selectedOptions"] == ["SQLite"]
    agent.send("afterwards")
    with agent.events(last_event_id=asked["id"]) as events:
        assert [events.next()["type"], events.next()["content"]] == [
            "AskUserQuestionResponse",
            "afterwards",
        ]


def test_a_poll_ends_when_the_question_is_withdrawn(agent: Agent) -> None:
    question = agent.ask()
    with (
        agent.events() as events,
        agent.background("GET", f"{agent.path}/messages?after={question['id']}&wait=20") as wait,
    ):
        agent.call("DELETE", f"/api/v1/questions/{question['id']}")
        (response,) = wait.result()["messages"]
        assert events.next() == response
    assert (response["type"], response["sender_type"]) == ("AskUserQuestionResponse", "agent")
    content = json.loads(response["content"])
    assert (content["questionMessageId"], content["status"]) == (question["id"], "withdrawn")
    agent.send("afterwards")
    with agent.events(last_event_id=response["id"]) as events:
        assert events.next()["content"] == "afterwards"


def test_a_poll_ends_when_the_question_expires(agent: Agent) -> None:
    question = agent.ask(timeout_seconds=0.5)
    reply = agent.call("GET", f"{agent.path}/messages?after={question['id']}&wait=20").json()
    (response,) = reply["messages"]
    assert (response["type"], response["sender_type"]) == ("AskUserQuestionResponse", "system")
    assert json.loads(response["content"])["status"] == "expired"


def test_fifty_answers_at_once_have_one_winner(agent: Agent, people) -> None:
    question = agent.ask()
    form = people[0].form_of(question)
    start = threading.Barrier(50)
    accepted: list[tuple[str, int]] = []
    refused: list[tuple[str, int]] = []

    def answer(number: int) -> None:
        start.wait()
        person, option = people[number % len(people)], number % 2
        status = person.post(form["action"], {"choice-0": str(option)}).status
        {303: accepted, 409: refused}[status].append((person.username, option))

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One person's one choice, however often they sent it, and nothing else.
    [(winner, option)] = set(accepted)
    assert (winner, option) not in refused
    assert len(accepted) + len(refused) == 50
    answer_of = agent.read(question["id"])["answer"]
    assert answer_of["by"]["username"] == winner
    assert answer_of["answers"][0]["selectedOptions"] == [["PostgreSQL", "SQLite"][option]]
