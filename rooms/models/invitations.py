"""Invitation links of rooms."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.models.rooms import Room


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self) -> Self:
        """Not revoked, not past its end, not used up. All are columns of this table: `join` counts by it."""
        return self.filter(revoked_at=None, ends_at__gt=timezone.now(), uses__lt=F("max_uses"))


class Invitation(models.Model):
    """A link that makes people members of a room; the secret part is stored only as a keyed hash."""

    room = models.ForeignKey(Room, models.CASCADE, related_name="invitations", verbose_name=_("room"))
    lookup = models.CharField(max_length=16, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    # The link works only while this person manages the room.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )
    ends_at = MomentField(_("ends at"))
    max_uses = models.PositiveIntegerField(_("most uses"))
    uses = models.PositiveIntegerField(_("uses"), default=0, editable=False)
    revoked_at = MomentField(_("revoked at"), null=True, blank=True, editable=False)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(condition=Q(uses__lte=F("max_uses")), name="ask_bridge_invitation_uses"),
        )

    def __str__(self) -> str:
        return f"{self.room} ({self.lookup}…)"

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and self.ends_at > timezone.now() and self.uses < self.max_uses
