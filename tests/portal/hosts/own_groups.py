"""A group model of its own, and users with one name, which Django's model calls "None None"."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.portal.hosts.teams"]
AUTH_USER_MODEL = "teams.Member"
ASK_BRIDGE = {"GROUP_MODEL": "teams.Team"}
