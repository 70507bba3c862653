"""Sign-in data of a person, from the tables of the site: added to the export of their data."""

from typing import Any

from bridge.models import Authenticator, CompanyAccount, UserSession


def sign_in_data(user: Any, **signal: Any) -> dict[str, Any]:
    """Receiver of `exporting_person`. Secrets of a second factor are not data about the person."""
    accounts = CompanyAccount.objects.filter(user=user)
    sessions = UserSession.objects.filter(user=user).order_by("since")
    return {
        "company_accounts": list(accounts.values("issuer", "subject")),
        "second_factor_since": [each.added_at for each in Authenticator.objects.filter(user=user)],
        "devices_signed_in": list(sessions.values("user_agent", "since", "seen_at")),
    }
