"""A script that replaces every <select> by a widget of its own."""

from tests.portal.hosts.base import *  # noqa: F403
from tests.portal.hosts.base import DATA, INSTALLED_APPS, TEMPLATES, Path

INSTALLED_APPS = ["daphne", *INSTALLED_APPS]
STATICFILES_DIRS = [DATA / "npm"]
FOLDERS = [Path(__file__).parent / name for name in ("own_selects_templates", "own_htmx_templates")]
TEMPLATES = [{**TEMPLATES[0], "DIRS": [*FOLDERS, *TEMPLATES[0]["DIRS"]]}]
