"""Every request is one transaction."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATABASES

DATABASES["default"]["ATOMIC_REQUESTS"] = True
