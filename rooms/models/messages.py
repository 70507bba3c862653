"""Messages: what people and agents write in a room beside questions."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.models.people import PERSON_NAME_LENGTH
from rooms.models.questions import Question
from rooms.models.rooms import AgentKey, Room


class MessageQuerySet(models.QuerySet["Message"]):
    def with_question(self) -> Self:
        """With the room and the corrected question, which a page links to."""
        return self.select_related("room", "question")


class Message(models.Model):
    """A line of the timeline from a person or an agent: a message or a log line."""

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
        related_name="+",
        verbose_name=_("user"),
        db_index=False,
    )
    # The question that a correction belongs to. The text stays when the question is deleted.
    question = models.ForeignKey(
        Question,
        models.SET_NULL,
        null=True,
        related_name="corrections",
        verbose_name=_("question"),
        db_index=False,
    )
    sender = models.CharField(_("sender"), max_length=PERSON_NAME_LENGTH)
    sender_type = models.CharField(_("sender type"), max_length=10, choices=SenderType)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind, default=Kind.MESSAGE)
    content = models.TextField(_("content"))
    color = models.CharField(_("color"), max_length=7, blank=True)
    created_at = MomentField(_("created at"), default=timezone.now)
    position = models.BigIntegerField()

    objects = MessageQuerySet.as_manager()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ("room_id", "position")
        constraints = (
            models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_message_position"),
        )
        indexes = (
            # Partial: few messages are corrections. Deleting a question looks for them.
            models.Index(
                fields=("question",),
                condition=Q(question__isnull=False),
                name="ask_bridge_m_correction",
            ),
            models.Index(fields=("key", "created_at"), name="ask_bridge_m_rate"),
            models.Index(fields=("user", "created_at"), name="ask_bridge_m_person_rate"),
        )

    def __str__(self) -> str:
        return f"{self.sender}: {self.content[:60]}"
