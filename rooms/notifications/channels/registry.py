"""The notification channels of this site. A new channel is a module beside this one, and a line here.

That is all for a channel that belongs to rooms and keeps no rows of its own. Beyond that it needs:
- a label in the admin: a line in `Notice.Channel`, with the migration that Django writes for choices;
- receivers with failures and pauses: a model based on `Receiver`, and a foreign key to it in `Notice`;
- people's own delay (`PersonalChannel`): a column of its name in `NoticePreferences` and `NoticeRule`, and a
  field in the template of the Settings page.
"""

from rooms.models import Notice
from rooms.notifications.channels.channel import Channel, PersonalChannel
from rooms.notifications.channels.email import EmailChannel
from rooms.notifications.channels.push import PushChannel
from rooms.notifications.channels.webhook import WebhookChannel

CHANNELS: dict[str, Channel] = {
    channel.name: channel
    for channel in (
        PushChannel(),
        EmailChannel(),
        WebhookChannel(),
    )
}


def channel_of(notice: Notice) -> Channel:
    return CHANNELS[notice.channel]


def personal_channels() -> list[PersonalChannel]:
    return [channel for channel in CHANNELS.values() if isinstance(channel, PersonalChannel)]
