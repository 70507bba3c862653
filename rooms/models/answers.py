"""Answers, and the endings of questions that have no answer."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.models.people import PERSON_NAME_LENGTH
from rooms.models.questions import Question
from rooms.models.rooms import KEY_LABEL_LENGTH, Room


class Answer(models.Model):
    """The answer to all prompts of one question; at most one per question."""

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
        related_name="+",
        verbose_name=_("user"),
        db_index=False,
    )
    # The names at that time: they do not change when people are renamed or deleted.
    username = models.CharField(_("username"), max_length=254, blank=True)
    person_name = models.CharField(_("person name"), max_length=PERSON_NAME_LENGTH, blank=True)
    via = models.CharField(_("via"), max_length=10, choices=Via)
    # The label, at that time, of the key that sent it: from the terminal, or for the person named here.
    through = models.CharField(_("through"), max_length=KEY_LABEL_LENGTH, blank=True)
    choices = models.JSONField(_("choices"), default=list)
    # Why the question was skipped, or what the person asks back instead of choosing.
    reason = models.TextField(_("reason"), blank=True)
    asks_back = models.BooleanField(_("asks back"), default=False)
    answered_at = MomentField(_("answered at"), default=timezone.now)
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


class Ending(models.Model):
    """The end of a question that has no answer: an entry of the timeline, so that a poll for it ends."""

    class SenderType(models.TextChoices):
        HUMAN = "human", _("Human")
        AGENT = "agent", _("Agent")
        SYSTEM = "system", _("System")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_ending_id, editable=False)
    question = models.OneToOneField(
        Question, models.CASCADE, related_name="ending", verbose_name=_("question")
    )
    room = models.ForeignKey(
        Room, models.CASCADE, related_name="endings", verbose_name=_("room"), db_index=False
    )
    # Who ended it, by the name at that time; empty if no name is known.
    sender = models.CharField(_("sender"), max_length=PERSON_NAME_LENGTH, blank=True)
    sender_type = models.CharField(_("sender type"), max_length=10, choices=SenderType)
    ended_at = MomentField(_("ended at"), default=timezone.now)
    position = models.BigIntegerField()

    class Meta:
        verbose_name = _("ending")
        verbose_name_plural = _("endings")
        ordering = ("room_id", "position")
        constraints = (
            models.UniqueConstraint(fields=("room", "position"), name="ask_bridge_ending_position"),
        )

    def __str__(self) -> str:
        return gettext("End of %(question)s") % {"question": self.question_id}
