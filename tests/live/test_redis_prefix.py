"""Two sites on one Redis: each gets hints of its own processes only."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.harness.agents import Agent
from tests.harness.http import EventStream
from tests.harness.people import Person
from tests.harness.sites import Site


def first_people(site: Site) -> tuple[Agent, str]:
    """The first agent, and the password of the admin."""
    key = re.findall(r"KEY=(\S+)", site.printed)[0]
    return Agent(site, "lobby", key), re.findall(r"Password +(\S+)", site.printed)[0]


def next_answering(stream: EventStream) -> str:
    """The question that a person has begun to answer."""
    while not (event := stream.next().event).startswith("answering-"):
        pass
    return event.removeprefix("answering-")


def test_sites_with_secrets_of_their_own_do_not_hear_each_other(
    serve: Callable[..., Site], postgres_and_redis: dict[str, str], tmp_path: Path
) -> None:
    # Both have a room with the same number, so that nothing but the layer tells their hints apart.
    ours = serve(**postgres_and_redis)
    ours_too = serve(**postgres_and_redis)
    theirs = serve(REDIS_URL=postgres_and_redis["REDIS_URL"], DATA_DIR=str(tmp_path / "theirs"))
    agent, password = first_people(ours)
    their_agent, their_password = first_people(theirs)
    question, their_question = agent.ask(), their_agent.ask()
    admin, there = Person(ours, "admin", password), Person(theirs, "admin", their_password)

    def begin(person: Person, question_id: str) -> None:
        assert person.post(f"/rooms/lobby/questions/{question_id}/answering", {}).status == 204

    with Person(ours_too, "admin", password).stream(None) as here, there.stream(None) as elsewhere:
        begin(admin, question["id"])
        assert next_answering(here) == question["id"], "processes of one site hear each other"
        # Redis has passed it on by now: whatever they hear of it comes before their own.
        begin(there, their_question["id"])
        assert next_answering(elsewhere) == their_question["id"]
