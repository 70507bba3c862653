"""Resubmissions: recognises a form that is sent a second time because the first response was lost."""

from collections.abc import Sequence
from typing import Any

from rooms.contract.choices import as_json, check_choices
from rooms.contract.prompts import parse_prompts
from rooms.models import Answer, Question


def is_own_answer(settled: Question, user: Any, choices: Sequence[dict[str, Any]]) -> bool:
    """Whether this person decided with exactly these choices, alone or by a vote."""
    chosen = as_json(check_choices(parse_prompts(settled.prompts), choices))
    if settled.votes:
        own = [vote for vote in settled.decided_by if vote["user_id"] == str(user.pk)]
        return any(vote["choices"] == chosen for vote in own)
    answer = _own_answer(settled, user)
    return answer is not None and bool(answer.choices) and answer.choices == chosen


def is_own_refusal(settled: Question, user: Any, reason: str, *, asks_back: bool = False) -> bool:
    """Whether this person skipped the question, or asked back, with exactly this text."""
    answer = _own_answer(settled, user)
    is_refusal = answer is not None and settled.status == Question.Status.DECLINED
    return answer is not None and is_refusal and (answer.reason, answer.asks_back) == (reason, asks_back)


def _own_answer(settled: Question, user: Any) -> Answer | None:
    answer = settled.answer_or_none
    is_own = answer is not None and answer.via == Answer.Via.WEB and answer.user_id == user.pk
    return answer if is_own else None
