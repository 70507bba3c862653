"""What views grant to requests of agents that stay open (see `rooms.access.admission`)."""

from dataclasses import dataclass

from bridge_client.claude_code.hook import HookCall
from rooms.models import AgentKey


@dataclass(frozen=True)
class WaitGrant:
    """Wait for the result of a question."""

    key_id: int
    question_id: str
    seconds: float
    # The address of the question's page, as the client reaches it.
    url: str
    # Of the reply: 201 if the same request asked the question.
    status: int = 200


@dataclass(frozen=True)
class ListenGrant:
    """Wait for entries of the key's room after a position."""

    key: AgentKey
    position: int
    # For a wait: how many entries and how long.
    limit: int = 0
    seconds: float = 0
    # For an event stream: the id of the entry at the position.
    cursor: str = ""


@dataclass(frozen=True)
class HookGrant:
    """Wait as a hook of Claude Code."""

    wait: WaitGrant
    call: HookCall
