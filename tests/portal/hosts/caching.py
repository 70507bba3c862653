"""Django's cache for whole responses, compression, and "not modified" replies."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import MIDDLEWARE

MIDDLEWARE = [
    "django.middleware.cache.UpdateCacheMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    *MIDDLEWARE,
    "django.middleware.cache.FetchFromCacheMiddleware",
]
