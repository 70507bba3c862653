"""Tuning of Python's interpreter for a process with many open connections: garbage collector, GIL.

The figures are the median time from a click to the agent with 3,000 waiting agents, one run each on Daphne;
3.6 ms with all of it.
"""

import gc
import sys
import time

# How long a thread waits for the GIL before it asks for it. With Python's 5 ms a whole page is rendered
# before the event loop can send an agent its answer: 4.2 ms.
SWITCH_SECONDS = 0.002
# Objects that are created before the youngest are scanned; with Python's defaults 4.0 ms.
COLLECT_AFTER = (10_000, 20, 50)

# About the time that the event loop needs to answer an agent. No gain on a quiet machine, but on a busy one
# 4.7 ms instead of 7.7.
AGENT_SECONDS = 0.0002
# Enough for a thread that serves a click to take the GIL.
BACKGROUND_SECONDS = 0.002


def tune() -> None:
    """Set up the process, after its modules are loaded."""
    # What is loaded stays until the process ends, and reference counting frees what a request creates. The
    # collector would scan all open connections again and again, and free nothing.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(SWITCH_SECONDS)


def yield_to_agents() -> None:
    """Release the GIL so that the event loop answers an agent before this thread renders its page."""
    time.sleep(AGENT_SECONDS)


def yield_to_clicks() -> None:
    """Release the GIL between two steps of background work."""
    time.sleep(BACKGROUND_SECONDS)
