"""Command `python manage.py link_company_account USER SUBJECT`: for whom no address links."""

import argparse
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, CommandParser

from bridge.company_accounts import link_instead


class Command(BaseCommand):
    """Links a user to an account at the provider, instead of the one that is linked now."""

    help = (
        "Let an account of the single sign-on sign in as this user: an admin, or a person with a new "
        "account there. The account that was linked before no longer does. Make sure first that it "
        "is this person."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py link_company_account ana 8f14e45f-ceea-467f"
        parser.add_argument("user", metavar="USER", help="user name")
        parser.add_argument(
            "subject",
            metavar="SUBJECT",
            help="id of the account at the provider, its claim “sub”; the log has it after a refused sign-in",
        )

    def handle(self, *, user: str, subject: str, **options: Any) -> None:
        model = get_user_model()
        if not settings.OIDC_ISSUER:
            raise CommandError("This site has no single sign-on: set OIDC_ISSUER.")
        found = model._default_manager.filter(**{model.USERNAME_FIELD: user}).first()
        if found is None:
            raise CommandError(f"There is no user “{user}”.")
        link_instead(found, settings.OIDC_ISSUER.rstrip("/"), subject)
        self.stdout.write(f"This account signs in as {user} from now on.")
