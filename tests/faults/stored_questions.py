"""All questions and answers of a room, read over the API."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.harness.agents import Agent


def questions(agent: Agent) -> list[Any]:
    """All questions of the room, oldest first."""
    return list(_pages(agent, "questions"))


def answers_by_question(agent: Agent) -> dict[str, int]:
    """How many answers the timeline has for each question that has any."""
    messages = [message for message in _pages(agent, "messages") if message["type"].endswith("Response")]
    return dict(Counter(json.loads(message["content"])["questionMessageId"] for message in messages))


def _pages(agent: Agent, name: str) -> Iterator[Any]:
    after = ""
    while after is not None:
        page = agent.call("GET", f"{agent.path}/{name}?limit=200{after and f'&after={after}'}").json()
        yield from page[name]
        after = page["next"]
