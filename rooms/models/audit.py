"""Audit entries: append-only, but for the names of anonymised people. Written by `rooms/audit.py`."""

from typing import Any, NoReturn

from django.db import models
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.db import timezone
from rooms.db.fields import MomentField


class AppendOnly(Exception):
    """An attempt to change or delete an audit entry."""

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
    """Who did what when. Only texts, no foreign keys: it outlives the rooms, keys and people it names."""

    class Action(models.TextChoices):
        ASKED = "asked", _("Asked")
        ANSWERED = "answered", _("Answered")
        DECLINED = "declined", _("Declined")
        ASKED_BACK = "asked_back", _("Asked back")
        VOTED = "voted", _("Voted")
        UNDONE = "undone", _("Undone")
        ESCALATED = "escalated", _("Escalated")
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        QUESTION_DELETED = "question_deleted", _("Question deleted")
        OLD_REMOVED = "old_removed", _("Old entries removed")
        PERSON_ANONYMISED = "person_anonymised", _("Person anonymised")
        KEY_CREATED = "key_created", _("Key created")
        KEY_REVOKED = "key_revoked", _("Key revoked")
        KEY_ROTATED = "key_rotated", _("Key rotated")
        MEMBER_ADDED = "member_added", _("Member added")
        MEMBER_REMOVED = "member_removed", _("Member removed")
        MEMBER_CHANGED = "member_changed", _("Member changed")
        INVITATION_CREATED = "invitation_created", _("Invitation created")
        INVITATION_REVOKED = "invitation_revoked", _("Invitation revoked")
        INVITATION_USED = "invitation_used", _("Invitation used")
        WEBHOOK_ADDED = "webhook_added", _("Webhook added")
        WEBHOOK_CHANGED = "webhook_changed", _("Webhook changed")
        WEBHOOK_REMOVED = "webhook_removed", _("Webhook removed")
        ROOM_CREATED = "room_created", _("Room created")
        ROOM_CHANGED = "room_changed", _("Room changed")
        ROOM_ARCHIVED = "room_archived", _("Room archived")
        ROOM_RESTORED = "room_restored", _("Room restored")
        ROOM_DELETED = "room_deleted", _("Room deleted")
        # Written by the migration of a site that was already in use: older changes have no entries.
        AUDIT_BEGAN = "audit_began", _("Audit began")

    class ActorType(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        SYSTEM = "system", _("System")

    id = models.CharField(max_length=32, primary_key=True, default=ids.new_audit_entry_id, editable=False)
    at = MomentField(_("at"), default=timezone.now)
    room = models.CharField(_("room"), max_length=60, blank=True)
    action = models.CharField(_("action"), max_length=20, choices=Action)
    actor_type = models.CharField(_("actor type"), max_length=10, choices=ActorType)
    actor = models.CharField(_("actor"), max_length=254, blank=True)
    # The id of the question or user, or the lookup part of the key or invitation.
    subject = models.CharField(_("subject"), max_length=64, blank=True)
    details = models.JSONField(_("details"), default=dict)
    # A keyed digest of what was asked, voted or answered, if the entry is about that.
    content = models.CharField(max_length=64, blank=True, editable=False)
    # A keyed digest of all fields above.
    digest = models.CharField(max_length=64, editable=False)
    # The hash chain of a room, by the room's primary key: each entry has the digest of the previous one, and
    # a keyed digest of the pair. Entries from before there was a chain, or without a room, have none.
    chain = models.BigIntegerField(null=True, editable=False)
    previous = models.CharField(max_length=64, blank=True, editable=False)
    link = models.CharField(max_length=64, blank=True, editable=False)
    # Set when a person in the entry was anonymised: a keyed digest of the entry as it is since then, and the
    # id of the entry that says so. `digest` stays the one of the entry as it was written, so the chain holds.
    redaction = models.CharField(max_length=64, blank=True, editable=False)
    redacted_by = models.CharField(max_length=32, blank=True, editable=False)

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
