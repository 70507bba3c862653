"""Questions that agents ask: their state, and the queries for what is due.

A question keeps the revision at which it was asked as its `position` in the timeline, the one at which it was
settled, and the one of its latest change as its `revision`.
"""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Self, TypedDict

from django.db import models
from django.db.models import ExpressionWrapper, F, Q
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.contract.limits import AGENT_NAME_LENGTH, IDENTIFIER_LENGTH
from rooms.contract.rules import RULES_VERSION
from rooms.contract.votes import Vote, decision
from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.models.rooms import AgentKey, Room

if TYPE_CHECKING:
    from rooms.models.answers import Answer


class QuestionQuerySet(models.QuerySet["Question"]):
    def open(self) -> Self:
        return self.filter(status=Question.Status.OPEN)

    def understood(self) -> Self:
        """Open, and this process knows the rules by which it is settled."""
        return self.open().filter(needs_version__lte=RULES_VERSION)

    def settled(self) -> Self:
        return self.exclude(status=Question.Status.OPEN)

    def with_answer(self) -> Self:
        """All that a card or the wire shows, in one query."""
        return self.select_related("room", "answer")

    def due(self, now: datetime) -> Self:
        """Open and undecided past the deadline; the longest overdue first."""
        overdue = self.understood().filter(expires_at__lte=now, held_until=None)
        return overdue.order_by("expires_at")

    def releasable(self, now: datetime) -> Self:
        """Decided, and the undo window is over; the longest overdue first."""
        return self.understood().filter(held_until__lte=now).order_by("held_until")

    def held(self) -> Self:
        """Decided, and in the undo window."""
        # The status is no parameter, because SQLite uses a partial index only for a literal.
        is_open = RawSQL("status = 'open'", (), models.BooleanField())
        # MariaDB finds them by the parameter.
        return self.open().filter(is_open, held_until__isnull=False)

    def careful(self) -> Self:
        """Those with options of care."""
        # As a text: `care__isnull` calls a function on MariaDB, which then uses no index.
        care = ExpressionWrapper(F("care"), output_field=models.TextField())
        return self.alias(care_text=care).filter(care_text__isnull=False)

    def escalating(self, now: datetime) -> Self:
        """Unanswered for so long that managers have to be notified; the longest overdue first."""
        return self.understood().filter(escalates_at__lte=now).order_by("escalates_at")

    def attended(self) -> Self:
        """Open, and counted in badges and inbox: an agent waits, or the question was asked a moment ago."""
        # Settled questions are never attended. Without a filter on the status SQLite uses the smaller index.
        return self.filter(is_attended=True)

    def unattended(self) -> Self:
        """Open, but no agent waits: shown separately, and closed after the time that the room sets."""
        # Without the status, which is not in the index of these questions.
        return self.filter(is_attended=False, settled_at=None)

    def abandoned(self, now: datetime) -> Self:
        """Shown as attended, but the lease is over; the longest overdue first."""
        return self.attended().filter(waiting_until__lte=now).order_by("waiting_until")

    def stale(self, now: datetime) -> Self:
        """No agent has waited for longer than the room allows, and no decision is held; the oldest first."""
        return self.understood().filter(closes_at__lte=now, held_until=None).order_by("closes_at")


class EndReason(StrEnum):
    """Why a question expired or was withdrawn."""

    DEADLINE = "deadline"
    AGENT = "agent"
    PERSON = "person"
    NO_AGENT_WAITING = "no_agent_waiting"
    ROOM_ARCHIVED = "room_archived"


class EndedBy(TypedDict):
    username: str
    name: str


class Ended(TypedDict):
    """How a question ended, as it is stored and sent."""

    reason: str
    by: EndedBy | None


class Question(models.Model):
    """One call of AskUserQuestion: one card with one to four prompts."""

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        ANSWERED = "answered", _("Answered")
        DECLINED = "declined", _("Declined")
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_question_id, editable=False)
    room = models.ForeignKey(
        Room, models.CASCADE, related_name="questions", verbose_name=_("room"), db_index=False
    )
    key = models.ForeignKey(
        AgentKey,
        models.SET_NULL,
        null=True,
        related_name="questions",
        verbose_name=_("key"),
        db_index=False,
    )
    agent_name = models.CharField(_("agent name"), max_length=AGENT_NAME_LENGTH)
    agent_color = models.CharField(_("agent color"), max_length=7)
    session_id = models.CharField(_("session id"), max_length=IDENTIFIER_LENGTH, blank=True)
    tool_use_id = models.CharField(_("tool use id"), max_length=IDENTIFIER_LENGTH, blank=True)
    # Recognise a repeated ask, and one with the same key but another question. Hashes, so of fixed length.
    idempotency_hash = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001 - unique unless null
    body_hash = models.CharField(max_length=64, editable=False)

    prompts = models.JSONField(_("prompts"))
    context = models.JSONField(_("context"), default=dict)
    default_choices = models.JSONField(_("default choices"), null=True)

    # The care, the votes, until when a decision can be undone, and when managers are notified and all people
    # of the room may decide. See `contract/care.py`. Without care there is at most one vote: of a person who
    # has an undo window of their own.
    care = models.JSONField(_("care"), null=True)
    votes = models.JSONField(_("votes"), null=True)
    held_until = MomentField(_("held until"), null=True)
    escalates_at = MomentField(_("escalates at"), null=True)
    # The version of the rules by which it is settled: see `contract/rules.py`. The default is also the
    # database's, for asks of processes that do not know the column yet.
    needs_version = models.PositiveSmallIntegerField(default=1, db_default=1, editable=False)
    # Up to three earlier answers to very similar questions, as they were found soon after the ask.
    memories = models.JSONField(_("memories"), null=True)

    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.OPEN)
    asked_at = MomentField(_("asked at"), default=timezone.now)
    expires_at = MomentField(_("expires at"), null=True)
    settled_at = MomentField(_("settled at"), null=True)
    delivered_at = MomentField(_("delivered at"), null=True)

    # The agent's presence is a lease (`lifecycle/leases.py`): active until `waiting_until` unless renewed.
    # `agent_active` is what pages show, so that exactly one sweep announces the change.
    agent_active = models.BooleanField(default=False)
    waiting_until = MomentField(null=True)
    last_seen_at = MomentField(_("last seen at"), null=True)
    # Open, and counted in badges and inbox. Like `agent_active`, but true from the ask on: an agent needs
    # some time until its first wait, and `waiting_until` is at first the end of that time.
    is_attended = models.BooleanField(default=False)
    # When the question is closed unless an agent waits for it before; null while one waits, or for never.
    closes_at = MomentField(_("closes at"), null=True)
    # Why an expired or withdrawn question ended, and the person who ended it.
    ended = models.JSONField(_("ended"), null=True)

    position = models.BigIntegerField()
    settled_position = models.BigIntegerField(null=True)
    # The revision at which the card of an open question was last replaced: a decision was held or undone.
    turned_position = models.BigIntegerField(null=True)
    revision = models.BigIntegerField()

    objects = QuestionQuerySet.as_manager()

    class Meta:
        verbose_name = _("question")
        verbose_name_plural = _("questions")
        # Not by "room": that would join the rooms and sort by their names.
        ordering = ("room_id", "position")
        constraints = (
            models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_question_position"),
            models.UniqueConstraint(fields=("room", "idempotency_hash"), name="ask_bridge_asked_once"),
            models.CheckConstraint(
                condition=Q(status="open", settled_at=None)
                | (~Q(status="open") & Q(settled_at__isnull=False)),
                name="ask_bridge_settled_has_time",
            ),
        )
        indexes = (
            models.Index(fields=("room", "revision"), name="ask_bridge_q_replay"),
            models.Index(fields=("key", "asked_at"), name="ask_bridge_q_rate"),
            # Not partial, so that open questions are counted in the index alone, however many there are.
            models.Index(fields=("room", "status", "position"), name="ask_bridge_q_status"),
            # Without open questions, so that the timeline does not have to skip them.
            # Newest first: some portals refuse an index of the same fields as a constraint.
            models.Index(
                fields=("room", "-position"),
                condition=Q(settled_position__isnull=False),
                name="ask_bridge_q_timeline",
            ),
            models.Index(
                fields=("expires_at",),
                # Only with a deadline: PostgreSQL would else use it to find any open question.
                condition=Q(status="open", expires_at__isnull=False),
                name="ask_bridge_q_due",
            ),
            models.Index(
                fields=("waiting_until",),
                condition=Q(is_attended=True),
                name="ask_bridge_q_lease",
            ),
            # Counts badges in the index alone, however many open questions have no waiting agent. SQLite does
            # so only if the columns of the condition are in the index as well.
            models.Index(
                fields=("room", "is_attended"),
                condition=Q(is_attended=True),
                name="ask_bridge_q_attended",
            ),
            # The rows of the inbox in their order, with all that it filters by, however many are open.
            models.Index(
                fields=("asked_at", "room", "agent_name", "is_attended", "id"),
                condition=Q(is_attended=True),
                name="ask_bridge_q_inbox",
            ),
            # The same for those without a waiting agent. An ask does not write to it.
            models.Index(
                fields=("asked_at", "room", "agent_name", "is_attended", "settled_at", "id"),
                condition=Q(is_attended=False, settled_at=None),
                name="ask_bridge_q_unattended",
            ),
            # Every page reads the open careful questions, to tell which of them the person may decide. No
            # condition on the status: the query has it as a parameter, and SQLite would not use the index.
            models.Index(
                fields=("room", "status"),
                condition=Q(care__isnull=False),
                name="ask_bridge_q_careful",
            ),
            models.Index(
                fields=("closes_at",),
                condition=Q(status="open", closes_at__isnull=False),
                name="ask_bridge_q_closes",
            ),
            # A long-poll or event stream waits for the open questions of its key.
            models.Index(
                fields=("key", "asked_at"),
                condition=Q(status="open"),
                name="ask_bridge_q_asker",
            ),
            models.Index(
                fields=("held_until",),
                condition=Q(status="open", held_until__isnull=False),
                name="ask_bridge_q_held",
            ),
            models.Index(
                fields=("escalates_at",),
                condition=Q(status="open", escalates_at__isnull=False),
                name="ask_bridge_q_escalate",
            ),
        )

    def __str__(self) -> str:
        return self.prompts[0]["question"][:80]

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def is_understood(self) -> bool:
        """Whether this process knows the rules by which it is settled."""
        return self.needs_version <= RULES_VERSION

    @property
    def is_overdue(self) -> bool:
        """Open and undecided past the deadline: an answer is too late."""
        return (
            self.is_open
            and self.expires_at is not None
            and self.held_until is None
            and self.expires_at <= timezone.now()
        )

    @property
    def is_held(self) -> bool:
        """Decided, but in its undo window: the agent does not have the answer yet."""
        return self.is_open and self.held_until is not None

    @property
    def all_may_undo(self) -> bool:
        """Whether all people who may decide can undo a held decision, not only the person who decided."""
        return (self.care or {}).get("undo_seconds") is not None

    @property
    def was_escalated(self) -> bool:
        """Whether it was unanswered for so long that managers were notified, and all may decide."""
        wanted = (self.care or {}).get("escalate_seconds")
        return wanted is not None and self.escalates_at is None

    @property
    def decided_by(self) -> list[Vote]:
        """The votes that made the decision; the deciding one is the last."""
        answer = None if self.is_open else self.answer_or_none
        by_people = answer is not None and answer.username and answer.choices
        is_decided = self.is_held or by_people
        return decision(self.votes or []) if is_decided else []

    @property
    def agent_is_waiting(self) -> bool:
        return self.agent_active and self.waiting_until is not None and self.waiting_until > timezone.now()

    @property
    def why_ended(self) -> Ended | None:
        """Why the question ended without a person's decision; None while open, answered or declined."""
        if self.ended:
            return self.ended
        # Older rows have no reason; then it can only be the deadline or the agent.
        reasons = {self.Status.EXPIRED: EndReason.DEADLINE, self.Status.WITHDRAWN: EndReason.AGENT}
        reason = reasons.get(self.Status(self.status))
        return Ended(reason=reason, by=None) if reason else None

    @property
    def answer_or_none(self) -> "Answer | None":
        return getattr(self, "answer", None)
