"""A channel layer that takes every message and delivers none, and the site's settings with it.

The worst that a broken Redis, a full queue or a lost subscription can do.
"""

from typing import Any

from channels.layers import InMemoryChannelLayer

from bridge.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "tests.faults.dropping_channel_layer.DroppingLayer"}}


class DroppingLayer(InMemoryChannelLayer):
    """Says nothing to anybody."""

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        pass

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        pass
