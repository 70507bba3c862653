"""The export of a person's data has what the standalone site itself stores."""

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command

from bridge.models import Authenticator, CompanyAccount


def test_the_ways_to_sign_in_are_exported_without_secrets(db: None, capsys: Any) -> None:
    ana = get_user_model().objects.create_user("ana")
    CompanyAccount.objects.create(user=ana, issuer="https://login.example.org", subject="4711")
    Authenticator.objects.create(user=ana, name="app", secret="do not tell")
    call_command("export_person", "ana")
    told = capsys.readouterr().out
    data = json.loads(told)
    assert data["company_accounts"] == [{"issuer": "https://login.example.org", "subject": "4711"}]
    assert len(data["second_factor_since"]) == 1
    assert data["devices_signed_in"] == []
    assert "do not tell" not in told
