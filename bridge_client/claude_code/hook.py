"""The command behind Claude Code's hooks: the room answers, or the terminal as if we were not there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from bridge_client.claude_code import context, envelopes
from bridge_client.claude_code.answers import Decision, choices_from_claude, decide, questions_of
from bridge_client.client import Client
from bridge_client.errors import ClientError, ProblemError
from bridge_client.transport.waiting import EXPIRY_GRACE_SECONDS, question_deadline

# Long enough for somebody to walk by, short enough for whoever sits at the terminal.
TIMEOUT_SECONDS = 300.0
# A person at a terminal looks at nothing meanwhile; a restart of the bridge takes about five seconds.
ASK_PATIENCE_SECONDS = 10.0
# Claude goes on only after this hook: closing a card is worth a moment, not more.
REPORT_PATIENCE_SECONDS = 5.0

# What the bridge says to an answer from the terminal when particular people have to decide.
NEEDS_PEOPLE = "needs_people"
MISSING_SCOPE = "missing_scope"


def patience_seconds(envelope: Mapping[str, Any]) -> float:
    """How long each call but the wait itself may try."""
    return REPORT_PATIENCE_SECONDS if envelopes.is_report(envelope) else ASK_PATIENCE_SECONDS


def ask_the_room(
    envelope: Mapping[str, Any],
    client: Client,
    timeout_seconds: float = TIMEOUT_SECONDS,
    agent: str = envelopes.AGENT,
    *,
    is_headless: bool = False,
) -> Decision:
    """Ask once per tool use, wait, and say what the room decided.

    Headless the model is told for good that nobody answered, so the question is over as well. At a terminal
    it stays open while the dialog is shown.
    """
    tool_input = envelopes.tool_input(envelope)
    started = time.monotonic()
    ask = partial(
        client.ask,
        {"questions": questions_of(tool_input)},
        agent=agent,
        session_id=str(envelope.get("session_id") or ""),
        context=context.gather(str(envelope.get("cwd") or ""), str(envelope.get("transcript_path") or "")),
        timeout_seconds=question_deadline(timeout_seconds) if is_headless else None,
    )
    question = ask(tool_use_id=envelopes.tool_use_id(envelope))
    if question.is_used_up and envelopes.has_derived_id(envelope):
        question = ask(tool_use_id=envelopes.next_tool_use_id(envelope))
    # The bridge says when it is over; not much later Claude Code would end this hook.
    longest = timeout_seconds + EXPIRY_GRACE_SECONDS if is_headless else timeout_seconds
    left = max(0.0, longest - (time.monotonic() - started))
    result = client.wait(question.id, left)
    return decide(result, tool_input, timeout_seconds, repeats_answers=envelopes.knows_no_answers(envelope))


def report_the_terminal(envelope: Mapping[str, Any], client: Client) -> dict[str, Any] | None:
    """Close the card with what was answered in the terminal if it is open still; what Claude Code hears."""
    reported = envelopes.reported_answers(envelope)
    if not reported.answers:
        return None
    session_id = str(envelope.get("session_id") or "")
    question = envelopes.question_of(
        envelope,
        (each for each in client.questions(status="open") if each.session_id == session_id),
    )
    if question is None:
        return None
    choices = choices_from_claude(question.prompts, reported.answers, reported.annotations)
    try:
        client.report_answer(question.id, choices)
    except ProblemError as error:
        if error.code == NEEDS_PEOPLE:
            # It is asked again. Whatever becomes of the card, Claude must not act on that answer.
            with suppress(ClientError):
                client.withdraw(question.id)
            return envelopes.ask_again_output()
        if error.code == MISSING_SCOPE:
            # A key that only asks cannot say what was chosen. It can say that no answer is needed any more.
            with suppress(ClientError):
                client.withdraw(question.id)
            return None
        if error.status != 409:  # somebody in the room was faster by a hair
            raise
    return None
