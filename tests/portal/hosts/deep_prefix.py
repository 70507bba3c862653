"""Far down in the portal, with other names of cookies, and the token where no script can read it."""

from tests.portal.hosts.base import *  # noqa: F403

PREFIX = "teams/tools/ask-bridge/"
SESSION_COOKIE_NAME = "portal_session"
CSRF_COOKIE_HTTPONLY = True
