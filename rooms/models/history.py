"""What was decided, in a form that is quick to search and to count. Written by `history.py` alone."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from rooms.contract.limits import AGENT_NAME_LENGTH
from rooms.models.answers import Answer
from rooms.models.people import PERSON_NAME_LENGTH
from rooms.models.questions import Question
from rooms.models.rooms import Room


class Bookmark(models.Model):
    """How far somebody who follows a room from change to change has read; see `readers.py`."""

    reader = models.CharField(max_length=20)
    room = models.ForeignKey(Room, models.CASCADE, related_name="bookmarks")
    revision = models.BigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("room", "reader"), name="ask_bridge_bookmark_once"),)

    def __str__(self) -> str:
        return f"{self.reader} in {self.room_id} at {self.revision}"


class HistoryEntry(models.Model):
    """One settled question: everything that is filtered, counted or searched by, and nothing else.

    Ids follow `settled_at`, see `fulltext.py`. A migration that makes SQLite build this table anew loses the
    triggers of its full-text index: it has to make them again, as 0007 does.
    """

    question = models.OneToOneField(Question, models.CASCADE, related_name="history")
    room = models.ForeignKey(Room, models.CASCADE, related_name="history", db_index=False)
    status = models.CharField(_("status"), max_length=10, choices=Question.Status)
    via = models.CharField(_("via"), max_length=10, choices=Answer.Via, blank=True)
    asks_back = models.BooleanField(default=False)
    agent_name = models.CharField(_("agent name"), max_length=AGENT_NAME_LENGTH)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    person_name = models.CharField(_("person name"), max_length=PERSON_NAME_LENGTH, blank=True)
    asked_at = models.DateTimeField(_("asked at"))
    settled_at = models.DateTimeField(_("settled at"))
    # From the ask to the end, and how much of it an agent stood still for it.
    seconds = models.FloatField()
    blocked_seconds = models.FloatField()
    # Words for the full-text index, which the database makes of them by itself; see `fulltext.py`. First
    # those of prompts, options, answer and names, then labels for what is filtered by, then what very similar
    # questions have in common; the last only where a person answered.
    text = models.TextField()
    labels = models.TextField(blank=True)
    likeness = models.TextField(blank=True)

    class Meta:
        verbose_name = _("history entry")
        verbose_name_plural = _("history")
        ordering = ("-settled_at", "-id")
        indexes = (
            # For whoever deletes a user.
            models.Index(fields=("user",), name="ask_bridge_h_person"),
            # All that insights count by: SQLite reads it instead of the rows, whose texts lie in between.
            models.Index(
                fields=(
                    *("room", "settled_at", "status", "via", "asks_back", "agent_name", "user"),
                    *("person_name", "asked_at", "seconds", "blocked_seconds"),
                ),
                name="ask_bridge_h_insights",
            ),
        )

    def __str__(self) -> str:
        return f"{self.question_id} {self.status}"
