"""`createroom` and `createkey`."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from rooms import access, lifecycle
from rooms.models import AgentKey, Room


def run(*arguments: str) -> str:
    printed = StringIO()
    call_command(*arguments, stdout=printed)
    return printed.getvalue()


# ---- createroom ----------------------------------------------------------------------------------


def test_room_is_for_members_only_unless_told_otherwise(db: None) -> None:
    assert run("createroom", "ops") == "Created room ops, for members only.\n"
    room = Room.objects.get()
    assert (room.slug, room.name, room.is_open) == ("ops", "ops", False)


def test_room_has_a_name_and_may_be_open(db: None) -> None:
    assert run("createroom", "ops", "--name", "Operations", "--open") == (
        "Created room ops, open to everyone.\n"
    )
    room = Room.objects.get()
    assert (room.name, room.is_open) == ("Operations", True)


@pytest.mark.parametrize("arguments", [["--member", "ana", "ben"], ["--member", "ana", "--member", "ben"]])
def test_room_is_made_with_its_members(ana: Any, ben: Any, arguments: list[str]) -> None:
    printed = run("createroom", "ops", *arguments)
    assert "ana is now a member.\nben is now a member.\n" in printed
    assert set(Room.objects.get().memberships.values_list("user__username", flat=True)) == {"ana", "ben"}


def test_second_run_says_so_and_adds_who_is_missing(ana: Any, ben: Any) -> None:
    run("createroom", "ops", "--member", "ana")
    assert run("createroom", "ops", "--member", "ana", "ben") == (
        "Room ops exists already and stays for members only.\n"
        "ana is already a member.\n"
        "ben is now a member.\n"
    )
    assert Room.objects.get().memberships.count() == 2


def test_existing_room_is_not_opened(db: None) -> None:
    run("createroom", "ops")
    printed = run("createroom", "ops", "--open")
    assert "stays for members only" in printed
    assert "in its settings" in printed
    assert not Room.objects.get().is_open


def test_existing_open_room_stays_open_and_keeps_its_name(ana: Any) -> None:
    run("createroom", "ops", "--name", "Operations", "--open")
    printed = run("createroom", "ops", "--name", "Other", "--member", "ana")
    assert "stays open to everyone" in printed
    assert "Its name stays “Operations”." in printed
    assert Room.objects.get().is_open


@pytest.mark.parametrize("slug", ["", "a b", "ops/lab", "öps", "x" * 61, "a.b", "a\n"])
def test_bad_slug_is_refused_in_one_sentence(db: None, slug: str) -> None:
    with pytest.raises(CommandError, match=r"cannot be the slug of a room: it takes 1 to 60 letters"):
        run("createroom", slug)
    assert not Room.objects.exists()


def test_too_long_name_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="80 characters at most, not 81"):
        run("createroom", "ops", "--name", "x" * 81)
    assert not Room.objects.exists()


def test_longest_slug_is_a_name_as_well(db: None) -> None:
    run("createroom", "x" * 60)
    assert Room.objects.get().name == "x" * 60


def test_unknown_user_is_refused_before_anything_is_made(ana: Any) -> None:
    with pytest.raises(CommandError, match="There is no user called “eve”"):
        run("createroom", "ops", "--member", "ana", "eve")
    assert not Room.objects.exists()


def test_archived_room_is_refused(room: Room) -> None:
    lifecycle.archive_room(room)
    with pytest.raises(CommandError, match="Room ops is archived"):
        run("createroom", "ops")


def test_open_and_members_exclude_each_other(db: None) -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        run("createroom", "ops", "--open", "--member", "ana")


# ---- createkey -----------------------------------------------------------------------------------


def test_key_is_printed_alone_and_works(room: Room) -> None:
    printed = run("createkey", "ops", "--label", "deploy-bot")
    assert re.fullmatch(r"abk_[0-9a-z]{10}_[0-9a-z]{40}\n", printed)
    key = access.key_from_header(f"Bearer {printed.strip()}")
    assert (key.label, key.room, key.created_by) == ("deploy-bot", room, None)


def test_every_run_makes_a_new_key(room: Room) -> None:
    assert run("createkey", "ops", "--label", "bot") != run("createkey", "ops", "--label", "bot")
    assert AgentKey.objects.count() == 2


def test_key_of_an_unknown_room_is_refused_with_the_way_to_make_it(db: None) -> None:
    with pytest.raises(CommandError, match="There is no room “ops”; make it with: createroom ops"):
        run("createkey", "ops", "--label", "bot")


def test_key_of_an_archived_room_is_refused(room: Room) -> None:
    lifecycle.archive_room(room)
    with pytest.raises(CommandError, match="Room ops is archived"):
        run("createkey", "ops", "--label", "bot")


@pytest.mark.parametrize("label", ["", "  ", "x" * 81])
def test_label_that_does_not_fit_is_refused(room: Room, label: str) -> None:
    with pytest.raises(CommandError, match="label takes 1 to 80 characters"):
        run("createkey", "ops", "--label", label)
    assert not AgentKey.objects.exists()


def test_label_is_required(room: Room) -> None:
    with pytest.raises(CommandError, match="--label"):
        run("createkey", "ops")


@pytest.mark.parametrize("command", ["createroom", "createkey"])
def test_help_ends_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command(command, "--help")
    last_line = capsys.readouterr().out.strip().splitlines()[-1]
    assert last_line.startswith(f"Example: python manage.py {command} ops")
