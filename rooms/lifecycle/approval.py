"""Approval: who may decide a careful question, its votes and escalation; the undo window of any question.

What a question or its room can ask for is described in `rooms/contract/care.py`. An undo window can also be a
person's own setting: then it holds back their own decisions, with or without care.
"""

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from rooms import audit, membership
from rooms.audit import Action, actor_of
from rooms.contract.care import Care
from rooms.contract.restrictions import restriction
from rooms.contract.votes import Vote, agreeing, decided_choices, decision, with_vote
from rooms.db import timezone
from rooms.lifecycle.actors import ALIAS_PREFIX, Person
from rooms.lifecycle.exceptions import AlreadySettled, NotTheirTurn
from rooms.lifecycle.revisions import announce, locked, next_audited_revision
from rooms.lifecycle.settling import expire, settle
from rooms.lifecycle.versions import check_understood
from rooms.models import AgentKey, Answer, AuditEntry, Membership, Question, Room
from rooms.permissions import permissions
from rooms.profiles import name_of


def check_turn(question: Question, user: Person) -> None:
    """Raise NotTheirTurn if this person may not decide the open question, or not yet."""
    check_understood(question)
    if question.is_open and not may_decide(question, user):
        raise NotTheirTurn(question)


def may_decide(question: Question, user: Person) -> bool:
    """Whether a person of the room has a vote, and does not have to wait for people who are asked first."""
    limits = restriction(question.care, is_first_asked=question.escalates_at is not None)
    if limits is None:
        return True
    lock = limits.lock(
        user.get_username(),
        lambda role: _has_role(role, user, question.room),
        lambda group: membership.is_in_group(question.room, group, user),
    )
    return lock is None


def _has_role(role: str, user: Person, room: Room) -> bool:
    if role == Membership.Role.MANAGER:
        return permissions().may_manage(cast(AbstractBaseUser, user), room)
    return membership.is_member(room, user)


def cast_vote(
    question: Question,
    care: Care,
    user: Person,
    chosen: list[dict[str, Any]],
    key: AgentKey | None = None,
    *,
    undo_seconds: int = 0,
) -> Question:
    """Count this person's vote, from the page or through a key; enough equal votes decide the question.

    `undo_seconds` is the person's own undo window; the longer one of it and the question's counts.
    """
    if question.is_overdue:
        raise AlreadySettled(expire(question))
    now = timezone.now()
    vote = Vote(
        user_id=str(user.pk),
        username=user.get_username(),
        name=name_of(user),
        at=now.isoformat(),
        choices=chosen,
    )
    if key:
        vote["through"] = key.label
    with locked(question) as current:
        if not current.is_open or current.is_held:
            raise AlreadySettled(current)
        votes = with_vote(current.votes or [], vote)
        is_decided = len(agreeing(votes, vote)) >= care.votes_needed
        current.votes = votes
        if is_decided:
            current.held_until = _end_of_undo_window(current, care, undo_seconds, now)
        _save_progress(current, Action.VOTED, actor_of(key or user), vote, is_new_card=current.is_held)
        return _decide(current) if is_decided and not current.is_held else current


def _end_of_undo_window(question: Question, care: Care, undo_seconds: int, now: datetime) -> datetime | None:
    """Until when a decision of now can be undone; None if it goes to the agent at once."""
    own = now + timedelta(seconds=undo_seconds) if undo_seconds else None
    if own and question.expires_at:
        # The agent knows its deadline and the window it asked for, but not the settings of a person.
        own = min(own, question.expires_at)
    asked_for = now + timedelta(seconds=care.undo_seconds) if care.undo_seconds else None
    return max(filter(None, (own, asked_for)), default=None)


def undo(question: Question, user: Person) -> Question:
    """Undo a held decision: the question can be decided again, without the votes that decided it.

    If only the person who decided set the window, only they can undo it, and only their vote is removed.
    """
    check_turn(question, user)
    with locked(question) as current:
        deciding = current.decided_by if current.all_may_undo else current.decided_by[-1:]
        is_own = bool(deciding) and deciding[-1]["user_id"] == str(user.pk)
        if not current.is_held or not (current.all_may_undo or is_own):
            raise AlreadySettled(current)
        current.votes = [vote for vote in current.votes or () if vote not in deciding]
        current.held_until = None
        return _save_progress(current, Action.UNDONE, actor_of(user), is_new_card=True)


def release(question: Question) -> Question:
    """Settle with a held decision whose undo window is over."""
    with locked(question) as current:
        # Undone and decided again since the sweep found it due: that decision has a window of its own.
        is_another = question.held_until is not None and current.held_until != question.held_until
        if not current.is_held or is_another:
            raise AlreadySettled(current)
        return _decide(current)


def escalate(question: Question) -> Question:
    """Unanswered for too long: managers are notified, and all people of the room may decide."""
    with locked(question) as current:
        if not current.is_open or current.escalates_at is None:
            raise AlreadySettled(current)
        current.escalates_at = None
        return _save_progress(current, Action.ESCALATED, audit.SYSTEM)


def _decide(question: Question) -> Question:
    """Settle with what enough people voted for; the person of the last vote is named in the answer."""
    deciding = decision(question.votes or [])
    last = deciding[-1]
    users = get_user_model()._default_manager
    # The account may have been deleted since; the answer keeps the name, if the person is not anonymous.
    is_anonymous = last["user_id"].startswith(ALIAS_PREFIX)
    person = None if is_anonymous else users.filter(pk=last["user_id"]).first()
    through = last.get("through", "")
    given = Answer(
        via=Answer.Via.API if through else Answer.Via.WEB,
        through=through,
        choices=decided_choices(deciding),
        user_id=person.pk if person else None,
        username=last["username"],
        person_name=last["name"],
    )
    if through:
        actor = audit.Actor(AuditEntry.ActorType.AGENT, through)
    else:
        actor = audit.Actor(AuditEntry.ActorType.PERSON, last["username"])
    return settle(question, Question.Status.ANSWERED, Action.ANSWERED, actor, given)


def _save_progress(
    question: Question,
    action: Action,
    actor: audit.Actor,
    vote: Vote | None = None,
    *,
    is_new_card: bool = False,
) -> Question:
    """Save votes, undo window and escalation; `is_new_card` where the card gets or loses its form."""
    details = {"person": vote["username"]} if vote and "through" in vote else {}
    content = audit.content_digest(audit.voted_content(question))
    entry = audit.entry(action, question.room, actor, question.pk, content, **details)
    question.revision = next_audited_revision(entry)
    if is_new_card:
        question.turned_position = question.revision
    question.save(update_fields=["votes", "held_until", "escalates_at", "revision", "turned_position"])
    announce(question.room_id, question.revision, question.pk)
    return question
