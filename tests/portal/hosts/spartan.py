"""No admin, messages or asgi.py, a base template with one block in its body, and a pattern for every URL."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import INSTALLED_APPS, MIDDLEWARE, TEMPLATES, Path

MISSING = ("django.contrib.admin", "django.contrib.messages")
INSTALLED_APPS = ["daphne", *(app for app in INSTALLED_APPS if app not in MISSING)]
MIDDLEWARE = [path for path in MIDDLEWARE if "messages" not in path]
ASGI_APPLICATION = "rooms.asgi.application"
ROOT_URLCONF = "tests.portal.hosts.spartan_urls"
TEMPLATES = [
    {
        **TEMPLATES[0],
        "DIRS": [Path(__file__).parent / "spartan_templates", *TEMPLATES[0]["DIRS"]],
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]
