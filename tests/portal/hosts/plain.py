"""Nothing awkward: what the others are compared with."""

from tests.portal.hosts.base import *  # noqa: F403
