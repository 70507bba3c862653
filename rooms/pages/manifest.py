"""Web app manifest and service worker: install the pages as an app, receive push notifications."""

from functools import cache
from pathlib import Path

from django.apps import apps
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from rooms.rendering.language import text_language

# The colour --paper of tokens.css, so that the title bar and the splash screen match the pages.
PAPER = "#f6f5f1"
# The same for all users and rarely changed; an hour, so that a new version arrives on the same day.
MAX_AGE_SECONDS = 3600


# Browsers request it without cookies, so it works without a login.
@login_not_required
@require_safe
@cache_control(public=True, max_age=MAX_AGE_SECONDS)
def manifest(request: HttpRequest) -> HttpResponse:
    inbox = reverse("ask_bridge:inbox")
    body = {
        "id": inbox,
        "name": "Ask Bridge",
        "short_name": "Ask Bridge",
        "description": gettext("Answer the questions of your team’s AI agents with one click."),
        "lang": text_language(),
        "start_url": inbox,
        "scope": inbox,
        "display": "standalone",
        "theme_color": PAPER,
        "background_color": PAPER,
        "icons": [
            _icon("icon-192.png", "192x192"),
            _icon("icon-512.png", "512x512"),
            _icon("icon-maskable.png", "512x512", purpose="maskable"),
            _icon("icon.svg", "any"),
        ],
    }
    return JsonResponse(body, content_type="application/manifest+json")


@login_not_required
@require_safe
@cache_control(no_cache=True)
def service_worker(request: HttpRequest) -> HttpResponse:
    """No static file, because a service worker controls only the pages below its own address."""
    headers = {"Service-Worker-Allowed": reverse("ask_bridge:inbox")}
    return HttpResponse(_service_worker(), content_type="text/javascript; charset=utf-8", headers=headers)


@cache
def _service_worker() -> bytes:
    app = Path(apps.get_app_config("ask_bridge").path)
    return (app / "static" / "ask_bridge" / "js" / "service-worker.js").read_bytes()


def _icon(name: str, sizes: str, purpose: str = "any") -> dict[str, str]:
    kind = "image/svg+xml" if name.endswith(".svg") else "image/png"
    return {"src": static(f"ask_bridge/{name}"), "sizes": sizes, "type": kind, "purpose": purpose}
