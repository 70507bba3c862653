"""What is older than its room keeps is removed; figures stay without names, and the audit verifies."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.contract import ids
from rooms.history import erasing, writer
from rooms.history.index_query import IndexQuery
from rooms.insights.figures import insights_of
from rooms.insights.periods import Period
from rooms.live import background, events
from rooms.models import (
    Answer,
    AuditEntry,
    HistoryEntry,
    Membership,
    Message,
    Notice,
    Question,
    Room,
)
from rooms.privacy import retention
from tests.harness.whole_database import places_of
from tests.rooms.test_audit import findings, unguarded, verify

Asking = Callable[..., Question]
SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
WORD = "xylophonq"


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process erases at most every few hours; each test begins with a new one."""
    monkeypatch.setattr(erasing, "_erased_at", None)


def keep(room: Room, days: int | None) -> None:
    Room.objects.filter(pk=room.pk).update(keep_days=days)


def age(days: int, *rows: Any) -> None:
    """As if these had been asked, settled or written so long ago. The history reads them afterwards."""
    at = timezone.now() - timedelta(days=days)
    for row in rows:
        if isinstance(row, Question):
            Question.objects.filter(pk=row.pk).update(asked_at=at)
            Question.objects.settled().filter(pk=row.pk).update(settled_at=at)
        else:
            type(row).objects.filter(pk=row.pk).update(created_at=at)


def answered(question: Question, user: Any, **choice: Any) -> Question:
    return lifecycle.answer(question, [{**SQLITE, **choice}], via=Answer.Via.WEB, user=user)


def left() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in (Question, Answer, Message)}


# ---- what goes, what stays -------------------------------------------------------------------------------


def test_nothing_is_removed_by_default(question: Question, ana: Any) -> None:
    age(5_000, answered(question, ana))
    writer.catch_up()
    retention.remove_old()
    assert left() == {"Question": 1, "Answer": 1, "Message": 0}


def test_what_is_older_than_the_room_keeps_goes_and_open_questions_stay(
    ask: Asking, ana: Any, room: Room
) -> None:
    keep(room, 30)
    old, young, still_open = answered(ask(), ana), answered(ask(), ana), ask()
    long_open = answered(ask(), ana)
    said = [lifecycle.say(room, ana, text) for text in ("old", "young")]
    age(31, old, still_open, said[0])
    age(29, young, said[1])
    Question.objects.filter(pk=long_open.pk).update(asked_at=timezone.now() - timedelta(days=40))
    writer.catch_up()
    retention.remove_old()
    assert set(Question.objects.values_list("pk", flat=True)) == {young.pk, still_open.pk, long_open.pk}
    assert [message.content for message in Message.objects.all()] == ["young"]


def test_the_setting_of_the_site_is_for_rooms_without_their_own(
    ask: Asking, ana: Any, room: Room, settings: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "KEEP_DAYS": 30}
    age(31, answered(ask(), ana))
    writer.catch_up()
    keep(room, 0)
    retention.remove_old()
    assert Question.objects.exists()
    keep(room, None)
    retention.remove_old()
    assert not Question.objects.exists()


def test_a_question_that_the_history_lacks_waits_for_it(question: Question, ana: Any, room: Room) -> None:
    keep(room, 1)
    age(2, answered(question, ana))
    retention.remove_old()
    assert Question.objects.exists()
    writer.catch_up()
    retention.remove_old()
    assert not Question.objects.exists()


def test_a_backlog_goes_in_batches_with_one_entry_each(ask: Asking, ana: Any, room: Room) -> None:
    keep(room, 1)
    asked = [answered(ask(), ana) for _ in range(5)]
    age(2, *asked)
    writer.catch_up()
    before = timezone.now() - timedelta(days=1)
    removed = lifecycle.remove_old(room, before, limit=3)
    assert (removed.questions, Question.objects.count()) == (3, 2)
    assert lifecycle.remove_old(room, before, limit=3).questions == 2
    assert not lifecycle.remove_old(room, before, limit=3)
    entries = AuditEntry.objects.filter(action="old_removed").order_by("pk")
    assert [len(entry.details["questions"]) for entry in entries] == [3, 2]
    assert {entry.actor_type for entry in entries} == {"system"}


def test_notifications_go_but_not_what_still_has_to_be_sent(ask: Asking, room: Room) -> None:
    keep(room, 1)
    question = ask()
    at = timezone.now() - timedelta(days=2)
    common = {"question": question, "channel": "push", "due_at": at, "next_attempt_at": at, "created_at": at}
    Notice.objects.create(kind="asked", target="push:1", sent_at=at, **common)
    waiting = Notice.objects.create(kind="asked", target="push:2", **common)
    escalated = Notice.objects.create(kind="escalated", target="push:1", sent_at=at, **common)
    retention.remove_old()
    assert set(Notice.objects.values_list("pk", flat=True)) == {waiting.pk, escalated.pk}


@pytest.mark.django_db(transaction=True)
def test_two_processes_remove_each_question_once(ask: Asking, ana: Any, room: Room) -> None:
    keep(room, 1)
    asked = [answered(ask(), ana) for _ in range(8)]
    age(2, *asked)
    writer.catch_up()

    def remove(_: int) -> int:
        try:
            return lifecycle.remove_old(room, timezone.now() - timedelta(days=1), limit=3).questions
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(remove, range(8))) == 8
    named = [entry.details["questions"] for entry in AuditEntry.objects.filter(action="old_removed")]
    assert sorted(pk for batch in named for pk in batch) == sorted(question.pk for question in asked)
    assert verify().startswith("All is well")


def test_a_site_removes_words_from_its_index_by_itself() -> None:
    """A duty that looks every few minutes; `tests/live/test_retention.py` is about the entries."""
    assert (erasing.LOOK_SECONDS, erasing.erase_if_needed) in background.DATABASE_DUTIES


def test_what_was_removed_stays_removed_when_the_room_keeps_more(ask: Asking, ana: Any, room: Room) -> None:
    keep(room, 1)
    age(9, *(answered(ask(), ana) for _ in range(2)))
    writer.catch_up()
    now = timezone.now()
    lifecycle.remove_old(room, now - timedelta(days=1), limit=1)
    lifecycle.remove_old(room, now - timedelta(days=5), limit=1)
    room.refresh_from_db()
    assert room.removed_until == now - timedelta(days=1)


# ---- the audit and the figures ---------------------------------------------------------------------------


def test_the_audit_verifies_and_still_finds_a_question_that_just_disappeared(
    ask: Asking, ana: Any, room: Room
) -> None:
    keep(room, 1)
    old, gone = answered(ask(), ana), answered(ask(), ana)
    age(2, old)
    writer.catch_up()
    retention.remove_old()
    assert verify().startswith("All is well")
    Question.objects.filter(pk=gone.pk).delete()
    assert findings() == [f"Question {gone.pk} of room ops is missing; no entry says that it was deleted."]


def test_a_removal_that_somebody_edits_is_found(ask: Asking, ana: Any, room: Room) -> None:
    keep(room, 1)
    age(2, answered(ask(), ana))
    writer.catch_up()
    retention.remove_old()
    entry = AuditEntry.objects.get(action="old_removed")
    details = json.dumps({**entry.details, "questions": []})
    with unguarded(), connection.cursor() as cursor:
        cursor.execute("UPDATE ask_bridge_auditentry SET details = %s WHERE id = %s", [details, entry.pk])
    found = findings()
    assert f"Entry {entry.pk} (old_removed ) is not as it was written." in found
    assert any("is missing; no entry says" in line for line in found)


def test_figures_stay_without_text_and_names(ask: Asking, ana: Any, room: Room, chat_bot: Any) -> None:
    keep(room, 3)
    through = lifecycle.answer(ask(), [SQLITE], via=Answer.Via.API, user=ana, key=chat_bot.key_row)
    age(4, answered(ask(), ana), through, lifecycle.decline(ask(), ana, "no"))
    writer.catch_up()
    before = insights_of([room], Period.until_now(7))
    retention.remove_old()
    after = insights_of([room], Period.until_now(7))
    assert (after.now, after.hours, after.buckets) == (before.now, before.hours, before.buckets)
    assert after.now.answered == 2
    assert [(row.name, row.answers) for row in after.people] == [("*", 2)]
    assert [(row.name, row.questions) for row in after.agents] == [("*", 3)]
    for entry in HistoryEntry.objects.all():
        assert (entry.question, entry.user, entry.text, entry.labels, entry.likeness) == (
            None,
            None,
            "",
            "",
            "",
        )


def test_the_page_of_insights_says_that_names_were_removed(
    ask: Asking, ana: Any, room: Room, browser: Client
) -> None:
    keep(room, 3)
    age(4, answered(ask(), ana))
    writer.catch_up()
    retention.remove_old()
    html = browser.get("/rooms/ops/insights").content.decode()
    assert html.count("<em>Names removed</em>") == 2


def test_search_and_export_leave_removed_questions_out(
    ask: Asking, ana: Any, room: Room, browser: Client
) -> None:
    keep(room, 1)
    old, young = answered(ask(), ana), answered(ask(), ana)
    age(2, old)
    writer.catch_up()
    retention.remove_old()
    for rooms in ([room.pk], [room.pk, *range(10_000, 10_100)]):
        assert [pk for _, pk in IndexQuery(rooms).newest_entries(10)] == [young.pk]
        assert IndexQuery(rooms).count(10) == 1
    exported = json.loads(b"".join(browser.get("/history/export.json").streaming_content))
    assert young.pk in json.dumps(exported)
    assert old.pk not in json.dumps(exported)


# ---- no copies -------------------------------------------------------------------------------------------


def test_open_cards_forget_the_earlier_answer(ask: Asking, ana: Any, room: Room, browser: Client) -> None:
    keep(room, 1)
    old, later = answered(ask(), ana, notes=WORD), ask()
    writer.catch_up()
    call = {"question_id": old.pk, "question": "Which?", "chosen": ["SQLite"], "notes": [WORD]}
    memory = {**call, "selected": [["SQLite"]], "person": "Ana", "at": "2026-11-01T10:00:00Z", "percent": 90}
    assert lifecycle.recall(later.pk, [memory])
    assert WORD in browser.get("/rooms/ops").content.decode()
    age(2, old)
    later.refresh_from_db()
    retention.remove_old()
    assert WORD not in browser.get("/rooms/ops").content.decode()
    _, frames = events.frames_after(room.pk, later.revision)
    (frame,) = [frame for frame in frames if frame.event == f"memory-{later.pk}"]
    sent = frame.encode(ana.pk, "en", many_rooms=False).decode()
    assert f'id="memory-{later.pk}"' in sent
    assert WORD not in sent
    assert lifecycle.recall(later.pk, [memory])
    erasing.erase()
    assert places_of(WORD) == []


def test_a_settled_card_keeps_no_earlier_answers(ask: Asking, ana: Any) -> None:
    old, later = answered(ask(), ana, notes=WORD), ask()
    lifecycle.recall(later.pk, [{"question_id": old.pk, "question": WORD}])
    answered(later, ana)
    later.refresh_from_db()
    assert later.memories is None


@pytest.fixture
def told(ask: Asking, ana: Any, room: Room) -> Question:
    """A settled question whose text is in answer, votes, context, an earlier answer and an admin page."""
    prompts = [{"question": f"{WORD}?", "options": [{"label": WORD}, {"label": "no"}]}]
    question = ask(questions=prompts, context={"text": WORD}, care={"votes": 2})
    choices = [{"question": f"{WORD}?", "selectedOptions": [WORD], "notes": WORD}]
    lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
    other = get_user_model().objects.create_user("other")
    Membership.objects.create(room=room, user=other)
    settled = lifecycle.answer(question, choices, via=Answer.Via.WEB, user=other)
    later = ask(questions=prompts)
    lifecycle.recall(later.pk, [{"question_id": question.pk, "question": WORD, "notes": []}])
    lifecycle.withdraw(later)
    still_open = ask()
    lifecycle.recall(still_open.pk, [{"question_id": question.pk, "question": WORD, "notes": []}])
    Question.objects.filter(pk=later.pk).delete()
    return settled


def by_retention(question: Question, root: Any) -> None:
    keep(question.room, 1)
    retention.remove_old()


def in_the_admin(question: Question, root: Any) -> None:
    browser = Client()
    browser.force_login(root)
    browser.post(f"/admin/ask_bridge/question/{question.pk}/delete/", {"post": "yes"})


def with_its_room(question: Question, root: Any) -> None:
    lifecycle.archive_room(question.room, by=root)
    browser = Client()
    browser.force_login(root)
    browser.post(f"/admin/ask_bridge/room/{question.room_id}/delete/", {"post": "yes"})


@pytest.mark.parametrize("delete", [by_retention, in_the_admin, with_its_room])
def test_a_deleted_question_leaves_no_copy_in_any_table(
    told: Question, delete: Callable[[Question, Any], None]
) -> None:
    age(2, told)
    writer.catch_up()
    # The control: the search looks where the copies are.
    kept_in = {place.rpartition(".")[2] for place in places_of(WORD)}
    assert {"prompts", "choices", "votes", "context", "memories", "text"} <= kept_in
    delete(told, get_user_model().objects.create_superuser("root"))
    assert not Question.objects.filter(pk=told.pk).exists()
    erasing.erase_if_needed()
    assert places_of(WORD) == []


def test_words_are_erased_by_the_next_process_and_then_every_few_hours(
    told: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the index of SQLite")
    age(2, told)
    writer.catch_up()
    by_retention(told, None)
    assert places_of(WORD) != []
    # An hour after this process last erased, it waits; hours later it erases.
    monkeypatch.setattr(erasing, "_erased_at", timezone.now() - timedelta(hours=1))
    erasing.erase_if_needed()
    assert places_of(WORD) != []
    monkeypatch.setattr(erasing, "_erased_at", timezone.now() - erasing.ERASE_EVERY)
    erasing.erase_if_needed()
    assert places_of(WORD) == []


@pytest.mark.mariadb
@pytest.mark.django_db(transaction=True)
def test_a_rebuild_erases_the_words_of_mariadb(told: Question) -> None:
    if connection.vendor != "mysql":
        pytest.skip("the index of MariaDB")
    age(2, told)
    writer.catch_up()
    erasing.erase()
    assert WORD.lower() in words_of_mariadb()
    by_retention(told, None)
    erasing.erase_if_needed()
    assert WORD.lower() in words_of_mariadb()
    # Not within a transaction, which a rebuild would commit.
    with transaction.atomic():
        erasing.erase()
    assert WORD.lower() in words_of_mariadb()
    erasing.erase()
    assert WORD.lower() not in words_of_mariadb()


def words_of_mariadb() -> str:
    """All words in the full-text index, those of deleted entries included."""
    with connection.cursor() as cursor:
        name = f"{connection.settings_dict['NAME']}/ask_bridge_historyentry"
        cursor.execute("SET GLOBAL innodb_ft_aux_table = %s", [name])
        words = []
        for table in ("INNODB_FT_INDEX_TABLE", "INNODB_FT_INDEX_CACHE"):
            cursor.execute(f"SELECT word FROM information_schema.{table}")  # noqa: S608 - constants
            words += [word for (word,) in cursor.fetchall()]
    return " ".join(words)


@pytest.mark.django_db(transaction=True)
def test_no_page_of_the_sqlite_file_has_the_text_after_a_vacuum(told: Question, tmp_path: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("a file of SQLite")
    age(2, told)
    writer.catch_up()
    by_retention(told, None)
    erasing.erase()
    copy = tmp_path / "copy.sqlite3"
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(copy)])
    assert WORD.encode() not in copy.read_bytes()


def test_a_deleted_room_has_an_entry_that_says_how_much_went(told: Question) -> None:
    with_its_room(told, get_user_model().objects.create_superuser("root"))
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor, entry.details) == (
        "room_deleted",
        "root",
        {"questions": 2, "messages": 0},
    )
    assert not Room.objects.exists()


# ---- what still points at a removed question -------------------------------------------------------------


def remove(question: Question) -> None:
    keep(question.room, 1)
    age(2, question)
    writer.catch_up()
    retention.remove_old()


def made_long_ago(prefix: str) -> str:
    return ids.id_at(prefix, timezone.now() - timedelta(days=2))


def test_an_agent_continues_after_an_entry_that_was_removed(
    ask: Asking, ana: Any, room: Room, agent: Any
) -> None:
    remove(answered(ask(), ana))
    open_for_long = ask()
    Question.objects.filter(pk=open_for_long.pk).update(asked_at=timezone.now() - timedelta(days=9))
    said = lifecycle.say(room, ana, "Good morning")
    for removed in (made_long_ago("q"), made_long_ago("m"), made_long_ago("a")):
        page = agent.get(f"/api/v1/rooms/ops/messages?after={removed}").json()
        assert [message["id"] for message in page["messages"]] == [said.pk]


def test_an_id_that_never_was_is_still_refused(ask: Asking, ana: Any, agent: Any, problem: Any) -> None:
    remove(answered(ask(), ana))
    for unknown in (ids.new_message_id(), "q_nonsense", "z_1"):
        reply = agent.get(f"/api/v1/rooms/ops/messages?after={unknown}")
        problem(reply, 422, "invalid_parameter")


def test_the_api_does_not_know_a_removed_question(ask: Asking, ana: Any, agent: Any, problem: Any) -> None:
    question = answered(ask(), ana)
    remove(question)
    problem(agent.get(f"/api/v1/questions/{question.pk}"), 404, "not_found")


def test_the_link_in_an_old_notification_says_why_nothing_is_there(
    ask: Asking, ana: Any, room: Room, browser: Client
) -> None:
    remove(answered(ask(), ana))
    reply = browser.get(f"/rooms/ops/questions/{made_long_ago('q')}")
    assert reply.status_code == 410
    assert "keeps settled questions for 1 day" in reply.content.decode()
    assert browser.get(f"/rooms/ops/questions/{ids.new_question_id()}").status_code == 404
    stranger = Client()
    stranger.force_login(get_user_model().objects.create_user("stranger"))
    assert stranger.get(f"/rooms/ops/questions/{made_long_ago('q')}").status_code == 404


# ---- the command -----------------------------------------------------------------------------------------


def run(*arguments: str) -> list[str]:
    printed = StringIO()
    call_command("remove_old", *arguments, stdout=printed)
    return printed.getvalue().splitlines()


def test_the_command_counts_first_and_then_removes(ask: Asking, ana: Any, room: Room) -> None:
    keep(room, 30)
    age(31, answered(ask(), ana), lifecycle.say(room, ana, "old"))
    would = run("--dry-run")
    assert would[0] == "ops (keeps 30 days): questions 1, messages 1, notifications 0."
    assert left() == {"Question": 1, "Answer": 1, "Message": 1}
    assert run() == [would[0], "Removed in all rooms: questions 1, messages 1, notifications 0."]
    assert left() == {"Question": 0, "Answer": 0, "Message": 0}
    assert run("--room", "ops") == ["Removed in all rooms: questions 0, messages 0, notifications 0."]
