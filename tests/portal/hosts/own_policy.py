"""A Content Security Policy of the portal's own, without a word about us."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = ["csp.middleware.CSPMiddleware", *MIDDLEWARE]
SELF = ["'self'"]
NAMED = ("script-src", "style-src", "img-src", "connect-src", "form-action", "manifest-src")
CONTENT_SECURITY_POLICY = {"DIRECTIVES": {"default-src": ["'none'"], **dict.fromkeys(NAMED, SELF)}}
