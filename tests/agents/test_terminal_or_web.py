"""`--both`: the question is in the terminal and in the room, and whichever answers first wins."""

from collections.abc import Callable

import pytest

from tests.agents.claude import Claude
from tests.agents.hooks import hooks, variables
from tests.agents.scripted_model import ask
from tests.agents.terminal import ESCAPE
from tests.agents.test_hooks import DATABASE, STEPS, TOPPINGS, the_question
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.timing import eventually

WhichClaude = Callable[..., Claude]


@pytest.fixture(params=["command", "http"])
def beside(request: pytest.FixtureRequest, claude_with: WhichClaude, room: Agent) -> Callable[..., Claude]:
    """A client with our hooks beside its own dialog."""

    def install(*turns: object) -> Claude:
        settings = hooks(request.param, room, "PermissionRequest", "PostToolUse")
        return claude_with(*turns, settings=settings, **variables(room))

    return install


def test_the_web_wins_and_the_dialog_closes(beside: Callable[..., Claude], room: Agent, ana: Person) -> None:
    claude = beside(call := ask(DATABASE), "Thanks.")
    with claude.interactive() as terminal:
        terminal.wait_for("Which database?")
        ana.answer(the_question(room), "SQLite")
        assert '"Which database?"="SQLite"' in claude.script.result_of(call)
        terminal.wait_for("Thanks.")
        terminal.wait_until_gone("Esc to cancel")


def test_the_terminal_wins_and_the_card_says_so(
    beside: Callable[..., Claude], room: Agent, ana: Person
) -> None:
    claude = beside(call := ask(DATABASE, TOPPINGS), "Thanks.")
    with claude.interactive() as terminal:
        terminal.wait_for("Which database?")
        asked = the_question(room)
        terminal.choose("SQLite")
        terminal.wait_for("Which toppings?")
        for label in ("Cheese", "Olives", "Submit", "Submit answers"):
            terminal.choose(label)
        assert '"Which toppings?"="Cheese, Olives"' in claude.script.result_of(call)
        settled = eventually(lambda: (q := room.read(asked["id"]))["status"] == "answered" and q)
    assert settled["answer"]["via"] == "terminal"
    assert [choice["selectedOptions"] for choice in settled["answer"]["answers"]] == [
        ["SQLite"],
        ["Cheese", "Olives"],
    ]
    assert "Answered in the terminal" in ana.get(f"/rooms/{room.room}").text


def test_a_label_with_the_separator_that_was_ticked_in_the_terminal_is_that_label(
    beside: Callable[..., Claude], room: Agent
) -> None:
    """Claude Code writes it with quotes, which we read."""
    claude = beside(call := ask(STEPS), "Thanks.")
    with claude.interactive() as terminal:
        terminal.wait_for("Which steps?")
        asked = the_question(room)
        for label in ("Build, Test", "Ship", "Submit", "Submit answers"):
            terminal.choose(label)
        assert '"Which steps?"=""Build, Test", Ship"' in claude.script.result_of(call)
        settled = eventually(lambda: (q := room.read(asked["id"]))["status"] == "answered" and q)
    (choice,) = settled["answer"]["answers"]
    assert (choice["selectedOptions"], choice["customInput"]) == (["Build, Test", "Ship"], None)


def test_leaving_the_dialog_with_escape_keeps_the_card_for_later(
    beside: Callable[..., Claude], room: Agent
) -> None:
    claude = beside(ask(DATABASE))
    with claude.interactive() as terminal:
        terminal.wait_for("Which database?")
        asked = the_question(room)
        terminal.press(ESCAPE)
        eventually(lambda: not room.read(asked["id"])["agent"]["active"], seconds=5)
    assert room.read(asked["id"])["status"] == "open"


def test_what_others_have_to_decide_the_terminal_cannot_and_claude_asks_again(
    beside: Callable[..., Claude], room: Agent, ana: Person, bridge: Bridge
) -> None:
    bridge.set_care(room, {"first": "ana"})
    claude = beside(call := ask(DATABASE), again := ask(DATABASE), "Thanks.")
    with claude.interactive() as terminal:
        terminal.wait_for("Which database?")
        asked = the_question(room)
        terminal.choose("SQLite")
        result = claude.script.result_of(call)
        assert "does not count. Do not act on it: ask the same question again" in result.beside
        assert room.read(asked["id"])["status"] == "withdrawn"
        ana.answer(the_question(room), "PostgreSQL")
        assert '"Which database?"="PostgreSQL"' in claude.script.result_of(again)
