"""The field of our models for times: aware in Python, with any `USE_TZ` of the portal."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone as django_timezone

from rooms.db import timezone


class MomentField(models.DateTimeField):
    """A DateTimeField, also to migrations; see `rooms/db/timezone.py` for what it stores."""

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        if kwargs.get("default") is timezone.now:
            kwargs["default"] = django_timezone.now
        return name, "django.db.models.DateTimeField", args, kwargs

    def to_python(self, value: Any) -> Any:
        """A naive time, such as a form of that portal has, is in its zone."""
        found = super().to_python(value)
        if settings.USE_TZ or not isinstance(found, datetime) or django_timezone.is_aware(found):
            return found
        return timezone.make_aware(found, timezone.get_default_timezone())

    def get_db_converters(self, connection: Any) -> list[Any]:
        """None with `USE_TZ`, where each would take time for each row."""
        return [] if settings.USE_TZ else [self._from_database]

    def _from_database(self, value: datetime | None, expression: Any, connection: Any) -> datetime | None:
        return timezone.from_database(value, connection)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        value = value if prepared else self.get_prep_value(value)
        if isinstance(value, datetime):
            value = timezone.to_database(value, connection)
        return connection.ops.adapt_datetimefield_value(value)
