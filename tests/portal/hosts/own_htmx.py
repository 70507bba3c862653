"""htmx in a version of its own, on every page and before or after ours; its links are boosted."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA, INSTALLED_APPS, TEMPLATES, Path

INSTALLED_APPS = ["daphne", *INSTALLED_APPS]
ROOT_URLCONF = "tests.portal.hosts.own_htmx_urls"
STATICFILES_DIRS = [DATA / "npm"]
TEMPLATES = [{**TEMPLATES[0], "DIRS": [Path(__file__).parent / "own_htmx_templates", *TEMPLATES[0]["DIRS"]]}]
