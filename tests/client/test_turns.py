"""Turns of a stream-json child: when its stdin is closed."""

import threading

from bridge_client.claude_code.turns import Turns
from tests.actors import PATIENCE_SECONDS


def test_messages_that_became_one_turn_are_over_after_a_silence() -> None:
    done = threading.Event()
    turns = Turns(done.set, quiet_seconds=0.05)
    turns.message_sent()
    turns.message_sent()
    turns.input_ended()
    turns.turn_ended()
    assert done.wait(PATIENCE_SECONDS)


def test_a_turn_that_begins_during_the_silence_is_waited_for() -> None:
    hung_up: list[str] = []
    turns = Turns(lambda: hung_up.append("now"), quiet_seconds=PATIENCE_SECONDS)
    turns.message_sent()
    turns.message_sent()
    turns.input_ended()
    turns.turn_ended()
    turns.turn_started()
    assert hung_up == []
    turns.turn_ended()
    assert hung_up == ["now"]
