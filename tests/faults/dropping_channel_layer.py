"""Settings with a channel layer that accepts all messages and delivers none.

The worst effect of a broken Redis, a full queue or a lost subscription.
"""

from typing import Any

from channels.layers import InMemoryChannelLayer

from bridge.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "tests.faults.dropping_channel_layer.DroppingLayer"}}


class DroppingLayer(InMemoryChannelLayer):
    """Delivers no message."""

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        pass

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        pass
