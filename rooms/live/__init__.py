"""Live updates: long-polls of agents, event streams of pages, and the hub that wakes them."""

from rooms.live.routing import start_live, stop_live, with_live

__all__ = ["start_live", "stop_live", "with_live"]
