"""Times without a zone, in a zone whose clocks change."""

from tests.portal.hosts.base import *  # noqa: F403

USE_TZ = False
TIME_ZONE = "America/New_York"
