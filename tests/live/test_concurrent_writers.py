"""Concurrent writers: every reader gets every entry once, in one order."""

from concurrent.futures import ThreadPoolExecutor

from tests.harness.agents import Agent
from tests.harness.people import Person

WRITERS = 6
ENTRIES_EACH = 40


def write(agent: Agent, number: int) -> list[str]:
    ids = []
    for count in range(ENTRIES_EACH):
        entry = agent.send(f"{number}.{count}") if count % 2 else agent.ask()
        if entry["id"].startswith("q_"):
            # An agent that asks waits at once: its question changes again within a millisecond.
            agent.wait(entry["id"], seconds=0.001)
        ids.append(entry["id"])
    return ids


def test_pollers_listeners_and_pages_see_every_entry(agent: Agent, person: Person) -> None:
    first = agent.send("first")
    with person.stream(agent.room) as page, agent.events() as events, ThreadPoolExecutor() as pool:
        writing = [pool.submit(write, agent, number) for number in range(WRITERS)]
        polled, after = [], first["id"]
        while not all(writer.done() for writer in writing) or polled[-1:] != last_of(agent):
            reply = agent.call("GET", f"{agent.path}/messages?after={after}&limit=7").json()
            polled += [message["id"] for message in reply["messages"]]
            after = polled[-1] if polled else after
        written = {entry for writer in writing for entry in writer.result()}
        assert len(written) == WRITERS * ENTRIES_EACH
        assert sorted(polled) == sorted(written)
        assert [events.next()["id"] for _ in written] == polled
        page.set_timeout(10)
        shown: set[str] = set()
        while shown != written:
            event = page.next()
            if event.event in ("question", "entry"):
                shown.add(next(entry for entry in written if f"-{entry}" in event.data))


def last_of(agent: Agent) -> list[str]:
    """The newest entry, as a list to compare with."""
    messages = agent.call("GET", f"{agent.path}/messages?limit=200").json()
    while messages["next"]:
        messages = agent.call("GET", f"{agent.path}/messages?limit=200&after={messages['next']}").json()
    return [messages["messages"][-1]["id"]]
