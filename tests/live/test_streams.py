"""Page streams: their events, replay after a reconnect, and access."""

import time

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person, Visitor
from tests.harness.sites import run_manage
from tests.harness.timing import eventually


def test_a_new_question_arrives_as_a_card(agent: Agent, person) -> None:
    with person.stream(agent.room) as stream:
        question = agent.ask()
        event = stream.until("question")
    assert f'id="card-{question["id"]}"' in event.data
    assert event.id == str(question["revision"])


def test_the_one_who_answered_and_the_others_see_it_differently(agent: Agent, people) -> None:
    ana, ben = people[:2]
    question = agent.ask()
    with ana.stream(agent.room) as own, ben.stream(agent.room) as other:
        ana.answer(question, "SQLite")
        assert "Answered by you" in own.until(f"card-{question['id']}").data
        assert f"Answered by {ana.name}" in other.until(f"card-{question['id']}").data


def test_a_stream_replays_what_changed_since_as_it_is_now(agent: Agent, person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    agent.send("later")
    with person.stream(agent.room, since=question["revision"] - 1) as stream:
        assert "Answered by you" in stream.until(f"card-{question['id']}").data
        assert f'id="card-{question["id"]}"' in stream.until("entry").data
        assert "later" in stream.until("entry").data


def test_the_last_event_id_counts_more_than_since(agent: Agent, person) -> None:
    first = agent.send("first")
    second = agent.ask()
    with person.stream(agent.room, since=0, last_event_id=str(second["revision"] - 1)) as stream:
        assert first["id"] not in stream.until("question").data


def test_a_cursor_from_the_future_gets_a_reset(agent: Agent, person) -> None:
    with person.stream(agent.room, since=999_999) as stream:
        assert stream.until("reset")


def test_a_cursor_that_is_no_number_gets_a_reset(agent: Agent, person) -> None:
    with person.stream(agent.room, since="yesterday") as stream:
        assert stream.until("reset")


def test_more_changes_than_a_page_can_repair_get_a_reset(agent: Agent, person) -> None:
    for number in range(301):
        agent.send(f"line {number}")
    with person.stream(agent.room, since=0) as stream:
        assert stream.next().event == "reset"


def test_only_the_marks_of_an_open_card_change(agent: Agent, person) -> None:
    question = agent.ask()
    with person.stream(agent.room) as stream:
        agent.wait(question["id"], seconds=0.1)
        event = stream.until(f"marks-{question['id']}")
    assert "Waiting" in event.data
    assert "<form" not in event.data


def test_delivery_is_a_mark(agent: Agent, person) -> None:
    question = agent.ask()
    person.answer(question, "SQLite")
    with person.stream(agent.room) as stream:
        agent.wait(question["id"], seconds=5)
        assert "Delivered to the agent" in stream.until(f"marks-{question['id']}").data


def test_what_an_agent_writes_cannot_forge_events(agent: Agent, person) -> None:
    with person.stream(agent.room) as stream:
        agent.send("one\r\n\r\nevent: reset\ndata: two\rid: 5\n\n<script>alert(1)</script>")
        event = stream.next()
    assert event.event == "entry"
    assert "&lt;script&gt;" in event.data


def test_the_inbox_stream_covers_all_rooms_and_names_them(agent: Agent, person) -> None:
    with person.stream(None) as stream:
        question = agent.ask()
        event = stream.until("question")
    assert f'id="card-{question["id"]}"' in event.data
    room, revision = event.id.split(":")
    # The cursor may be older than the question, which is then told again; never newer.
    assert (room, int(revision) <= question["revision"]) == (agent.room, True)


def test_the_inbox_stream_replays_each_room_from_its_own_cursor(agent: Agent, person) -> None:
    question = agent.ask()
    with person.stream(None, since=f"{agent.room}:{question['revision'] - 1},other:7") as stream:
        assert question["id"] in stream.until("question").data


def test_no_stream_without_signing_in(agent: Agent, visitor) -> None:
    assert visitor.get(f"/rooms/{agent.room}/stream").status == 401
    assert visitor.get("/stream").status == 401


def test_a_foreign_room_looks_missing(private_agent: Agent, person, member) -> None:
    path = f"/rooms/{private_agent.room}/stream"
    assert person.get(path).status == 404
    assert person.get("/rooms/no-such-room/stream").status == 404
    with member.stream(private_agent.room) as stream:
        private_agent.ask()
        assert stream.until("question")


def test_a_stream_ends_when_its_session_does(agent: Agent, make_person) -> None:
    leaver = make_person()
    with leaver.stream(agent.room) as stream:
        leaver.sign_out()
        stream.wait_for_end(seconds=30)


def test_what_is_missed_between_page_and_stream_is_replayed(agent: Agent, person) -> None:
    since = person.page_cursor(agent.room)
    question = agent.ask()
    with person.stream(agent.room, since=since) as stream:
        assert question["id"] in stream.until("question").data


def test_ready_and_healthy(visitor) -> None:
    assert visitor.get("/healthz").json() == {"status": "ok"}
    eventually(lambda: visitor.get("/readyz").json() == {"database": "ok", "channel_layer": "ok"})


def test_the_inbox_hears_of_a_room_that_is_new(bridge: Bridge, person: Person) -> None:
    slug = f"new-{bridge.site.port}"
    with person.stream(None, since="lobby:1") as stream:
        done = run_manage(bridge.environment, "createroom", slug, "--open")
        assert done.returncode == 0, done.stderr
        # The stream ends so that the page comes back for the new room.
        stream.wait_for_end(seconds=30)
    key = run_manage(bridge.environment, "createkey", slug, "--label", "new").stdout.strip()
    question = Agent(bridge.site, slug, key).ask()
    with person.stream(None, since="lobby:1") as stream:
        while question["id"] not in stream.until("question").data:
            pass


def test_a_revoked_key_stops_reading_also_in_a_busy_room(bridge: Bridge, agent: Agent) -> None:
    with agent.events() as events:
        key = run_manage(bridge.environment, "createkey", agent.room, "--label", "talker").stdout.strip()
        talker = Agent(bridge.site, agent.room, key)
        revoke = (
            "from rooms import access; from rooms.models import AgentKey;"
            f"keys = AgentKey.objects.filter(room__slug={agent.room!r}, label='test');"
            "access.revoke_keys(keys)"
        )
        done = run_manage(bridge.environment, "shell", "-v0", "-c", revoke)
        assert done.returncode == 0, done.stderr
        revoked_at = time.monotonic()
        talker.send("busy")
        while events.read() is not None:
            assert time.monotonic() - revoked_at < 30
            talker.send("busy")


def test_a_page_stream_without_a_login_asks_for_no_bearer_key(visitor: Visitor) -> None:
    reply = visitor.get("/stream")
    assert reply.json()["code"] == "signed_out"
    assert "WWW-Authenticate" not in reply.headers
