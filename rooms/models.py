"""Rooms and what happens in them: fields, constraints and the querysets that pages and agents need.

Every change in a room takes the room's next `revision`. A question keeps the revision at which it was asked
as its `position` in the timeline, the one at which it was settled, and the one of its latest change as its
`revision`.
What is written at every ask and click has no index for a foreign key that another index begins with.
Nothing here changes state: see `lifecycle.py`.
"""

from typing import Any, NoReturn, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms import ids
from rooms.database import alias
from rooms.payload import AGENT_NAME_LENGTH, IDENTIFIER_LENGTH

# First and last name of Django's own user with the blank between them, and more than anybody reads.
PERSON_NAME_LENGTH = 301


class RoomQuerySet(models.QuerySet["Room"]):
    def active(self) -> Self:
        return self.filter(archived_at=None)


class Room(models.Model):
    slug = models.SlugField(
        _("slug"), max_length=60, unique=True, help_text=_("Part of every address: /rooms/SLUG")
    )
    name = models.CharField(_("name"), max_length=80)
    is_open = models.BooleanField(
        _("open to everybody"),
        default=False,
        help_text=_("Every signed-in user may see and answer. Otherwise only the members below."),
    )
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    archived_at = models.DateTimeField(_("archived at"), null=True, blank=True, editable=False)
    revision = models.BigIntegerField(default=0, editable=False)
    changed_at = models.DateTimeField(_("last activity"), default=timezone.now, editable=False)

    objects = RoomQuerySet.as_manager()

    class Meta:
        verbose_name = _("room")
        verbose_name_plural = _("rooms")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        MEMBER = "member", _("Member")
        MANAGER = "manager", _("Manager")

    room = models.ForeignKey(Room, models.CASCADE, related_name="memberships", verbose_name=_("room"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="ask_bridge_memberships",
        verbose_name=_("user"),
    )
    role = models.CharField(_("role"), max_length=10, choices=Role, default=Role.MEMBER)
    joined_at = models.DateTimeField(_("joined at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = (
            models.UniqueConstraint(fields=("room", "user"), name="ask_bridge_member_once"),
            models.CheckConstraint(
                condition=Q(role__in=("member", "manager")), name="ask_bridge_member_role"
            ),
        )

    def __str__(self) -> str:
        return gettext("%(user)s in %(room)s") % {"user": self.user, "room": self.room}

    def save(self, *args: Any, **options: Any) -> None:
        """Together with its audit entry, or not at all."""
        with transaction.atomic(using=options.get("using") or alias(), savepoint=False):
            super().save(*args, **options)


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    def alive(self) -> Self:
        """Neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def usable(self) -> Self:
        return self.alive().filter(room__archived_at=None)


class AgentKey(models.Model):
    """A bearer token of an agent, bound to one room; the secret part is stored only as a keyed hash."""

    room = models.ForeignKey(Room, models.CASCADE, related_name="keys", verbose_name=_("room"))
    label = models.CharField(_("label"), max_length=80)
    lookup = models.CharField(max_length=16, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(
        _("expires at"), null=True, blank=True, help_text=_("Without a time it works until it is revoked.")
    )
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True, editable=False)

    objects = AgentKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent key")
        verbose_name_plural = _("agent keys")
        ordering = ("-created_at",)
        indexes = (models.Index(fields=("created_by", "created_at"), name="ask_bridge_k_rate"),)

    def __str__(self) -> str:
        return f"{self.label} (abk_{self.lookup}_…)"

    def clean(self) -> None:
        if self._state.adding and self.has_expired:
            raise ValidationError({"expires_at": gettext("This time is past: the key would never work.")})

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_alive(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def is_usable(self) -> bool:
        return self.is_alive and self.room.archived_at is None


class QuestionQuerySet(models.QuerySet["Question"]):
    def open(self) -> Self:
        return self.filter(status=Question.Status.OPEN)

    def with_answer(self) -> Self:
        """All that a card or the wire shows, in one query."""
        return self.select_related("room", "answer")

    def due(self) -> Self:
        """Open, but past the deadline; the longest first."""
        return self.open().filter(expires_at__lte=timezone.now()).order_by("expires_at")

    def abandoned(self) -> Self:
        """Open and shown as waited for, but the lease ran out; the longest first."""
        return (
            self.open().filter(agent_active=True, waiting_until__lte=timezone.now()).order_by("waiting_until")
        )


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
    # What makes a second ask the same ask, and what was asked then: both hashes, so of fixed length.
    idempotency_hash = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001 - unique unless null
    body_hash = models.CharField(max_length=64, editable=False)

    prompts = models.JSONField(_("prompts"))
    context = models.JSONField(_("context"), default=dict)
    default_choices = models.JSONField(_("default choices"), null=True)

    status = models.CharField(_("status"), max_length=10, choices=Status, default=Status.OPEN)
    asked_at = models.DateTimeField(_("asked at"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires at"), null=True)
    settled_at = models.DateTimeField(_("settled at"), null=True)
    delivered_at = models.DateTimeField(_("delivered at"), null=True)

    # The agent's presence is a lease: active until `waiting_until` unless renewed. `agent_active` is what
    # the pages were told last, so that exactly one sweeper notices the change.
    agent_active = models.BooleanField(default=False)
    waiting_until = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(_("last seen at"), null=True)

    position = models.BigIntegerField()
    settled_position = models.BigIntegerField(null=True)
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
            # Complete, so that open questions are counted in the index alone, however many there are.
            models.Index(fields=("room", "status", "position"), name="ask_bridge_q_status"),
            # The timeline has to step over no open question, however many there are.
            models.Index(
                fields=("room", "position"),
                condition=Q(settled_position__isnull=False),
                name="ask_bridge_q_timeline",
            ),
            models.Index(
                fields=("expires_at",),
                # Only what has a deadline: PostgreSQL would else look for any open question in it.
                condition=Q(status="open", expires_at__isnull=False),
                name="ask_bridge_q_due",
            ),
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
    def is_overdue(self) -> bool:
        """Open, but past the deadline: whatever comes now is late."""
        return self.is_open and self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def agent_is_waiting(self) -> bool:
        return self.agent_active and self.waiting_until is not None and self.waiting_until > timezone.now()

    @property
    def answer_or_none(self) -> "Answer | None":
        return getattr(self, "answer", None)


class Answer(models.Model):
    """What was decided for all prompts of one question: at most one per question, ever."""

    class Via(models.TextChoices):
        WEB = "web", _("Web")
        TERMINAL = "terminal", _("Terminal")
        API = "api", _("API")
        DEFAULT = "default", _("Default")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_answer_id, editable=False)
    question = models.OneToOneField(
        Question, models.CASCADE, related_name="answer", verbose_name=_("question")
    )
    room = models.ForeignKey(
        Room, models.CASCADE, related_name="answers", verbose_name=_("room"), db_index=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="ask_bridge_answers",
        verbose_name=_("user"),
        db_index=False,
    )
    # As they were then: history keeps its names when people marry, leave or are deleted.
    username = models.CharField(_("username"), max_length=254, blank=True)
    person_name = models.CharField(_("person name"), max_length=PERSON_NAME_LENGTH, blank=True)
    via = models.CharField(_("via"), max_length=10, choices=Via)
    choices = models.JSONField(_("choices"), default=list)
    # Why the question was skipped, or what the person asks back instead of choosing.
    reason = models.TextField(_("reason"), blank=True)
    asks_back = models.BooleanField(_("asks back"), default=False)
    answered_at = models.DateTimeField(_("answered at"), default=timezone.now)
    position = models.BigIntegerField()

    class Meta:
        verbose_name = _("answer")
        verbose_name_plural = _("answers")
        ordering = ("room_id", "position")
        indexes = (
            models.Index(fields=("room", "position"), name="ask_bridge_a_timeline"),
            models.Index(fields=("user", "answered_at"), name="ask_bridge_a_rate"),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(via__in=("web", "terminal", "api", "default")),
                name="ask_bridge_answer_via",
            ),
        )

    def __str__(self) -> str:
        return gettext("Answer to %(question)s") % {"question": self.question_id}


class Message(models.Model):
    """A line in the timeline that is not a question: from a person or an agent, said or logged."""

    class Kind(models.TextChoices):
        MESSAGE = "message", _("Message")
        LOG = "log", _("Log")

    class SenderType(models.TextChoices):
        HUMAN = "human", _("Human")
        AGENT = "agent", _("Agent")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_message_id, editable=False)
    room = models.ForeignKey(
        Room, models.CASCADE, related_name="messages", verbose_name=_("room"), db_index=False
    )
    key = models.ForeignKey(
        AgentKey, models.SET_NULL, null=True, related_name="messages", verbose_name=_("key"), db_index=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="ask_bridge_messages",
        verbose_name=_("user"),
        db_index=False,
    )
    sender = models.CharField(_("sender"), max_length=PERSON_NAME_LENGTH)
    sender_type = models.CharField(_("sender type"), max_length=10, choices=SenderType)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind, default=Kind.MESSAGE)
    content = models.TextField(_("content"))
    color = models.CharField(_("color"), max_length=7, blank=True)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    position = models.BigIntegerField()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ("room_id", "position")
        constraints = (
            models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_message_position"),
        )
        indexes = (
            models.Index(fields=("key", "created_at"), name="ask_bridge_m_rate"),
            models.Index(fields=("user", "created_at"), name="ask_bridge_m_person_rate"),
        )

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
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return gettext("Preferences of %(user)s") % {"user": self.user}


class Presence(models.Model):
    """Somebody has a page of ours open: true until then unless renewed."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="ask_bridge_presence"
    )
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.user} until {self.until}"


class AppendOnly(Exception):
    """Somebody tried to change or remove what is written once and for all."""

    def __init__(self) -> None:
        super().__init__("Audit entries are never changed or removed.")


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    def update(self, **fields: Any) -> NoReturn:
        raise AppendOnly

    def delete(self) -> NoReturn:
        raise AppendOnly

    def bulk_update(self, *args: Any, **options: Any) -> NoReturn:
        raise AppendOnly

    def bulk_create(self, objs: Any, *args: Any, **options: Any) -> Any:
        if options.get("update_conflicts"):
            raise AppendOnly
        return super().bulk_create(objs, *args, **options)


class AuditEntry(models.Model):
    """Who did what when. Only texts, no references: it outlives the rooms, keys and people it tells of."""

    class Action(models.TextChoices):
        ASKED = "asked", _("Asked")
        ANSWERED = "answered", _("Answered")
        DECLINED = "declined", _("Declined")
        ASKED_BACK = "asked_back", _("Asked back")
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        KEY_CREATED = "key_created", _("Key created")
        KEY_REVOKED = "key_revoked", _("Key revoked")
        KEY_ROTATED = "key_rotated", _("Key rotated")
        MEMBER_ADDED = "member_added", _("Member added")
        MEMBER_REMOVED = "member_removed", _("Member removed")
        MEMBER_CHANGED = "member_changed", _("Member changed")
        ROOM_CREATED = "room_created", _("Room created")
        ROOM_ARCHIVED = "room_archived", _("Room archived")
        ROOM_RESTORED = "room_restored", _("Room restored")
        # Written by the migration of a site that was in use before: what is older has no entries.
        AUDIT_BEGAN = "audit_began", _("Audit began")

    class ActorType(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        SYSTEM = "system", _("System")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_audit_entry_id, editable=False)
    at = models.DateTimeField(_("at"), default=timezone.now)
    room = models.CharField(_("room"), max_length=60, blank=True)
    action = models.CharField(_("action"), max_length=20, choices=Action)
    actor_type = models.CharField(_("actor type"), max_length=10, choices=ActorType)
    actor = models.CharField(_("actor"), max_length=254, blank=True)
    # The id of the question or user, or the beginning of the key.
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    details = models.JSONField(_("details"), default=dict)
    digest = models.CharField(max_length=64, editable=False)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")
        ordering = ("id",)
        default_permissions = ("view",)
        indexes = (
            models.Index(fields=("at",), name="ask_bridge_e_at"),
            models.Index(fields=("room", "at"), name="ask_bridge_e_room"),
            models.Index(fields=("subject",), name="ask_bridge_e_subject"),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.subject}"

    def save(self, *args: Any, **options: Any) -> None:
        if not self._state.adding:
            raise AppendOnly
        super().save(force_insert=True, using=options.get("using"))

    def delete(self, *args: Any, **options: Any) -> NoReturn:
        raise AppendOnly
