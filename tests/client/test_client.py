"""`Client`: every method, and the type of its result."""

import threading
import time

import pytest

from bridge_client import (
    Answered,
    AskedBack,
    Cancellation,
    Cancelled,
    Choice,
    Client,
    Declined,
    Expired,
    Person,
    ProblemError,
    SettingsError,
    StillOpen,
    Withdrawn,
)
from tests.client.loopback import Front
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person as User
from tests.harness.timing import eventually

DATABASE = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "PostgreSQL", "description": "Grows with you"}, {"label": "SQLite"}],
    }
]


def test_ask_creates_a_card(client: Client, agent: Agent) -> None:
    question = client.ask(
        DATABASE, agent="bot", color="#818cf8", session_id="s", tool_use_id="t", context={"branch": "main"}
    )
    (card,) = agent.open_questions()
    assert question.is_open
    assert card["id"] == question.id
    assert card["agent"]["name"] == "bot"
    assert card["agent"]["color"] == "#818cf8"
    assert card["context"] == {"branch": "main"}
    assert (question.session_id, question.tool_use_id) == ("s", "t")
    assert question.url.endswith(question.id)


def test_an_answer_has_its_person_and_channel(client: Client, person: User) -> None:
    question = client.ask(DATABASE)
    person.answer(question.data, "SQLite")
    result = client.wait(question.id, 10)
    assert isinstance(result, Answered)
    assert result.choices == [Choice("Which database?", "Database", ["SQLite"])]
    assert result.by == Person("ana", "Ana Costa")
    assert result.via == "web"
    assert result.question.status == "answered"


def test_custom_text_and_notes_are_unchanged(client: Client, person: User) -> None:
    question = client.ask(DATABASE)
    person.submit(question.data, ("choice-0", "other"), ("other-0", "DuckDB"), ("notes-0", "It is small"))
    result = client.wait(question.id, 10)
    assert isinstance(result, Answered)
    assert result.choices == [Choice("Which database?", "Database", [], "DuckDB", "It is small")]


def test_a_wait_ends_with_the_click(client: Client, agent: Agent, person: User) -> None:
    question = client.ask(DATABASE)
    results = []
    waiting = threading.Thread(target=lambda: results.append(client.wait(question.id, 30)))
    waiting.start()
    eventually(lambda: agent.read(question.id)["agent"]["active"])
    person.answer(question.data, "PostgreSQL")
    waiting.join(1)
    assert isinstance(results[0], Answered)


def test_a_skip_is_declined_with_its_reason(client: Client, person: User) -> None:
    question = client.ask(DATABASE)
    person.skip(question.data, "Not mine to decide")
    result = client.wait(question.id, 10)
    assert isinstance(result, Declined)
    assert result.reason == "Not mine to decide"
    assert result.by == Person("ana", "Ana Costa")


def test_a_reply_is_asked_back(client: Client, person: User) -> None:
    question = client.ask(DATABASE)
    person.ask_back(question.data, "How large does it get?")
    result = client.wait(question.id, 10)
    assert isinstance(result, AskedBack)
    assert result.reason == "How large does it get?"
    assert result.by == Person("ana", "Ana Costa")
    assert result.question.data["answer"]["kind"] == "reply"


def test_a_deadline_without_a_default_is_expired(client: Client) -> None:
    result = client.ask_and_wait(DATABASE, timeout_seconds=0.2, wait_seconds=10)
    assert isinstance(result, Expired)
    assert result.default == []


def test_a_deadline_with_a_default_returns_the_default(client: Client) -> None:
    result = client.ask_and_wait(
        DATABASE, timeout_seconds=5, default={"Which database?": ["SQLite"]}, wait_seconds=60
    )
    assert isinstance(result, Expired)
    assert result.default[0].selected_options == ["SQLite"]


def test_a_question_can_be_withdrawn_twice(client: Client) -> None:
    question = client.ask(DATABASE)
    assert client.withdraw(question.id).status == "withdrawn"
    assert client.withdraw(question.id).status == "withdrawn"
    assert isinstance(client.wait(question.id, 10), Withdrawn)


def test_an_answered_question_cannot_be_withdrawn(client: Client, person: User) -> None:
    question = client.ask(DATABASE)
    person.answer(question.data, "SQLite")
    with pytest.raises(ProblemError) as refused:
        client.withdraw(question.id)
    assert (refused.value.status, refused.value.code) == (409, "question_settled")


def test_a_timeout_ends_the_wait_on_the_server(client: Client, agent: Agent) -> None:
    question = client.ask(DATABASE)
    assert isinstance(client.wait(question.id, 0.3), StillOpen)
    assert agent.read(question.id)["agent"]["active"] is False


def test_an_agent_that_waits_again_stays_active(client: Client, agent: Agent) -> None:
    question = client.ask(DATABASE)
    assert isinstance(client.wait(question.id, 0.3, ends_wait=False), StillOpen)
    assert agent.read(question.id)["agent"]["active"] is True
    client.stop_waiting(question.id)
    assert agent.read(question.id)["agent"]["active"] is False


def test_a_cancelled_wait_ends_on_the_server_at_once(agent: Agent, front: Front) -> None:
    client = Client(front.url, agent.key, agent.room)
    question = client.ask(DATABASE)
    cancellation = Cancellation()
    ended = []

    def wait() -> None:
        with pytest.raises(Cancelled):
            client.wait(question.id, 60, cancellation=cancellation)
        ended.append(time.monotonic())

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: agent.read(question.id)["agent"]["active"])
    cancelled_at = time.monotonic()
    cancellation.cancel()
    waiting.join(2)
    assert ended[0] - cancelled_at < 1
    assert len(front.calls("DELETE", "/wait")) == 1
    eventually(lambda: not agent.read(question.id)["agent"]["active"], seconds=1)


def test_a_call_that_was_cancelled_before_never_starts(client: Client, agent: Agent) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        client.ask_and_wait(DATABASE, cancellation=cancellation)
    assert agent.open_questions() == []


def test_the_same_tool_use_is_the_same_question(client: Client, person: User) -> None:
    first = client.ask(DATABASE, session_id="s", tool_use_id="t")
    person.answer(first.data, "SQLite")
    again = client.ask(DATABASE, session_id="s", tool_use_id="t")
    assert again.id == first.id
    assert isinstance(again.result, Answered)


def test_the_same_idempotency_key_is_the_same_question(client: Client) -> None:
    key = "Schlüssel 1"
    assert client.ask(DATABASE, idempotency_key=key).id == client.ask(DATABASE, idempotency_key=key).id


def test_asks_without_ids_are_separate_questions(client: Client) -> None:
    assert client.ask(DATABASE).id != client.ask(DATABASE).id


def test_any_shape_that_the_server_takes_can_be_asked(client: Client) -> None:
    question = client.ask({"question": "Go on?", "options": ["Yes", "No"]})
    assert [option["label"] for option in question.prompts[0]["options"]] == ["Yes", "No"]


def test_an_invalid_question_is_refused_in_a_sentence(client: Client) -> None:
    with pytest.raises(ProblemError, match="needs 2 to 4 options, got 1") as refused:
        client.ask({"question": "Go on?", "options": ["Yes"]})
    assert (refused.value.status, refused.value.code) == (422, "invalid_question")
    assert refused.value.body["errors"][0]["field"] == "questions[0].options"


def test_an_answer_from_the_terminal_closes_the_card(client: Client) -> None:
    question = client.ask(DATABASE)
    settled = client.report_answer(question.id, {"Which database?": "SQLite"})
    assert isinstance(settled.result, Answered)
    assert settled.result.via == "terminal"


def test_an_answer_from_the_terminal_can_be_a_text_with_a_note(client: Client) -> None:
    question = client.ask(DATABASE)
    choice = Choice("Which database?", custom_input="DuckDB", notes="Small")
    settled = client.report_answer(question.id, [choice]).result
    assert isinstance(settled, Answered)
    assert (settled.choices[0].custom_input, settled.choices[0].notes) == ("DuckDB", "Small")


def test_questions_are_listed_over_all_pages(client: Client) -> None:
    asked = [client.ask({"question": f"Number {number}?", "options": ["A", "B"]}).id for number in range(55)]
    client.withdraw(asked[0])
    assert [question.id for question in client.questions()] == asked
    assert [question.id for question in client.questions(status="open")] == asked[1:]


def test_reading_a_question_renews_no_lease(client: Client) -> None:
    question = client.ask(DATABASE)
    assert client.read(question.id).data["agent"]["active"] is False


def test_messages_come_with_the_cursor_of_the_next_page(client: Client) -> None:
    first = client.send_message("one", sender="bot", color="#818cf8")
    client.send_message("two", type="log")
    page, following = client.messages(limit=1)
    assert page == [first]
    assert following == first["id"]
    page, following = client.messages(after=first["id"])
    assert [(message["content"], message["type"]) for message in page] == [("two", "log")]
    assert following is None


def test_messages_can_be_waited_for(client: Client, person: User) -> None:
    pages = []
    waiting = threading.Thread(target=lambda: pages.append(client.messages(wait_seconds=30)))
    waiting.start()
    person.say("hello", client.room)
    waiting.join(5)
    assert pages[0][0][0]["content"] == "hello"


def test_a_room_is_needed_to_ask(client: Client, url: str, agent: Agent) -> None:
    with pytest.raises(SettingsError, match="ASK_BRIDGE_ROOM"):
        Client(url, agent.key).ask(DATABASE)


def test_another_room_can_be_named(client: Client) -> None:
    with pytest.raises(ProblemError) as refused:
        client.in_room("no-such-room").ask(DATABASE)
    assert refused.value.status == 404


def test_the_key_is_never_shown(client: Client, agent: Agent) -> None:
    assert agent.key not in repr(client)
    assert agent.key not in repr(client.transport)
    with pytest.raises(ProblemError) as refused:
        client.in_room("no-such-room").ask(DATABASE)
    assert agent.key not in f"{refused.value!r} {refused.value} {refused.value.body}"


def test_a_key_read_from_a_file_may_end_with_a_line_break(url: str, agent: Agent) -> None:
    client = Client(url, f"{agent.key}\n", agent.room)
    assert client.questions(status="open") is not None


@pytest.mark.parametrize("key", ["abk_…", "abk_a\nb", "secret"])
def test_an_invalid_key_is_refused_without_repeating_it(url: str, key: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Client(url, key, "room")
    assert key not in str(refused.value)


# ---- careful questions -----------------------------------------------------------------------------------


def test_care_is_sent_and_returned(client: Client) -> None:
    assert client.ask(DATABASE).care == {}
    question = client.ask(DATABASE, care={"first": "ana", "undo_seconds": 10})
    assert question.care["first"] == {"people": ["ana"], "role": None}
    assert question.care["undo_seconds"] == 10


def test_all_voters_are_in_the_result(client: Client, person: User, bridge: Bridge) -> None:
    question = client.ask(DATABASE, care={"votes": 2})
    person.answer(question.data, "SQLite")
    result = client.wait(question.id, 0)
    assert isinstance(result, StillOpen)
    assert result.question.is_voted_on
    bridge.person("ben").answer(question.data, "SQLite")
    result = client.wait(question.id, 10)
    assert isinstance(result, Answered)
    assert result.by == Person("ben", "Ben Okafor")
    assert [vote.by.username for vote in result.votes] == ["ana", "ben"]
    assert result.names == ["Ana Costa", "Ben Okafor"]


def test_what_is_undone_never_reaches_the_agent(client: Client, person: User) -> None:
    question = client.ask(DATABASE, care={"undo_seconds": 3})
    person.answer(question.data, "SQLite")
    path = f"/rooms/{question.data['room']}/questions/{question.id}/undo"
    assert person.post(path, {}).status == 303
    person.answer(question.data, "PostgreSQL")
    result = client.wait(question.id, 20)
    assert isinstance(result, Answered)
    assert result.choices[0].selected_options == ["PostgreSQL"]
    assert result.names == ["Ana Costa"]


def test_care_of_the_client_is_for_every_question_without_its_own(agent: Agent, url: str) -> None:
    client = Client(url, agent.key, agent.room, care={"undo_seconds": 7}).in_room(agent.room)
    client.ask(DATABASE)
    client.ask({"question": "Go on?", "options": ["Yes", "No"], "care": None})
    client.ask(DATABASE, care={"undo_seconds": 9})
    client.ask(DATABASE, care={})
    client.send_message('{"question": "Go on?", "options": ["Yes", "No"]}', type="AskUserQuestion")
    asked = agent.open_questions()
    assert [(each["care"] or {}).get("undo_seconds") for each in asked] == [7, 7, 9, None, 7]


def test_care_is_added_to_questions_only(agent: Agent, url: str) -> None:
    client = Client(url, agent.key, agent.room, care={"undo_seconds": 7})
    assert client.send_message('{"question": "Go on?"}')["content"] == '{"question": "Go on?"}'
    for content in ("not json", "[]"):
        with pytest.raises(ProblemError, match="JSON object"):
            client.send_message(content, type="AskUserQuestion")
