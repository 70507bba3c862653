"""The project as an ASGI application."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bench.anchors.eventstream.settings")

application = get_asgi_application()
