"""Rooms, their members, and the keys of their agents."""

from typing import Any, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms import conf
from rooms.contract.scopes import Scope, default_scopes
from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.db.transactions import alias, lock_rooms

KEY_LABEL_LENGTH = 80  # as long as an agent's name, which it often is


# Pages beside those of the rooms have these addresses: /rooms/new.
RESERVED_SLUGS = ("new", "archived")


# A hundred years: a larger number is a mistake, and leaves the range of dates.
LONGEST_KEEP_DAYS = 36_500


class RoomQuerySet(models.QuerySet["Room"]):
    def active(self) -> Self:
        return self.filter(archived_at=None)


DEFAULT_CLOSE_AFTER_SECONDS = 24 * 3600
# Null means never.
CLOSE_AFTER_CHOICES = (
    (600, _("10 minutes")),
    (1800, _("30 minutes")),
    (3600, _("1 hour")),
    (4 * 3600, _("4 hours")),
    (DEFAULT_CLOSE_AFTER_SECONDS, _("24 hours")),
    (7 * 24 * 3600, _("7 days")),
    (None, _("never")),
)


class Room(models.Model):
    slug = models.SlugField(
        _("slug"), max_length=60, unique=True, help_text=_("Part of every address: /rooms/SLUG")
    )
    name = models.CharField(_("name"), max_length=80)
    is_open = models.BooleanField(
        _("open to everyone"),
        default=False,
        help_text=_("Every signed-in user may see and answer. Otherwise only the members below."),
    )
    # The least care of every question of the room; see `contract/care.py`.
    care = models.JSONField(_("care"), null=True, blank=True)
    close_after_seconds = models.PositiveIntegerField(
        _("close a question when no agent has waited for it for"),
        null=True,
        blank=True,
        choices=CLOSE_AFTER_CHOICES,
        default=DEFAULT_CLOSE_AFTER_SECONDS,
        help_text=_("Counted from when an agent was last seen waiting. No default answer is used."),
    )
    # Null: the setting KEEP_DAYS; 0: forever. See `lifecycle/removing.py`.
    keep_days = models.PositiveIntegerField(
        _("keep for days"),
        null=True,
        blank=True,
        validators=[MaxValueValidator(LONGEST_KEEP_DAYS)],
        help_text=_(
            "Settled questions, messages and notifications that are older are removed for good. "
            "0 keeps them forever; empty: as the site does."
        ),
    )
    # What was settled or written before this may have been removed.
    removed_until = MomentField(null=True, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    archived_at = MomentField(_("archived at"), null=True, blank=True, editable=False)
    revision = models.BigIntegerField(default=0, editable=False)
    changed_at = MomentField(_("last activity"), default=timezone.now, editable=False)
    # The digests of the room's last two audit entries; the next entry refers to the last. See `audit.py`.
    audit_head = models.CharField(max_length=64, blank=True, editable=False)
    audit_previous = models.CharField(max_length=64, blank=True, editable=False)

    objects = RoomQuerySet.as_manager()

    class Meta:
        verbose_name = _("room")
        verbose_name_plural = _("rooms")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        """Skip the fields that every change in the room updates: an instance in memory has old values."""
        if not self._state.adding and not args and not options.keys() & {"update_fields", "force_insert"}:
            counters = {"id", "revision", "audit_head", "audit_previous"}
            loaded = {field.name for field in self._meta.concrete_fields if field.attname in self.__dict__}
            options["update_fields"] = loaded - counters
        super().save(*args, **options)

    def clean(self) -> None:
        # A room from before the page existed keeps its slug.
        if self.slug in RESERVED_SLUGS and not Room.objects.filter(pk=self.pk, slug=self.slug).exists():
            raise ValidationError({"slug": gettext("This address belongs to another page: choose another.")})


class Membership(models.Model):
    class Role(models.TextChoices):
        MEMBER = "member", _("Member")
        MANAGER = "manager", _("Manager")

    room = models.ForeignKey(Room, models.CASCADE, related_name="memberships", verbose_name=_("room"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="+",
        verbose_name=_("user"),
    )
    role = models.CharField(_("role"), max_length=10, choices=Role, default=Role.MEMBER)
    joined_at = MomentField(_("joined at"), default=timezone.now, editable=False)

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
        """Save in one transaction with the audit entry."""
        with transaction.atomic(using=options.get("using") or alias(), savepoint=False):
            lock_rooms([self.room_id])
            super().save(*args, **options)


class GroupMembership(models.Model):
    """All people of a group of the portal are members of a room, for as long as they are in the group."""

    room = models.ForeignKey(
        Room, models.CASCADE, related_name="group_memberships", verbose_name=_("room"), db_index=False
    )
    group = models.ForeignKey(conf.group_model(), models.CASCADE, related_name="+", verbose_name=_("group"))
    role = models.CharField(_("role"), max_length=10, choices=Membership.Role, default=Membership.Role.MEMBER)
    joined_at = MomentField(_("added at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("group of a room")
        verbose_name_plural = _("groups of rooms")
        constraints = (
            models.UniqueConstraint(fields=("room", "group"), name="ask_bridge_group_once"),
            models.CheckConstraint(condition=Q(role__in=("member", "manager")), name="ask_bridge_group_role"),
        )

    def __str__(self) -> str:
        return gettext("%(user)s in %(room)s") % {"user": self.group, "room": self.room}

    def save(self, *args: Any, **options: Any) -> None:
        """Save in one transaction with the audit entry."""
        with transaction.atomic(using=options.get("using") or alias(), savepoint=False):
            lock_rooms([self.room_id])
            super().save(*args, **options)

    @property
    def audit_subject(self) -> str:
        """Tells its entries from those of a person with the same primary key."""
        return f"group:{self.group_id}"


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    def alive(self) -> Self:
        """Neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)

    def usable(self) -> Self:
        return self.alive().filter(room__archived_at=None)


class AgentKey(models.Model):
    """A bearer token of an agent, bound to one room; the secret part is stored only as a keyed hash."""

    room = models.ForeignKey(Room, models.CASCADE, related_name="keys", verbose_name=_("room"))
    label = models.CharField(_("label"), max_length=KEY_LABEL_LENGTH)
    lookup = models.CharField(max_length=16, unique=True, editable=False)
    # How many asks named unknown people, in the minute that began at `refused_names_since`.
    refused_names = models.PositiveIntegerField(default=0, editable=False)
    refused_names_since = MomentField(null=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    # Set when the key is created and never changed; see `contract/scopes.py`.
    scopes = models.JSONField(_("scopes"), default=default_scopes)
    # The lookup of the first key of a series of rotations: all keys of the series belong to one agent.
    lineage = models.CharField(max_length=16, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )
    last_used_at = MomentField(_("last used at"), null=True, blank=True, editable=False)
    expires_at = MomentField(
        _("expires at"), null=True, blank=True, help_text=_("Without a time it works until it is revoked.")
    )
    revoked_at = MomentField(_("revoked at"), null=True, blank=True, editable=False)

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

    def has_scope(self, scope: Scope) -> bool:
        return scope.value in self.scopes

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_alive(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def is_usable(self) -> bool:
        return self.is_alive and self.room.archived_at is None
