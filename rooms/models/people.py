"""People: preferences for the pages, and presence."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rooms.db.fields import MomentField
from rooms.models.rooms import Room

# First and last name of Django's own user model, with a space between them.
PERSON_NAME_LENGTH = 301


class Preferences(models.Model):
    """How one person wants the pages to behave."""

    class Theme(models.TextChoices):
        SYSTEM = "", _("Like the system")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    always_submit = models.BooleanField(default=False)
    # On a touch screen a tap on an option answers; otherwise it selects, and a button sends.
    one_tap = models.BooleanField(default=False)
    keyboard = models.BooleanField(default=True)
    notify = models.BooleanField(default=False)
    theme = models.CharField(max_length=5, choices=Theme, default=Theme.SYSTEM, blank=True)
    # For how long their own answers are held back and can be undone; 0 sends them at once.
    undo_seconds = models.PositiveSmallIntegerField(default=0)
    muted_rooms = models.ManyToManyField(Room, blank=True, related_name="+")

    class Meta:
        verbose_name = _("preferences")
        verbose_name_plural = _("preferences")

    def __str__(self) -> str:
        return gettext("Preferences of %(user)s") % {"user": self.user}


class Presence(models.Model):
    """A lease: the person has a page open, until this time unless it is renewed."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    until = MomentField(db_index=True)

    def __str__(self) -> str:
        return f"{self.user} until {self.until}"
