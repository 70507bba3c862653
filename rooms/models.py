"""Rooms and what happens in them: fields, constraints and the querysets that pages and agents need.

Every change in a room takes the room's next `revision`. A question keeps the revision at which it was asked
as its `position` in the timeline, the one at which it was settled, and the one of its latest change as its
`revision`.
Nothing here changes state: see `lifecycle.py`.
"""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from rooms import ids
from rooms.payload import AGENT_NAME_LENGTH, IDENTIFIER_LENGTH

# First and last name of Django's own user with the blank between them, and more than anybody reads.
PERSON_NAME_LENGTH = 301


class RoomQuerySet(models.QuerySet["Room"]):
    def active(self) -> Self:
        return self.filter(archived_at=None)


class Room(models.Model):
    slug = models.SlugField(max_length=60, unique=True, help_text="Part of every address: /rooms/SLUG")
    name = models.CharField(max_length=80)
    is_open = models.BooleanField(
        "open to everybody",
        default=False,
        help_text="Every signed-in user may see and answer. Otherwise only the members below.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    revision = models.BigIntegerField(default=0, editable=False)
    changed_at = models.DateTimeField("last activity", default=timezone.now, editable=False)

    objects = RoomQuerySet.as_manager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        MEMBER = "member"
        MANAGER = "manager"

    room = models.ForeignKey(Room, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="ask_bridge_memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    joined_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("room", "user"), name="ask_bridge_member_once"),
            models.CheckConstraint(
                condition=Q(role__in=("member", "manager")), name="ask_bridge_member_role"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} in {self.room}"


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    def usable(self) -> Self:
        return self.filter(revoked_at=None, room__archived_at=None)


class AgentKey(models.Model):
    """A bearer token of an agent, bound to one room; the secret part is stored only as a keyed hash."""

    room = models.ForeignKey(Room, models.CASCADE, related_name="keys")
    label = models.CharField(max_length=80)
    lookup = models.CharField(max_length=16, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = AgentKeyQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.label} (abk_{self.lookup}_…)"


class QuestionQuerySet(models.QuerySet["Question"]):
    def open(self) -> Self:
        return self.filter(status=Question.Status.OPEN)

    def with_answer(self) -> Self:
        """All that a card or the wire shows, in one query."""
        return self.select_related("room", "answer")

    def due(self) -> Self:
        """Open, but past the deadline."""
        return self.open().filter(expires_at__lte=timezone.now())

    def abandoned(self) -> Self:
        """Open and shown as waited for, but the lease ran out."""
        return self.open().filter(agent_active=True, waiting_until__lte=timezone.now())


class Question(models.Model):
    """One call of AskUserQuestion: one card with one to four prompts."""

    class Status(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        DECLINED = "declined"
        EXPIRED = "expired"
        WITHDRAWN = "withdrawn"

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_question_id, editable=False)
    room = models.ForeignKey(Room, models.CASCADE, related_name="questions")
    key = models.ForeignKey(AgentKey, models.SET_NULL, null=True, related_name="questions")
    agent_name = models.CharField(max_length=AGENT_NAME_LENGTH)
    agent_color = models.CharField(max_length=7)
    session_id = models.CharField(max_length=IDENTIFIER_LENGTH, blank=True)
    tool_use_id = models.CharField(max_length=IDENTIFIER_LENGTH, blank=True)
    # What makes a second ask the same ask, and what was asked then: both hashes, so of fixed length.
    idempotency_hash = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001 - unique unless null
    body_hash = models.CharField(max_length=64, editable=False)

    prompts = models.JSONField()
    context = models.JSONField(default=dict)
    default_choices = models.JSONField(null=True)

    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    asked_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)

    # The agent's presence is a lease: active until `waiting_until` unless renewed. `agent_active` is what
    # the pages were told last, so that exactly one sweeper notices the change.
    agent_active = models.BooleanField(default=False)
    waiting_until = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)

    position = models.BigIntegerField()
    settled_position = models.BigIntegerField(null=True)
    revision = models.BigIntegerField()

    objects = QuestionQuerySet.as_manager()

    class Meta:
        ordering = ("room", "position")
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
            models.Index(fields=("room", "position"), condition=Q(status="open"), name="ask_bridge_q_open"),
            models.Index(fields=("expires_at",), condition=Q(status="open"), name="ask_bridge_q_due"),
            models.Index(
                fields=("waiting_until",),
                condition=Q(status="open", agent_active=True),
                name="ask_bridge_q_lease",
            ),
        )

    def __str__(self) -> str:
        return self.prompts[0]["question"][:80]

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.OPEN

    @property
    def agent_is_waiting(self) -> bool:
        return self.agent_active and self.waiting_until is not None and self.waiting_until > timezone.now()

    @property
    def answer_or_none(self) -> "Answer | None":
        return getattr(self, "answer", None)


class Answer(models.Model):
    """What was decided for all prompts of one question: at most one per question, ever."""

    class Via(models.TextChoices):
        WEB = "web"
        TERMINAL = "terminal"
        API = "api"
        DEFAULT = "default"

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_answer_id, editable=False)
    question = models.OneToOneField(Question, models.CASCADE, related_name="answer")
    room = models.ForeignKey(Room, models.CASCADE, related_name="answers")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="ask_bridge_answers"
    )
    # As they were then: history keeps its names when people marry, leave or are deleted.
    username = models.CharField(max_length=254, blank=True)
    person_name = models.CharField(max_length=PERSON_NAME_LENGTH, blank=True)
    via = models.CharField(max_length=10, choices=Via)
    choices = models.JSONField(default=list)
    # Why the question was skipped, or what the person asks back instead of choosing.
    reason = models.TextField(blank=True)
    asks_back = models.BooleanField(default=False)
    answered_at = models.DateTimeField(default=timezone.now)
    position = models.BigIntegerField()

    class Meta:
        ordering = ("room", "position")
        indexes = (models.Index(fields=("room", "position"), name="ask_bridge_a_timeline"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(via__in=("web", "terminal", "api", "default")),
                name="ask_bridge_answer_via",
            ),
        )

    def __str__(self) -> str:
        return f"Answer to {self.question_id}"


class Message(models.Model):
    """A line in the timeline that is not a question: from a person or an agent, said or logged."""

    class Kind(models.TextChoices):
        MESSAGE = "message"
        LOG = "log"

    class SenderType(models.TextChoices):
        HUMAN = "human"
        AGENT = "agent"

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_message_id, editable=False)
    room = models.ForeignKey(Room, models.CASCADE, related_name="messages")
    key = models.ForeignKey(AgentKey, models.SET_NULL, null=True, related_name="messages")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="ask_bridge_messages"
    )
    sender = models.CharField(max_length=PERSON_NAME_LENGTH)
    sender_type = models.CharField(max_length=10, choices=SenderType)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.MESSAGE)
    content = models.TextField()
    color = models.CharField(max_length=7, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    position = models.BigIntegerField()

    class Meta:
        ordering = ("room", "position")
        constraints = (
            models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_message_position"),
        )
        indexes = (models.Index(fields=("key", "created_at"), name="ask_bridge_m_rate"),)

    def __str__(self) -> str:
        return f"{self.sender}: {self.content[:60]}"


class Preferences(models.Model):
    """How one person wants the pages to behave."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="ask_bridge_preferences"
    )
    always_submit = models.BooleanField(default=False)
    keyboard = models.BooleanField(default=True)
    notify = models.BooleanField(default=False)
    muted_rooms = models.ManyToManyField(Room, blank=True, related_name="+")

    class Meta:
        verbose_name_plural = "preferences"

    def __str__(self) -> str:
        return f"Preferences of {self.user}"


class Presence(models.Model):
    """Somebody has a page of ours open: true until then unless renewed."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="ask_bridge_presence"
    )
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.user} until {self.until}"
