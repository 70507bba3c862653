"""`python manage.py createroom`: create a room and add its members."""

import argparse
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser

from rooms import access, lifecycle, membership
from rooms.models import RESERVED_SLUGS, Membership, Room


class Command(BaseCommand):
    """Can be run again: existing data stays, missing members are added."""

    help = "Create a room where people answer the questions of agents."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = 'Example: python manage.py createroom ops --name "Operations" --member ana ben'
        parser.add_argument("slug", metavar="SLUG", help="the room's part of every address")
        parser.add_argument("--name", default="", help="what people call it; the slug by default")
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--open", action="store_true", help="every signed-in user may see and answer")
        who.add_argument(
            "--member",
            metavar="USER",
            nargs="+",
            action="extend",
            default=[],
            help="user names of the people who may see and answer",
        )
        parser.add_argument(
            "--group",
            metavar="GROUP",
            nargs="+",
            action="extend",
            default=[],
            help="names of Django groups whose people may see and answer",
        )

    def handle(
        self, *, slug: str, name: str, open: bool, member: list[str], group: list[str], **options: Any
    ) -> None:
        """Checks all arguments before it changes anything."""
        _check(slug, name)
        groups = [_group(one) for one in group]
        try:
            members = access.named_users(member)
        except LookupError as unknown:
            raise CommandError(f"There is no user called “{unknown}”.") from unknown
        before = Room.objects.filter(slug=slug).first()
        if before and before.archived_at:
            raise CommandError(f"Room {slug} is archived; restore it in its settings first.")
        known = set(Membership.objects.filter(room=before).values_list("user_id", flat=True))
        room = lifecycle.create_room(slug, name=name, is_open=open, members=members)
        if before:
            self.stdout.write(f"Room {slug} exists already and stays {_openness(room)}.")
            if open and not room.is_open:
                self.stdout.write("To open it to everyone, change it in its settings.")
            if name and name != room.name:
                self.stdout.write(f"Its name stays “{room.name}”.")
        else:
            self.stdout.write(f"Created room {slug}, {_openness(room)}.")
        for user in members:
            is_new = user.pk not in known
            self.stdout.write(f"{user} is {'now' if is_new else 'already'} a member.")
        for one in groups:
            is_new = lifecycle.add_group(room, one, Membership.Role.MEMBER)
            self.stdout.write(f"The group {one} is {'now' if is_new else 'already'} a member.")


def _group(name: str) -> Any:
    if membership.belonging() is None:
        raise CommandError("The user model has no groups of GROUP_MODEL.")
    found = membership.group_model()._default_manager.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no group called “{name}”.")
    return found


def _openness(room: Room) -> str:
    return "open to everyone" if room.is_open else "for members only"


def _check(slug: str, name: str) -> None:
    try:
        Room(slug=slug, name=name or slug).clean_fields(exclude=["name"])
    except ValidationError as problem:
        raise CommandError(
            f"“{slug}” cannot be the slug of a room: "
            "it takes 1 to 60 letters, digits, hyphens and underscores."
        ) from problem
    if slug in RESERVED_SLUGS and not Room.objects.filter(slug=slug).exists():
        raise CommandError(f"“{slug}” cannot be the slug of a room: another page has its address.")
    longest = Room._meta.get_field("name").max_length or 0
    if len(name) > longest:
        raise CommandError(f"The name may have {longest} characters at most, not {len(name)}.")
