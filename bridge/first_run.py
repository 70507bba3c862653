"""First start on an empty database: creates an admin, a room and an agent key, and shows them once."""

import secrets
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse

from bridge.signin_link import LIFETIME_HOURS

PASSWORD_BYTES = 12  # 96 random bits in 16 characters that can still be typed
WELCOME = """
Ask Bridge is ready.

  {open}
  User       admin
  Password   {password}

Then paste this into another terminal. It asks as an agent does, and returns when you click an answer:

KEY={agent_key}
{first_question}
Save the password and the key: they are shown only once. More agents: "Connect an agent" in the lobby.
"""


def first_question(address: str) -> str:
    """A command that asks in the lobby, for a shell with the key in KEY: as in README and in the room."""
    ask_address = f"{address}{reverse('ask_bridge:api-questions', args=['lobby'])}"
    return render_to_string("ask_bridge/connect/curl.txt", {"ask_address": ask_address, "key": "$KEY"})


@dataclass(frozen=True)
class FirstCredentials:
    """Password and agent key in plain text: the database keeps only their hashes."""

    admin: Any
    password: str
    agent_key: str

    def text(self, address: str, link: str | None) -> str:
        """The text to print, with the path of a sign-in link if there is one."""
        once = f"works once, for {LIFETIME_HOURS} hours"
        by_link = f"Sign in    {address}{link} ({once})\n  Or at      {address}"
        return WELCOME.format(
            open=by_link if link else f"Open       {address}",
            password=self.password,
            agent_key=self.agent_key,
            first_question=first_question(address),
        )


@transaction.atomic
def prepare_empty_site() -> FirstCredentials | None:
    """Create an admin, the room "lobby" and its agent key, unless there is a user or a room already."""
    from rooms.access import create_key
    from rooms.lifecycle import create_room
    from rooms.models import Room

    User = get_user_model()
    if User.objects.exists() or Room.objects.exists():
        return None
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    admin = User.objects.create_superuser(username="admin", password=password)
    room = create_room("lobby", name="Lobby", is_open=True)
    _, agent_key = create_key(room, label="first agent")
    return FirstCredentials(admin=admin, password=password, agent_key=agent_key)
