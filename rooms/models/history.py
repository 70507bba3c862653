"""History: settled questions in a form that is fast to search and count. Written by `history/writer.py`."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from rooms.contract.limits import AGENT_NAME_LENGTH
from rooms.db.fields import MomentField
from rooms.models.answers import Answer
from rooms.models.people import PERSON_NAME_LENGTH
from rooms.models.questions import Question
from rooms.models.rooms import Room

# Instead of the names of agents and people in entries whose question was removed for its age.
NAME_REMOVED = "*"


class Bookmark(models.Model):
    """How far a background reader has followed the changes of a room; see `timeline/change_feed.py`."""

    reader = models.CharField(max_length=20)
    room = models.ForeignKey(Room, models.CASCADE, related_name="bookmarks")
    revision = models.BigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("room", "reader"), name="ask_bridge_bookmark_once"),)

    def __str__(self) -> str:
        return f"{self.reader} in {self.room_id} at {self.revision}"


class HistoryEntry(models.Model):
    """One settled question: the fields to filter, count and search by.

    Ids follow `settled_at`, see `history/index.py`. A migration that makes SQLite rebuild this table drops
    the triggers of its full-text index, and has to create them again as 0007 does.
    """

    # Null: the question was removed for its age. Then only counts and times are left, without text and names.
    question = models.OneToOneField(Question, models.CASCADE, null=True, related_name="history")
    room = models.ForeignKey(Room, models.CASCADE, related_name="history", db_index=False)
    status = models.CharField(_("status"), max_length=10, choices=Question.Status)
    via = models.CharField(_("via"), max_length=10, choices=Answer.Via, blank=True)
    asks_back = models.BooleanField(default=False)
    agent_name = models.CharField(_("agent name"), max_length=AGENT_NAME_LENGTH)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    person_name = models.CharField(_("person name"), max_length=PERSON_NAME_LENGTH, blank=True)
    asked_at = MomentField(_("asked at"))
    settled_at = MomentField(_("settled at"))
    # The time from the ask to the end, and for how long of it an agent was blocked.
    seconds = models.FloatField()
    blocked_seconds = models.FloatField()
    # Words for the full-text index, which the database maintains; see `history/index.py`. `text` has those of
    # prompts, options, answer and names, `labels` the filters, and `likeness` what very similar questions
    # have in common; the last only where a person answered.
    text = models.TextField()
    labels = models.TextField(blank=True)
    likeness = models.TextField(blank=True)

    class Meta:
        verbose_name = _("history entry")
        verbose_name_plural = _("history")
        ordering = ("-settled_at", "-id")
        indexes = (
            # For the deletion of a user.
            models.Index(fields=("user",), name="ask_bridge_h_person"),
            # Covers all that insights count by: SQLite reads it instead of the rows with their long texts.
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
