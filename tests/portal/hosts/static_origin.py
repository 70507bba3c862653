"""Static files are on another origin, as with a CDN."""

import os

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA

STATIC_URL = os.environ["HOST_STATIC_URL"]
STATIC_ROOT = DATA / "static"
