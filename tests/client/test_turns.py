"""Turns of a stream-json child: when its stdin is closed."""

import threading

from bridge_client.claude_code.turns import Turns
from tests.harness.timing import PATIENCE_SECONDS


def test_stdin_is_closed_after_a_silence_if_messages_became_one_turn() -> None:
    done = threading.Event()
    turns = Turns(done.set, quiet_seconds=0.05)
    turns.message_sent()
    turns.message_sent()
    turns.input_ended()
    turns.turn_ended()
    assert done.wait(PATIENCE_SECONDS)


def test_a_turn_that_starts_during_the_silence_keeps_stdin_open() -> None:
    closed: list[str] = []
    turns = Turns(lambda: closed.append("now"), quiet_seconds=PATIENCE_SECONDS)
    turns.message_sent()
    turns.message_sent()
    turns.input_ended()
    turns.turn_ended()
    turns.turn_started()
    assert closed == []
    turns.turn_ended()
    assert closed == ["now"]
