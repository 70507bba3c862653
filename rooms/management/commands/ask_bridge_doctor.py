"""`python manage.py ask_bridge_doctor`: what works in this portal, and what is missing."""

import argparse
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from rooms.management import doctor, doctor_requests


class Command(BaseCommand):
    """A line for each part; exit code 1 if one of them fails."""

    help = (
        "Look at everything that Ask Bridge needs in this portal: settings, addresses, ASGI application, "
        "middleware, database, channel layer, static files, login, e-mail and web push; with --url also at "
        "the running portal. Each line begins with ✓ (works), – (a note), ! (works worse than it could) or "
        "✗ (fails). The exit code is 1 if something fails."
    )
    # It is for portals whose checks fail.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = (
            "Example: python manage.py ask_bridge_doctor --url https://portal.example.org/ask/ --user ana"
        )
        parser.add_argument(
            "--url", default="", help="address of the inbox of the running portal: makes real requests there"
        )
        parser.add_argument(
            "--user",
            default="",
            metavar="NAME",
            help="who opens a page with --url, in a session that is then deleted; by default a superuser",
        )

    def handle(self, *, url: str, user: str, **options: Any) -> None:
        failures = 0
        for finding in doctor.findings():
            failures += self._say(finding)
        if url:
            for finding in doctor_requests.findings(url, user):
                failures += self._say(finding)
        else:
            self._say(doctor.note("The running portal is not tried: give its address with --url."))
        if failures:
            raise CommandError(f"{failures} of these fail{'s' if failures == 1 else ''}.")

    def _say(self, finding: doctor.Finding) -> bool:
        self.stdout.write(f"{finding.mark} {finding.text}")
        return finding.mark is doctor.Mark.FAILED
