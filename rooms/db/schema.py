"""Version of the schema: whether a newer version of the app has migrated the database of this process."""

import logging
import math
import pkgutil
import time
from functools import cache
from importlib import import_module

from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Max

from rooms.db.transactions import alias

logger = logging.getLogger(__name__)

APP = "ask_bridge"
# A newer process migrates before it starts to serve: the old ones notice it within this time.
LOOK_SECONDS = 10


class Schema:
    """Looks into the table of migrations, at most once in LOOK_SECONDS."""

    def __init__(self) -> None:
        # The last migration in the database that this process does not know; empty if it knows all.
        self.unknown = ""
        self._looked_at = -math.inf

    def is_newer(self) -> bool:
        """Whether the database is newer than this process; looks again if the last look is old."""
        if time.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._look()
        return bool(self.unknown)

    def was_newer(self) -> bool:
        """The same as of the last look: without a statement, for requests of people and agents."""
        return bool(self.unknown)

    def forget(self) -> None:
        """Look again at the next call."""
        self.unknown, self._looked_at = "", -math.inf
        _last_known.cache_clear()

    def _look(self) -> None:
        known, last = _last_known(), ""
        if known:
            applied = MigrationRecorder.Migration.objects.using(alias()).filter(app=APP)
            # By its number: a later version may have replaced several older migrations by one.
            last = applied.aggregate(last=Max("name"))["last"] or ""
        unknown = last if last > known else ""
        if unknown and not self.unknown:
            logger.error(
                "A newer version of Ask Bridge has migrated the database (%s; this process knows %s). This "
                "process leaves deadlines, defaults and undo windows to the processes of that version: "
                "restart it with the new version.",
                unknown,
                known,
            )
        self.unknown, self._looked_at = unknown, time.monotonic()


@cache
def _last_known() -> str:
    """Empty where migrations are switched off, as in tests of portals: there may be no table of them."""
    package, _ = MigrationLoader.migrations_module(APP)
    if package is None:
        return ""
    return max(name for _, name, _ in pkgutil.iter_modules(import_module(package).__path__))


schema = Schema()
