"""The tables: fields, constraints, indexes and querysets. Only `rooms/lifecycle/` changes state.

Every change in a room takes the room's next `revision`. Tables that are written at every ask and click have
`db_index=False` on a foreign key where another index begins with its column.
"""

from rooms.models.answers import Answer, Ending
from rooms.models.audit import AppendOnly, AuditEntry, AuditEntryQuerySet
from rooms.models.history import NAME_REMOVED, Bookmark, HistoryEntry
from rooms.models.invitations import Invitation, InvitationQuerySet
from rooms.models.messages import Message
from rooms.models.notifications import Notice, NoticePreferences, NoticeRule, PushSubscription, Webhook
from rooms.models.people import PERSON_NAME_LENGTH, Preferences, Presence
from rooms.models.questions import Ended, EndedBy, EndReason, Question, QuestionQuerySet
from rooms.models.rooms import (
    CLOSE_AFTER_CHOICES,
    LONGEST_KEEP_DAYS,
    RESERVED_SLUGS,
    AgentKey,
    AgentKeyQuerySet,
    GroupMembership,
    Membership,
    Room,
    RoomQuerySet,
)

__all__ = [
    "CLOSE_AFTER_CHOICES",
    "LONGEST_KEEP_DAYS",
    "NAME_REMOVED",
    "PERSON_NAME_LENGTH",
    "RESERVED_SLUGS",
    "AgentKey",
    "AgentKeyQuerySet",
    "Answer",
    "AppendOnly",
    "AuditEntry",
    "AuditEntryQuerySet",
    "Bookmark",
    "EndReason",
    "Ended",
    "EndedBy",
    "Ending",
    "GroupMembership",
    "HistoryEntry",
    "Invitation",
    "InvitationQuerySet",
    "Membership",
    "Message",
    "Notice",
    "NoticePreferences",
    "NoticeRule",
    "Preferences",
    "Presence",
    "PushSubscription",
    "Question",
    "QuestionQuerySet",
    "Room",
    "RoomQuerySet",
    "Webhook",
]
