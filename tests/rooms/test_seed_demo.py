"""`seed_demo`: generated data that is the same as data of the lifecycle verbs."""

import re
from io import StringIO
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from rooms import access, lifecycle, timeline
from rooms.audit import Action
from rooms.contract.choices import check_choices
from rooms.contract.payload import parse_ask
from rooms.contract.prompts import parse_prompts
from rooms.live import events
from rooms.management import demo, demo_texts
from rooms.models import Answer, AuditEntry, Ending, Message, Question, Room

ENTRIES = 400


def run(*arguments: str) -> str:
    printed = StringIO()
    call_command(*arguments, stdout=printed, stderr=StringIO())
    return printed.getvalue()


def seed(room: str = "ops", entries: int = ENTRIES, *more: str) -> str:
    return run("seed_demo", "--room", room, "--entries", str(entries), *more)


# ---- what is there afterwards ----------------------------------------------------------------------------


@pytest.fixture
def seeded(room: Room) -> Room:
    """Ana's and Ben's room with a past, the same for every run."""
    for _ in demo.fill(room, ENTRIES, open_count=3, days=120, random=Random(1)):
        pass
    room.refresh_from_db()
    return room


def test_room_has_as_many_entries_as_were_asked_for(room: Room) -> None:
    assert seed() == "Added 400 entries to room ops, where 3 questions are open.\n"
    assert Question.objects.count() + Message.objects.count() == ENTRIES


def test_audit_stays_in_order(seeded: Room) -> None:
    assert run("verify_audit").startswith("All is well")
    assert AuditEntry.objects.filter(action=Action.ASKED).count() == Question.objects.count()


def test_every_ending_occurs(seeded: Room) -> None:
    assert set(Question.objects.values_list("status", flat=True)) == set(Question.Status)
    assert set(Answer.objects.values_list("via", flat=True)) == {"web", "terminal", "default"}
    assert Answer.objects.filter(asks_back=True).exists()
    assert set(Message.objects.values_list("kind", flat=True)) == {"message", "log"}


def test_every_revision_belongs_to_one_change_at_most_and_none_is_ahead_of_the_room(seeded: Room) -> None:
    taken = [
        *Question.objects.values_list("position", flat=True),
        *Question.objects.exclude(settled_position=None).values_list("settled_position", flat=True),
        *Message.objects.values_list("position", flat=True),
    ]
    assert len(taken) == len(set(taken))
    revisions = list(Question.objects.values_list("revision", flat=True))
    assert len(revisions) == len(set(revisions))
    assert max(*taken, *revisions) == seeded.revision


def test_questions_are_as_the_verbs_leave_them(seeded: Room) -> None:
    for question in Question.objects.with_answer():
        answer = question.answer_or_none
        assert question.position < question.revision
        assert question.is_open == (question.settled_position is None)
        assert not (question.is_open and question.agent_active)
        if question.settled_at and question.settled_position:
            assert question.asked_at < question.settled_at
            assert question.position < question.settled_position <= question.revision
            assert (question.delivered_at is None) or question.delivered_at >= question.settled_at
        if question.status == Question.Status.EXPIRED:
            assert question.expires_at
            assert question.settled_at
            assert question.asked_at < question.expires_at <= question.settled_at
            assert (answer is not None) == (question.default_choices is not None)
        has_ended = not question.is_open and answer is None
        assert Ending.objects.filter(question=question).exists() == has_ended
        if answer:
            assert (answer.position, answer.answered_at) == (question.settled_position, question.settled_at)
            if question.status == Question.Status.ANSWERED:
                check_choices(parse_prompts(question.prompts), answer.choices)


def test_time_runs_with_the_positions_and_ids_sort_by_it(seeded: Room) -> None:
    entries = timeline.entries_after(seeded, 0, 10_000)
    time_fields = {
        Question: "asked_at",
        Answer: "answered_at",
        Ending: "ended_at",
        Message: "created_at",
    }
    times = [getattr(entry, time_fields[type(entry)]) for entry in entries]
    assert times == sorted(times)
    assert (times[-1] - times[0]).days > 100
    assert times[-1] <= seeded.changed_at <= timezone.now()
    for model in (Question, Answer, Ending, Message):
        made = [entry.pk for entry in entries if isinstance(entry, model)]
        assert made == sorted(made)


def test_members_answer_and_so_did_people_who_left(seeded: Room, ana: Any) -> None:
    assert Answer.objects.filter(user=ana, person_name="Ana Costa").exists()
    left = set(Answer.objects.filter(user=None, via="web").values_list("username", flat=True))
    assert left == {username for username, _ in demo_texts.FORMER_PEOPLE}


def test_agent_that_asks_again_gets_its_question_back(seeded: Room) -> None:
    asked = Question.objects.filter(default_choices__isnull=False)[0]
    body = {
        "questions": asked.prompts,
        "session_id": asked.session_id,
        "tool_use_id": asked.tool_use_id,
        "default": {choice["question"]: choice["selectedOptions"] for choice in asked.default_choices or ()},
    }
    again, is_new = lifecycle.ask(seeded, asked.key, parse_ask(body))
    assert (again.pk, is_new) == (asked.pk, False)


# ---- what people see -------------------------------------------------------------------------------------


def test_room_page_and_inbox_show_what_is_open(client: Client, seeded: Room, ana: Any) -> None:
    client.force_login(ana)
    assert client.get("/rooms/ops").content.decode().count('data-status="open"') == 3
    assert client.get("/?unattended=1").content.decode().count('<li class="ab-row"') == 3


def test_older_pages_lead_back_to_the_beginning(seeded: Room) -> None:
    shown, before = [], None
    while True:
        page, before = timeline.page_before(seeded, before, seeded.revision, 30)
        shown += page
        if before is None:
            break
    assert len(shown) == ENTRIES - 3
    assert [entry.position for entry in shown] == sorted((entry.position for entry in shown), reverse=True)


def test_replay_brings_a_page_of_any_revision_up_to_date(seeded: Room) -> None:
    for since in range(seeded.revision - 60, seeded.revision):
        revision, sent = events.frames_after(seeded.pk, since)
        assert revision == seeded.revision
        told = {frame.event.removeprefix("card-").removeprefix("marks-") for frame in sent}
        changed = Question.objects.filter(revision__gt=since)
        assert {question.pk for question in changed} <= told
        assert sum(frame.event == "entry" for frame in sent) == (
            Message.objects.filter(position__gt=since).count()
            + changed.filter(position__gt=since).exclude(status="open").count()
        )


def test_life_goes_on_after_it(seeded: Room, ana: Any) -> None:
    settled = lifecycle.decline(Question.objects.open().select_related("room")[0], ana)
    assert settled.revision == seeded.revision + 1
    lifecycle.sweep()
    assert Question.objects.open().count() == 2
    assert run("verify_audit").startswith("All is well")


# ---- how it is called ------------------------------------------------------------------------------------


def test_second_run_adds_to_the_first(seeded: Room) -> None:
    assert seed("ops", 50, "--open", "2") == "Added 50 entries to room ops, where 5 questions are open.\n"
    assert Question.objects.count() + Message.objects.count() == ENTRIES + 50
    assert seeded.keys.count() == len(demo_texts.AGENTS)
    test_time_runs_with_the_positions_and_ids_sort_by_it(Room.objects.get())
    assert run("verify_audit").startswith("All is well")


def test_room_is_made_where_there_is_none(db: None) -> None:
    assert seed("demo", 10).startswith("Created room demo, open to everyone.\nAdded 10 entries")


def test_more_than_one_commit_is_one_story(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "ENTRIES_PER_COMMIT", 40)
    seed("ops", 100, "--open", "50")
    room.refresh_from_db()
    assert Question.objects.open().count() == 50
    newest = Question.objects.order_by("-position")[:50]
    assert all(question.is_open for question in newest)
    assert run("verify_audit").startswith("All is well")


@pytest.mark.parametrize("entries", ["1", "3", "9"])
def test_few_entries_may_all_be_open(room: Room, entries: str) -> None:
    seed("ops", int(entries), "--open", entries)
    assert Question.objects.open().count() == int(entries)


def test_as_long_ago_as_was_asked_for(room: Room) -> None:
    seed("ops", 200, "--days", "2")
    age = timezone.now() - Question.objects.order_by("position")[0].asked_at
    assert 1 <= age.total_seconds() / 86_400 < 2.1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--entries", "0"], "adds 1 to 5,000,000 entries"),
        (["--entries", "-5"], "adds 1 to 5,000,000 entries"),
        (["--entries", "5000001"], "adds 1 to 5,000,000 entries"),
        (["--entries", "10", "--open", "11"], "Of 10 entries 0 to 10 can stay open"),
        (["--entries", "10", "--open", "-1"], "Of 10 entries 0 to 10 can stay open"),
        (["--entries", "10", "--days", "0"], "1 to 3650 days"),
        (["--entries", "many"], "invalid int value"),
        ([], "--entries"),
    ],
)
def test_nonsense_is_refused_before_anything_is_made(db: None, arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=re.escape(sentence)):
        run("seed_demo", "--room", "demo", *arguments)
    assert not Room.objects.exists()


def test_bad_slug_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="cannot be the slug of a room"):
        seed("a b")


def test_archived_room_is_refused(room: Room) -> None:
    lifecycle.archive_room(room)
    with pytest.raises(CommandError, match="Room ops is archived"):
        seed()


def test_keys_that_were_revoked_are_not_used_again(seeded: Room) -> None:
    access.revoke_keys(seeded.keys.all())
    seed("ops", 50)
    assert seeded.keys.usable().count() == len(demo_texts.AGENTS)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_and_a_log_file_does_not(room: Room) -> None:
    watched, logged = Terminal(), StringIO()
    for stream in (watched, logged):
        call_command("seed_demo", "--room", "ops", "--entries", "20", stdout=StringIO(), stderr=stream)
    assert "[##############################] 100%" in watched.getvalue()
    assert logged.getvalue() == ""


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("seed_demo", "--help")
    assert capsys.readouterr().out.strip().endswith("seed_demo --room demo --entries 1000")
