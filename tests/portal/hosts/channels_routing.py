"""Channels with WebSockets and channel layers of its own."""

from tests.portal.hosts.base import *  # noqa: F403

ASGI_APPLICATION = "tests.portal.hosts.routing.application"
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer"},
    "chat": {"BACKEND": "channels.layers.InMemoryChannelLayer"},
}
