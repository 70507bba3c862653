"""The site as an ASGI application: waits and streams in front, Django behind them."""

import gc
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bridge.settings")

# Django has to be set up before anything of `rooms` can be imported.
django.setup(set_prefix=False)

from bridge.handler import PooledHandler  # noqa: E402
from bridge.logs import with_request_id  # noqa: E402
from rooms.live import with_live  # noqa: E402

application = with_live(with_request_id(PooledHandler()))

# What is loaded by now stays for good, and every request makes many small objects that are freed by their
# counts: without this the collector looks through thousands of sleepers again and again, for nothing.
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)

# A thread that computes lets the loop wait this long for its turn. In the default of 5 ms a page would be
# rendered to its end before the agent hears of the answer.
sys.setswitchinterval(0.002)
