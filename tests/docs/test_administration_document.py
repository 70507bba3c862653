"""docs/administration.md says what the code does, and its commands work."""

import re
import shlex

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from rooms.models import AgentKey, Room
from tests.harness.sites import ROOT

DOCUMENT = (ROOT / "docs" / "administration.md").read_text()
COMMANDS = re.findall(r"^\.venv/bin/python manage\.py (.+)$", DOCUMENT, re.MULTILINE)


def test_every_command_does_what_it_says(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ana", "ben"):
        get_user_model().objects.create_user(name)
    for command in COMMANDS:
        call_command(*shlex.split(command))
    assert set(Room.objects.values_list("slug", "is_open")) == {
        ("ops", False),
        ("lobby", True),
        ("demo", True),
    }
    keys = AgentKey.objects.filter(room__slug="ops").order_by("pk")
    assert [(key.label, bool(key.expires_at), key.scopes) for key in keys] == [
        ("deploy-bot", False, ["ask", "terminal"]),
        ("night-job", True, ["ask"]),
        ("Chat bot", False, ["answer"]),
    ]
    assert capsys.readouterr().out.splitlines()[-1].startswith("All is well")
