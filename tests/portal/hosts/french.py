"""A language that we do not speak, and a time zone far away."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = [*MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]
LANGUAGE_CODE = "fr"
TIME_ZONE = "Pacific/Auckland"
