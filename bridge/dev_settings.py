"""Settings of `make dev`: the standalone site with Django's debug pages.

A module of its own instead of a variable: no environment of a real site can switch debugging on.
"""

from django.core.exceptions import ImproperlyConfigured

from bridge.settings import *  # noqa: F403
from bridge.settings import DATA_DIR, PRODUCTION

if PRODUCTION or DATA_DIR.name != "dev":
    raise ImproperlyConfigured("bridge.dev_settings is for `make dev` alone, which has its data in data/dev.")

DEBUG = True
# Demo data has people with a fixed password, and debug pages show settings: only for this machine.
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

# Served from the source folders: a reload shows an edit.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
WHITENOISE_MAX_AGE = 0
