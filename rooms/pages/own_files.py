"""Static files that browsers load only from the origin of the page: served here if STATIC_URL is elsewhere.

The script of a SharedWorker is such a file, and so are the icons that `<use>` in an SVG names.
"""

import hashlib
from functools import cache
from pathlib import Path

from django.apps import apps
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

CONTENT_TYPES = {"js/stream.js": "text/javascript; charset=utf-8", "icons.svg": "image/svg+xml"}
# A year: the address has a digest of the content.
MAX_AGE_SECONDS = 365 * 24 * 3600


def address_of(path: str) -> str:
    """The usual address of the file if that has no origin of its own; else one of the app."""
    usual = static(f"ask_bridge/{path}")
    if not usual.startswith(("http://", "https://", "//")):
        return usual
    digest = hashlib.sha256(_content_of(path)).hexdigest()[:12]
    return f"{reverse('ask_bridge:own-file', args=[path])}?v={digest}"


# The same for all people, as static files are.
@login_not_required
@require_safe
@cache_control(public=True, max_age=MAX_AGE_SECONDS, immutable=True)
def own_file(request: HttpRequest, path: str) -> HttpResponse:
    if path not in CONTENT_TYPES:
        raise Http404("There is no such file.")
    return HttpResponse(_content_of(path), content_type=CONTENT_TYPES[path])


@cache
def _content_of(path: str) -> bytes:
    app = Path(apps.get_app_config("ask_bridge").path)
    return app.joinpath("static", "ask_bridge", *path.split("/")).read_bytes()
