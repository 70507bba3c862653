"""First start on an empty database: creates an admin, a room and an agent key, and shows them once."""

import json
import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import transaction

PASSWORD_BYTES = 12  # 96 random bits in 16 characters that can still be typed
EXAMPLE_QUESTION = {
    "agent": {"name": "first-agent"},
    "question": "Which database should we use?",
    "header": "Database",
    "options": [
        {"label": "PostgreSQL (Recommended)", "description": "Several servers, many writers"},
        {"label": "SQLite", "description": "One file, nothing to install"},
    ],
}
# The longest wait that the API allows: time to open the page, sign in and click.
EXAMPLE_WAIT_SECONDS = 55


@dataclass(frozen=True)
class FirstCredentials:
    """Password and agent key in plain text: the database keeps only their hashes."""

    password: str
    agent_key: str

    def text(self, address: str) -> str:
        """The text to print, with a command that asks a first question."""
        return WELCOME.format(
            address=address,
            password=self.password,
            agent_key=self.agent_key,
            wait=EXAMPLE_WAIT_SECONDS,
            question=json.dumps(EXAMPLE_QUESTION),
        )


WELCOME = """\
Welcome to Ask Bridge. Save this, it is shown only once:

  Open       {address}
  User       admin
  Password   {password}
  Room       lobby
  Agent key  {agent_key}

Sign in and open the lobby. Then run this command in another terminal. It asks a question as an agent
does, and ends when you have clicked an answer, or after {wait} seconds:

curl -s -X POST "{address}/api/v1/rooms/lobby/questions?wait={wait}" \
-H "Authorization: Bearer {agent_key}" -H "Content-Type: application/json" -d '{question}'
"""


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
    User.objects.create_superuser(username="admin", password=password)
    room = create_room("lobby", name="Lobby", is_open=True)
    _, agent_key = create_key(room, label="first agent")
    return FirstCredentials(password=password, agent_key=agent_key)
