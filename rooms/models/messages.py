"""Messages: what people and agents write in a room beside questions."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.models.people import PERSON_NAME_LENGTH
from rooms.models.rooms import AgentKey, Room


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
