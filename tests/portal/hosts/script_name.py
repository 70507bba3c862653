"""The whole portal is below a path of a host that it shares with others."""

from tests.portal.hosts.base import *  # noqa: F403

FORCE_SCRIPT_NAME = "/intranet"
LOGIN_URL = "/intranet/entrance/"
