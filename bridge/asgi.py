"""ASGI application of the site: long-polls and streams first, then Django."""

import gc
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bridge.settings")

# Django has to be set up before `rooms` can be imported.
django.setup(set_prefix=False)

from bridge.handler import PooledHandler  # noqa: E402
from bridge.logs import with_request_id  # noqa: E402
from rooms.live import with_live  # noqa: E402

application = with_live(with_request_id(PooledHandler()))

# All objects loaded so far are kept until the process ends, and reference counting frees those of a request.
# Without this the garbage collector would repeatedly scan thousands of open connections and free nothing.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)

# How long the event loop waits for the GIL while another thread computes. With the default of 5 ms a whole
# page would be rendered before the agent gets its answer.
sys.setswitchinterval(0.002)
