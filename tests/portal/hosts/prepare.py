"""Makes a host ready in one go, as its admin would with several commands; prints the key of an agent."""

import sys

import django

django.setup()

from django.conf import settings  # noqa: E402 -- only after the setup
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

from rooms import access, lifecycle  # noqa: E402

call_command("check", fail_level="WARNING", verbosity=0)
for alias in settings.DATABASES:
    call_command("migrate", database=alias, run_syncdb=True, verbosity=0)
call_command("makemigrations", "ask_bridge", check_changes=True, dry_run=True, verbosity=0)
names = ("ana@x.org", "ben@x.org")
users = [get_user_model().objects.create_user(name, password=sys.argv[1]) for name in names]
room = lifecycle.create_room("lobby", members=users)
print(access.create_key(room, label="test")[1])
