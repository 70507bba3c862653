"""ASGI application of a portal that has none of its own: `ASGI_APPLICATION = "rooms.asgi.application"`."""

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from rooms.live import with_live  # noqa: E402 -- Django has to be set up first

application = with_live(django_application)
