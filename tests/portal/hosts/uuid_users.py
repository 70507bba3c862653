"""A user model of its own: e-mail addresses for names, UUIDs for keys."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.portal.hosts.people"]
AUTH_USER_MODEL = "people.Colleague"
