"""Two databases: users and Ask Bridge are not in the default one."""

from typing import Any

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA, DATABASES

DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "stock.sqlite3"},
    "people": DATABASES["default"],
}


class PeopleRouter:
    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "people"

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == "people"


DATABASE_ROUTERS = ["tests.portal.hosts.several_databases.PeopleRouter"]
