"""Answering: a person chooses, skips or asks back; or an agent reports a choice from its terminal."""

from collections.abc import Sequence
from typing import Any

from rooms import audit
from rooms.audit import Action, actor_of
from rooms.contract.care import Care, care_of
from rooms.contract.choices import Choice, as_json, check_choices, check_reply
from rooms.contract.prompts import parse_prompts
from rooms.lifecycle.actors import Person, person_fields
from rooms.lifecycle.approval import cast_vote, check_turn
from rooms.lifecycle.exceptions import NeedsPeople
from rooms.lifecycle.settling import settle, settle_in_time
from rooms.lifecycle.versions import check_understood
from rooms.models import AgentKey, Answer, Question


def answer(
    question: Question,
    choices: Sequence[Choice | dict[str, Any]],
    *,
    via: Answer.Via,
    user: Person | None = None,
    key: AgentKey | None = None,
    undo_seconds: int = 0,
) -> Question:
    """Settle with what a person chose: on the page, in the agent's terminal, or through the given key.

    Only offered options or a free text can be chosen. On a careful question it may count as a vote only; with
    `undo_seconds`, the person's own undo window, the decision is held. Then the question is returned open.
    """
    check_understood(question)
    chosen = as_json(check_choices(parse_prompts(question.prompts), choices))
    care = care_of(question.care)
    if user and (undo_seconds or (care and care.takes_votes)):
        check_turn(question, user)
        return cast_vote(question, care or Care(), user, chosen, key, undo_seconds=undo_seconds)
    if care and user:
        check_turn(question, user)
    elif care and care.is_for_people and question.is_open:
        raise NeedsPeople
    through = key.label if key else ""
    given = Answer(via=via, choices=chosen, through=through, **person_fields(user))
    actor = actor_of(key or user, audit.AGENT)
    if not user and not question.is_overdue:
        # Accepted also in an undo window: the agent continues with this answer and never got the held one.
        return settle(question, Question.Status.ANSWERED, Action.ANSWERED, actor, given)
    return settle_in_time(question, Question.Status.ANSWERED, Action.ANSWERED, actor, given)


def decline(question: Question, user: Person, reason: str = "") -> Question:
    """Settle without a choice: a person pressed Skip. One person is enough, also where votes are needed."""
    check_turn(question, user)
    given = Answer(via=Answer.Via.WEB, reason=reason, **person_fields(user))
    return settle_in_time(question, Question.Status.DECLINED, Action.DECLINED, actor_of(user), given)


def ask_back(question: Question, user: Person, text: str) -> Question:
    """Settle without a choice, but with a text for the agent, which may then ask again."""
    # The status is declined, so that agents that do not support replies still see that nothing was chosen.
    check_turn(question, user)
    given = Answer(via=Answer.Via.WEB, reason=check_reply(text), asks_back=True, **person_fields(user))
    return settle_in_time(question, Question.Status.DECLINED, Action.ASKED_BACK, actor_of(user), given)
