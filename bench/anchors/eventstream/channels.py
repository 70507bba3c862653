"""Who may listen, where the documentation wants it to be said."""

from typing import Any

from django_eventstream.channelmanager import DefaultChannelManager


class Channels(DefaultChannelManager):
    def can_read_channel(self, user: Any, channel: str) -> bool:
        # A question's channel is guarded by its agent's key, in the view.
        return user is not None or channel.startswith("question-")
