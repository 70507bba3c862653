"""The site as an ASGI application: waits and streams in front, Django behind them."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bridge.settings")

from django.core.asgi import get_asgi_application

# Django has to be set up before anything of `rooms` can be imported.
django_application = get_asgi_application()

from rooms.live import with_live  # noqa: E402

application = with_live(django_application)
