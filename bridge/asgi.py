"""ASGI application of the site: long-polls and streams first, then Django."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bridge.settings")

# Django has to be set up before `rooms` can be imported.
django.setup(set_prefix=False)

from bridge.handler import PooledHandler  # noqa: E402
from bridge.logs import with_request_id  # noqa: E402
from rooms.db import interpreter  # noqa: E402
from rooms.live import with_live  # noqa: E402

application = with_live(with_request_id(PooledHandler()))

interpreter.tune()
