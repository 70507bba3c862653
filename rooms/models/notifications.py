"""Notifications: preferences, devices, webhooks, and the outbox.

`notifications/planner.py` and `notifications/outbox.py` write the outbox; the Settings page and the page of
webhooks write the rest.
"""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from rooms.contract import ids
from rooms.db import timezone
from rooms.db.fields import MomentField
from rooms.models.questions import Question
from rooms.models.rooms import Room

# Values of a delay in minutes after the ask that have a special meaning.
OFF = -1
AT_ONCE = 0

# The addresses of push services have about 200 characters, some twice that.
ENDPOINT_LENGTH = 1000
# A name in the DNS has 253 characters at most.
HOST_LENGTH = 255
# Such as "push:12", but the users of a portal may have long texts as primary keys.
TARGET_LENGTH = 300
# A sentence and the beginning of the receiver's response; the log has more.
ERROR_LENGTH = 300


class NoticePreferences(models.Model):
    """How one person is notified while they have no page open; no row before they choose."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    push = models.SmallIntegerField(default=AT_ONCE)  # to all devices of the person
    mail = models.SmallIntegerField(default=OFF)
    quiet_from = models.TimeField(null=True)
    quiet_to = models.TimeField(null=True)
    time_zone = models.CharField(max_length=60, blank=True)  # empty: the site's time zone
    # Whether a question that escalates waits for the end of the quiet hours as well.
    escalations_wait = models.BooleanField(default=False)
    # The language of the page on which this was saved: there is no request when a notice is sent.
    language = models.CharField(max_length=20, blank=True)

    class Meta:
        verbose_name = _("notification preferences")
        verbose_name_plural = _("notification preferences")

    def __str__(self) -> str:
        return f"{self.user_id}: push {self.push}, mail {self.mail}"


class NoticeRule(models.Model):
    """A person's exception for one room; null: as in their preferences."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    room = models.ForeignKey(Room, models.CASCADE, related_name="notice_rules")
    push = models.SmallIntegerField(null=True)
    mail = models.SmallIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "room"), name="ask_bridge_notice_rule_once"),)

    def __str__(self) -> str:
        return f"{self.user_id} in {self.room_id}: push {self.push}, mail {self.mail}"


class Receiver(models.Model):
    """A device or a webhook, with the outcome of its last deliveries.

    `notifications/outbox.py` uses it so that a slow or failing receiver does not delay the others.
    """

    failures = models.PositiveIntegerField(_("failures"), default=0)  # since the last success
    # After several failures nothing but tests is sent before this.
    paused_until = MomentField(_("paused until"), null=True, editable=False)
    is_slow = models.BooleanField(default=False, editable=False)

    class Meta:
        abstract = True

    @property
    def is_paused(self) -> bool:
        return self.paused_until is not None and self.paused_until > timezone.now()


class PushSubscription(Receiver):
    """A browser with the address of its push service, and the keys to encrypt messages for it."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("user")
    )
    endpoint = models.CharField(max_length=ENDPOINT_LENGTH, unique=True)
    p256dh = models.CharField(max_length=100)
    auth = models.CharField(max_length=40)
    label = models.CharField(_("device"), max_length=80)
    created_at = MomentField(_("created at"), default=timezone.now)
    last_success_at = MomentField(_("last success"), null=True)

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ("created_at",)

    def __str__(self) -> str:
        return self.label


class Webhook(Receiver):
    """Another program that is notified of a room's questions.

    Its address and its secret (`locked_…`) are encrypted with a key derived from SECRET_KEY: a copy of the
    database is not enough to call it or to sign messages for it.
    """

    class Kind(models.TextChoices):
        JSON = "json", _("Signed JSON")
        SLACK = "slack", _("Slack")
        NTFY = "ntfy", _("ntfy")

    room = models.ForeignKey(Room, models.CASCADE, related_name="webhooks", verbose_name=_("room"))
    kind = models.CharField(_("kind"), max_length=10, choices=Kind, default=Kind.JSON)
    label = models.CharField(_("name"), max_length=80)
    host = models.CharField(
        _("host"), max_length=HOST_LENGTH, editable=False
    )  # the only part of the address that pages show
    locked_address = models.TextField(editable=False)
    locked_secret = models.TextField(editable=False)
    on_asked = models.BooleanField(_("when an agent asks"), default=True)
    on_settled = models.BooleanField(_("when a question is settled"), default=True)
    after_minutes = models.PositiveSmallIntegerField(
        _("after minutes"), default=0, help_text=_("Sent only if the question is still unanswered then.")
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("created by"),
    )

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ("room_id", "created_at")

    def __str__(self) -> str:
        return f"{self.label} ({self.host})"


class NoticeQuerySet(models.QuerySet["Notice"]):
    def waiting(self) -> Self:
        """Not sent, not given up and not cancelled."""
        return self.filter(sent_at=None, failed_at=None, cancelled_at=None)

    def due(self) -> Self:
        """To be sent now and not leased by another worker; the longest overdue first."""
        now = timezone.now()
        free = Q(leased_until=None) | Q(leased_until__lte=now)
        return self.waiting().filter(free, next_attempt_at__lte=now).order_by("next_attempt_at")


class Notice(models.Model):
    """One notification for one receiver; at most one of each kind per question."""

    class Kind(models.TextChoices):
        ASKED = "asked", _("Asked")
        ESCALATED = "escalated", _("Escalated")
        SETTLED = "settled", _("Settled")
        TEST = "test", _("Test")

    class Channel(models.TextChoices):
        PUSH = "push", _("Push")
        MAIL = "mail", _("E-mail")
        WEBHOOK = "webhook", _("Webhook")

    # Sent to the receiver, the same at every attempt.
    id = models.CharField(max_length=32, primary_key=True, default=ids.new_notice_id, editable=False)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    channel = models.CharField(_("channel"), max_length=10, choices=Channel)
    question = models.ForeignKey(
        Question,
        models.CASCADE,
        null=True,
        related_name="notices",
        verbose_name=_("question"),
        db_index=False,
    )
    # The receiver as a text, such as "push:12": it remains when the receiver is deleted.
    target = models.CharField(_("target"), max_length=TARGET_LENGTH)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        related_name="+",
        verbose_name=_("user"),
        db_index=False,
    )
    subscription = models.ForeignKey(
        PushSubscription, models.SET_NULL, null=True, related_name="+", verbose_name=_("device")
    )
    webhook = models.ForeignKey(
        Webhook, models.SET_NULL, null=True, related_name="notices", verbose_name=_("webhook")
    )
    created_at = MomentField(_("created at"), default=timezone.now)
    due_at = MomentField(_("due at"))
    # Attempts that began, and those that failed. An attempt whose process died counts as begun only, and may
    # have arrived.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = MomentField(_("next attempt"))
    leased_until = MomentField(null=True)
    sent_at = MomentField(_("sent at"), null=True)
    cancelled_at = MomentField(_("not needed since"), null=True)
    failed_at = MomentField(_("given up at"), null=True)
    # The error of the last failed attempt, or why the notice was cancelled.
    last_error = models.CharField(_("last error"), max_length=ERROR_LENGTH, blank=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        ordering = ("-created_at",)
        constraints = (
            models.UniqueConstraint(fields=("question", "target", "kind"), name="ask_bridge_notice_once"),
        )
        indexes = (
            models.Index(
                fields=("next_attempt_at",),
                condition=Q(sent_at=None, failed_at=None, cancelled_at=None),
                name="ask_bridge_n_due",
            ),
            models.Index(fields=("user", "created_at"), name="ask_bridge_n_rate"),
            models.Index(fields=("created_at",), name="ask_bridge_n_created"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"

    @property
    def is_waiting(self) -> bool:
        return not (self.sent_at or self.failed_at or self.cancelled_at)

    @property
    def may_have_arrived(self) -> bool:
        return self.sent_at is not None or self.attempts > self.failures
