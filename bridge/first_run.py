"""The first start on an empty database: somebody to sign in, a room and a key, shown once."""

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
# The longest wait that the API grants: room to find the page, sign in and click.
EXAMPLE_WAIT_SECONDS = 55


@dataclass(frozen=True)
class Welcome:
    """What nobody can look up later: the database keeps only hashes of both."""

    password: str
    agent_key: str

    def text(self, address: str) -> str:
        """The lines to print, with a first question ready to paste."""
        return WELCOME.format(
            address=address,
            password=self.password,
            agent_key=self.agent_key,
            wait=EXAMPLE_WAIT_SECONDS,
            question=json.dumps(EXAMPLE_QUESTION),
        )


WELCOME = """\
Welcome. This is shown once, so keep it:

  Open       {address}
  User       admin
  Password   {password}
  Room       lobby
  Agent key  {agent_key}

Sign in, open the lobby, and let an agent ask a first question. This command ends when somebody
has clicked an answer, or after {wait} seconds:

curl -s -X POST "{address}/api/v1/rooms/lobby/questions?wait={wait}" \
-H "Authorization: Bearer {agent_key}" -H "Content-Type: application/json" -d '{question}'
"""


@transaction.atomic
def welcome() -> Welcome | None:
    """Create admin, lobby and key if there is neither user nor room yet."""
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
    return Welcome(password=password, agent_key=agent_key)
