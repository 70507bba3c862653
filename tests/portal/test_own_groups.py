"""A portal whose groups are of a model of its own, made by a later migration, as in NetBox."""

from pathlib import Path

from tests.portal.portals import host_environment, prepare, run

MAKE_TEAM = """
from tests.portal.hosts.teams.models import Member, Team
team = Team.objects.create(name="Platform")
Member.objects.filter(username="ana@x.org").update(name="Ana Costa")
team.member_set.add(Member.objects.get(username="ana@x.org"))
"""
TELL = """
from rooms import access
from rooms.models import Room
from rooms.people import presence
from tests.portal.hosts.teams.models import Member
room = Room.objects.get(slug="plan")
for user in Member.objects.order_by("username"):
    presence.renew([user.pk])
    print(access.may_see(user, room), room in access.visible_rooms(user), access.visible_rooms(user).count())
print([person.name for person in presence.people_in([room])[room.pk]])
print([person.name for person in presence.people_in([Room.objects.get(slug="lobby")])[1]])
"""


def test_people_of_the_group_see_its_room(tmp_path: Path) -> None:
    prepare("own_groups", tmp_path)  # with `check`, `migrate` and `makemigrations --check`
    environment = host_environment("own_groups", tmp_path)
    run(environment, "django", "shell", "-v0", "-c", MAKE_TEAM)
    run(environment, "django", "createroom", "plan", "--group", "Platform")
    assert run(environment, "django", "shell", "-v0", "-c", TELL).splitlines() == [
        "True True 2",
        "False False 1",
        "['Ana Costa']",
        "['Ana Costa', 'ben']",
    ]


def test_their_app_needs_no_migrations(tmp_path: Path) -> None:
    prepare("own_groups_without_migrations", tmp_path)
