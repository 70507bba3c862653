"""The audit log: one entry for each change and for nothing else; entries cannot be changed."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from rooms import access, audit, lifecycle
from rooms.management.commands import verify_audit
from rooms.models import AgentKey, Answer, AppendOnly, AuditEntry, Membership, Question, Room
from tests.rooms.test_admin import act, listing, page, room_form

# As the columns of a database without time zones take it, and of the others.
LONG_AGO = "2020-01-01 00:00:00" if connection.vendor == "mysql" else "2020-01-01 00:00:00+00:00"
SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
Asking = Callable[..., Question]


def entries(**fields: Any) -> list[tuple[str, str, str]]:
    """Action, kind of actor and actor of the entries, oldest first."""
    found = AuditEntry.objects.filter(**fields).order_by("pk")
    return list(found.values_list("action", "actor_type", "actor"))


def of(subject: Any) -> list[tuple[str, str, str]]:
    return entries(subject=str(subject))


def last() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


@pytest.fixture
def root(db: None) -> Any:
    return get_user_model().objects.create_superuser("root")


@pytest.fixture
def browser(root: Any) -> Client:
    client = Client()
    client.force_login(root)
    return client


# ---- questions -------------------------------------------------------------------------------------------


def test_asking_is_the_doing_of_the_key(question: Question) -> None:
    assert of(question.pk) == [("asked", "agent", "refactor-bot")]
    entry = last()
    assert (entry.room, entry.details) == ("ops", {"agent": "refactor-bot"})


@pytest.mark.parametrize(
    ("settle", "expected", "details"),
    [
        (
            lambda question, ana: lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana),
            ("answered", "person", "ana"),
            {"via": "web"},
        ),
        (
            lambda question, ana: lifecycle.answer(
                question, [SQLITE], via=Answer.Via.TERMINAL, key=question.key
            ),
            ("answered", "agent", "refactor-bot"),
            {"via": "terminal"},
        ),
        (
            lambda question, ana: lifecycle.decline(question, ana, "not now"),
            ("declined", "person", "ana"),
            {"via": "web"},
        ),
        (
            lambda question, ana: lifecycle.ask_back(question, ana, "which one?"),
            ("asked_back", "person", "ana"),
            {"via": "web"},
        ),
        (lambda question, ana: lifecycle.expire(question), ("expired", "system", ""), {}),
        (lambda question, ana: lifecycle.withdraw(question), ("withdrawn", "agent", ""), {}),
        (
            lambda question, ana: lifecycle.withdraw(question, by=question.key),
            ("withdrawn", "agent", "refactor-bot"),
            {},
        ),
        (lambda question, ana: lifecycle.withdraw(question, by=ana), ("withdrawn", "person", "ana"), {}),
    ],
)
def test_settling_names_the_person_who_settled(
    question: Question,
    ana: Any,
    settle: Callable[[Question, Any], Question],
    expected: tuple[str, str, str],
    details: dict[str, str],
) -> None:
    settle(question, ana)
    assert of(question.pk)[1:] == [expected]
    assert last().details == details


def test_expiry_with_a_default_says_so(ask: Asking) -> None:
    lifecycle.expire(ask(timeout_seconds=60, default={SQLITE["question"]: ["SQLite"]}))
    assert (last().action, last().details) == ("expired", {"via": "default"})


def test_no_words_of_people_or_agents_are_kept(ask: Asking, ana: Any) -> None:
    secret = "the launch code"
    lifecycle.decline(ask(context={"text": secret}), ana, secret)
    lifecycle.ask_back(ask(), ana, secret)
    chosen = {"question": SQLITE["question"], "customInput": secret, "notes": secret}
    lifecycle.answer(ask(), [chosen], via=Answer.Via.WEB, user=ana)
    assert not any(secret in str(entry) for entry in AuditEntry.objects.values())


def test_who_came_too_late_did_nothing(question: Question, ana: Any, ben: Any) -> None:
    lifecycle.decline(question, ana)
    for too_late in (
        lambda: lifecycle.decline(question, ben),
        lambda: lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ben),
        lambda: lifecycle.withdraw(question),
        lambda: lifecycle.expire(question),
    ):
        with pytest.raises(lifecycle.AlreadySettled):
            too_late()
    assert of(question.pk) == [("asked", "agent", "refactor-bot"), ("declined", "person", "ana")]


def test_answer_after_the_deadline_is_an_expiry(overdue: Question, ana: Any) -> None:
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.decline(overdue, ana)
    assert of(overdue.pk)[1:] == [("expired", "system", "")]


def test_asking_again_is_no_second_ask(ask: Asking) -> None:
    again = {"session_id": "s", "tool_use_id": "t"}
    assert ask(**again).pk == ask(**again).pk
    assert len(entries(action="asked")) == 1


def test_what_is_rolled_back_was_never_done(ask: Asking, room: Room) -> None:
    before = AuditEntry.objects.count()
    with transaction.atomic():
        lifecycle.withdraw(ask())
        access.create_key(room, label="bot")
        transaction.set_rollback(True)
    assert AuditEntry.objects.count() == before


@pytest.mark.django_db(transaction=True)
def test_entry_outside_a_transaction_is_refused(other_room: Room) -> None:
    before = AuditEntry.objects.count()
    with pytest.raises(transaction.TransactionManagementError):
        audit.record(audit.Action.ASKED, other_room, audit.SYSTEM)
    assert AuditEntry.objects.count() == before


@pytest.fixture
def without_table(transactional_db: None, question: Question) -> Iterator[None]:
    """No entry can be written."""
    run_sql("ALTER TABLE ask_bridge_auditentry RENAME TO away")
    yield
    run_sql("ALTER TABLE away RENAME TO ask_bridge_auditentry")


def test_entry_that_cannot_be_written_takes_its_change_along(
    question: Question, ana: Any, room: Room, without_table: None
) -> None:
    for change in (
        lambda: lifecycle.decline(question, ana),
        lambda: lifecycle.archive_room(room),
        lambda: access.create_key(room, label="bot"),
        lambda: access.revoke_keys(room.keys.all()),
        lambda: Membership.objects.filter(user=ana).first().save(),
        lambda: Membership.objects.filter(user=ana).delete(),
    ):
        with pytest.raises(DatabaseError):
            change()
    question.refresh_from_db()
    room.refresh_from_db()
    assert (question.status, room.archived_at) == ("open", None)
    assert list(room.keys.values_list("label", "revoked_at")) == [("refactor-bot", None)]
    assert Membership.objects.filter(user=ana).exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_click_at_once_one_is_recorded(question: Question, ana: Any, ben: Any) -> None:
    def click(user: Any) -> None:
        try:
            lifecycle.decline(Question.objects.select_related("room").get(pk=question.pk), user)
        except lifecycle.AlreadySettled:
            pass
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(click, [ana, ben] * 8))
    winner = Answer.objects.get().username
    assert of(question.pk)[1:] == [("declined", "person", winner)]
    assert verify().startswith("All is well")


def test_each_verb_writes_one_row_with_one_statement(ask: Asking, ana: Any, room: Room) -> None:
    question = ask()
    for _ in range(3):
        access.create_key(room, label="bot")

    def statements(change: Callable[[], Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            change()
        return sum("ask_bridge_auditentry" in query["sql"] for query in queries)

    assert statements(lambda: lifecycle.decline(question, ana)) == 1
    assert statements(ask) == 1
    assert statements(lambda: access.create_key(room, label="bot")) == 1
    assert statements(lambda: access.rotate_key(room.keys.all()[0], by=ana)) == 1
    assert statements(lambda: access.revoke_keys(room.keys.all())) == 1


def test_test_question_names_the_person_who_sent_it(browser: Client, room: Room) -> None:
    browser.post(f"/rooms/{room.slug}/connect/test")
    assert entries(action="asked") == [("asked", "person", "root")]


def test_calls_of_agents_name_their_own_key(agent: Any, chat_bot: Any, ask: Asking) -> None:
    withdrawn, reported, answered = ask(), ask(), ask()
    agent.delete(agent.question_url(withdrawn.pk))
    report = {"answers": {SQLITE["question"]: "SQLite"}}
    agent.post(agent.answer_url(reported.pk), {**report, "via": "terminal"})
    chat_bot.post(chat_bot.answer_url(answered.pk), {**report, "via": "api", "by": "ana"})
    assert of(withdrawn.pk)[1:] == [("withdrawn", "agent", "refactor-bot")]
    assert of(reported.pk)[1:] == [("answered", "agent", "refactor-bot")]
    assert of(answered.pk)[1:] == [("answered", "agent", "Chat bot")]
    assert last().details == {"via": "api", "person": "ana"}


# ---- rooms, keys and members -----------------------------------------------------------------------------


def test_room_of_a_command_is_made_by_the_system(room: Room, ana: Any) -> None:
    assert entries(room="ops", action="room_created") == [("room_created", "system", "")]
    assert of(ana.pk) == [("member_added", "system", "")]
    lifecycle.create_room("ops", members=[ana])
    assert len(entries(action="room_created")) == len(of(ana.pk)) == 1


def test_archiving_and_restoring_are_recorded_once(room: Room, question: Question, root: Any) -> None:
    for _ in range(2):
        lifecycle.archive_room(room, by=root)
    for _ in range(2):
        lifecycle.restore_room(room)
    done = entries(action__startswith="room_")
    assert done[1:] == [("room_archived", "person", "root"), ("room_restored", "system", "")]
    assert of(question.pk)[1:] == [("withdrawn", "person", "root")]


def test_key_is_known_by_its_beginning(room: Room, ana: Any) -> None:
    key, _ = access.create_key(room, label="bot", created_by=ana)
    for _ in range(2):
        access.revoke_keys(room.keys.all(), by=ana)
    assert of(key.lookup) == [("key_created", "person", "ana"), ("key_revoked", "person", "ana")]
    assert last().details == {"label": "bot"}


def test_member_is_known_by_id_and_name(room: Room, ana: Any) -> None:
    membership = Membership.objects.get(user=ana)
    membership.role = Membership.Role.MANAGER
    membership.save()
    assert last().details == {"user": "ana", "role": "manager", "membership": membership.pk}
    membership.delete()
    assert [action for action, *_ in of(ana.pk)] == ["member_added", "member_changed", "member_removed"]


def test_members_go_with_their_room_or_their_user(room: Room, ana: Any, ben: Any) -> None:
    ids = ana.pk, ben.pk
    ana.delete()
    assert of(ids[0])[-1] == ("member_removed", "system", "")
    with audit.acting_as(None):
        room.delete()
    assert of(ids[1])[-1] == ("member_removed", "system", "")
    assert last().room == "ops"


def test_the_actor_is_set_only_inside_the_block(room: Room, ana: Any, root: Any) -> None:
    with audit.acting_as(root):
        Membership.objects.get(user=ana).save()
    Membership.objects.get(user=ana).save()
    assert of(ana.pk)[1:] == [("member_changed", "person", "root"), ("member_changed", "system", "")]


# ---- the admin -------------------------------------------------------------------------------------------


def test_what_is_done_in_the_admin_names_the_admin(
    browser: Client, room: Room, agent: Any, ask: Asking
) -> None:
    for model, action, selected in (
        ("question", "withdraw", ask()),
        ("agentkey", "rotate", agent.key_row),
        ("agentkey", "revoke", agent.key_row),
        ("room", "withdraw_open_questions", ask().room),
        ("room", "archive", room),
        ("room", "restore", room),
        ("room", "revoke_keys", room),
    ):
        before = AuditEntry.objects.count()
        act(browser, model, action, selected)
        done = entries()[before:]
        assert {entry[1:] for entry in done} == {("person", "root")}, action


def test_rooms_and_members_of_the_admin_name_the_admin(browser: Client, ana: Any) -> None:
    member = {"memberships-0-user": str(ana.pk), "memberships-0-role": "manager"}
    form = room_form(None, **member, **{"keys-0-label": "bot"})
    browser.post(reverse("admin:ask_bridge_room_add"), form)
    room = Room.objects.get()
    change = room_form(room, **{"memberships-0-role": "member"})
    browser.post(page("room", room.pk), change)
    remove = room_form(room, **{"memberships-0-DELETE": "on"})
    browser.post(page("room", room.pk), remove)
    assert entries() == [
        ("room_created", "person", "root"),
        ("member_added", "person", "root"),
        ("key_created", "person", "root"),
        ("member_changed", "person", "root"),
        ("member_removed", "person", "root"),
    ]


def test_deleting_a_room_in_the_admin_removes_members_in_the_name_of_the_admin(
    browser: Client, room: Room, ana: Any
) -> None:
    lifecycle.archive_room(room)
    browser.post(reverse("admin:ask_bridge_room_delete", args=(room.pk,)), {"post": "yes"})
    assert not Room.objects.exists()
    assert of(ana.pk)[-1] == ("member_removed", "person", "root")


def test_the_admin_shows_filters_and_finds_entries(browser: Client, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    lifecycle.create_room("lab")

    def found(**query: str) -> set[str]:
        rows = browser.get(listing("auditentry"), query).context["cl"].result_list
        return {row.action for row in rows}

    everything = {"room_created", "member_added", "key_created", "asked", "declined"}
    assert found() == everything
    assert found(action__exact="declined") == found(q="an", actor_type__exact="person") == {"declined"}
    assert found(q=question.pk) == {"asked", "declined"}
    assert found(room="lab") == {"room_created"}
    assert found(room="no\x00where") == everything
    assert found(at__gte="2100-01-01 00:00:00+00:00") == set()
    shown = browser.get(page("auditentry", last().pk)).content.decode()
    assert browser.get(listing("auditentry")).content.decode().count("agent: refactor-bot") == 1
    assert "icon-yes" in shown
    assert last().digest not in shown


def test_not_even_a_superuser_writes_in_the_audit(browser: Client, question: Question) -> None:
    entry = last()
    before = list(AuditEntry.objects.values())
    assert browser.get(reverse("admin:ask_bridge_auditentry_add")).status_code == 403
    assert browser.post(page("auditentry", entry.pk), {"actor": "eve"}).status_code == 403
    delete = reverse("admin:ask_bridge_auditentry_delete", args=(entry.pk,))
    assert browser.post(delete, {"post": "yes"}).status_code == 403
    act(browser, "auditentry", "delete_selected", entry)
    assert list(AuditEntry.objects.values()) == before


# ---- append only -----------------------------------------------------------------------------------------


def test_entries_are_neither_changed_nor_removed(question: Question) -> None:
    entry = last()
    entry.actor = "eve"
    for attempt in (
        entry.save,
        entry.delete,
        lambda: AuditEntry.objects.update(actor="eve"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: AuditEntry.objects.bulk_update([entry], ["actor"]),
        lambda: AuditEntry.objects.update_or_create(pk=entry.pk, defaults={"actor": "eve"}),
        lambda: AuditEntry.objects.bulk_create(
            [entry], update_conflicts=True, update_fields=["actor"], unique_fields=["id"]
        ),
    ):
        with pytest.raises(AppendOnly, match="never changed or removed"):
            attempt()
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEntry(pk=entry.pk, action="asked", actor="eve").save()
    assert last().actor == "refactor-bot"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ask_bridge_auditentry SET actor = 'eve'",
        "DELETE FROM ask_bridge_auditentry WHERE action = 'asked'",
    ],
)
def test_what_goes_around_our_code_is_refused_by_postgresql_and_found_on_sqlite(
    question: Question, statement: str
) -> None:
    before = list(AuditEntry.objects.values())
    if connection.vendor == "postgresql":
        with pytest.raises(IntegrityError, match="never changed or removed"), transaction.atomic():
            run_sql(statement)
        assert list(AuditEntry.objects.values()) == before
    else:
        run_sql(statement)
        assert findings()


# ---- verify_audit ----------------------------------------------------------------------------------------


def run_sql(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


@contextmanager
def unguarded() -> Iterator[None]:
    """What a person with all rights in the database can do."""
    if connection.vendor == "postgresql":
        run_sql("ALTER TABLE ask_bridge_auditentry DISABLE TRIGGER ask_bridge_append_only")
    yield
    if connection.vendor == "postgresql":
        run_sql("ALTER TABLE ask_bridge_auditentry ENABLE TRIGGER ask_bridge_append_only")


def findings() -> list[str]:
    printed = StringIO()
    with pytest.raises(CommandError) as failed:
        call_command("verify_audit", stdout=printed)
    lines = printed.getvalue().splitlines()
    assert failed.value.returncode == 1
    assert str(failed.value).startswith(f"The audit has {len(lines)} finding")
    return lines


def verify() -> str:
    printed = StringIO()
    call_command("verify_audit", stdout=printed)
    return printed.getvalue()


@pytest.fixture
def history(ask: Asking, room: Room, other_room: Room, ana: Any, ben: Any) -> dict[str, Question]:
    """Everything that can become of questions, keys and members."""
    default = {SQLITE["question"]: ["SQLite"]}
    settled = {
        "answered": lifecycle.answer(ask(), [SQLITE], via=Answer.Via.WEB, user=ana),
        "terminal": lifecycle.answer(ask(), [SQLITE], via=Answer.Via.TERMINAL),
        "declined": lifecycle.decline(ask(), ana),
        "asked_back": lifecycle.ask_back(ask(), ben, "Why?"),
        "expired": lifecycle.expire(ask()),
        "default": lifecycle.expire(ask(timeout_seconds=60, default=default)),
        "withdrawn": lifecycle.withdraw(ask(), by=ben),
        "open": ask(),
    }
    lifecycle.deliver(settled["answered"].pk)
    old, _ = access.create_key(room, label="old")
    access.rotate_key(old, by=ana)
    access.revoke_keys(AgentKey.objects.filter(pk=access.create_key(room, label="gone")[0].pk), by=ana)
    membership = Membership.objects.get(user=ana)
    membership.role = Membership.Role.MANAGER
    membership.save()
    Membership.objects.get(user=ben).delete()
    Membership.objects.create(room=room, user=ben)
    Room.objects.filter(pk=room.pk).update(slug="renamed")
    return settled


def test_all_is_well_after_everything_that_can_happen(history: Any) -> None:
    assert verify() == f"All is well: {AuditEntry.objects.count()} entries.\n"


def test_all_is_well_where_nothing_happened(db: None) -> None:
    assert verify() == "All is well: 0 entries.\n"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "eve"),
        ("actor_type", "system"),
        ("room", "lab"),
        ("subject", "q_other"),
        ("action", "declined"),
        ("details", '{"agent": "other"}'),
        ("at", LONG_AGO),
        ("id", "e_00000000000000000000000000000"),
        ("digest", "0" * 64),
    ],
)
def test_changed_entry_is_found(question: Question, column: str, value: str) -> None:
    entry = last()
    with unguarded():
        run_sql(f"UPDATE ask_bridge_auditentry SET {column} = %s WHERE id = %s", value, entry.pk)  # noqa: S608
    changed = [line for line in findings() if "is not as it was written" in line]
    assert len(changed) == 1
    assert (value if column == "id" else entry.pk) in changed[0]


def test_entry_of_another_site_is_found(question: Question, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "the next one"
    assert verify().startswith("All is well")
    settings.SECRET_KEY_FALLBACKS = []
    assert len(findings()) == AuditEntry.objects.count()


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("answered", "answered by ana"),
        ("terminal", "answered"),
        ("declined", "declined by ana"),
        ("asked_back", "asked_back by ben"),
        ("expired", "expired"),
        ("withdrawn", "withdrawn"),
    ],
)
def test_missing_entries_of_a_question_are_found(history: Any, name: str, status: str) -> None:
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE subject = %s", history[name].pk)
    (gap, *found) = findings()
    assert re.fullmatch(r"The entry before e_\w+ \(\w+ \w+\) in ops is missing\.", gap)
    assert found == [
        f"Question {history[name].pk} has 0 entries that it was asked, not 1.",
        f"Question {history[name].pk} is {status}; its entries say: nothing.",
    ]


def test_question_that_was_changed_around_us_is_found(history: Any) -> None:
    Question.objects.filter(pk=history["answered"].pk).update(status="open", settled_at=None)
    Question.objects.filter(pk=history["open"].pk).update(status="expired", settled_at=timezone.now())
    Answer.objects.filter(question=history["declined"]).update(username="eve")
    assert findings() == [
        f"Question {history['answered'].pk} is open; its entries say: answered by ana.",
        f"Question {history['declined'].pk} is declined by eve; its entries say: declined by ana.",
        f"Question {history['open'].pk} is expired; its entries say: nothing.",
    ]


def test_entry_that_was_written_twice_is_found(question: Question) -> None:
    with transaction.atomic():
        audit.record(audit.Action.ASKED, question.room, audit.SYSTEM, question.pk)
    assert findings() == [f"Question {question.pk} has 2 entries that it was asked, not 1."]


def test_keys_without_their_entries_are_found(room: Room) -> None:
    made = AgentKey.objects.create(room=room, label="made", lookup="0123456789")
    key, _ = access.create_key(room, label="bot")
    AgentKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    assert findings() == [
        f"Key abk_{made.lookup}_… has 0 entries key_created, not 1.",
        f"Key abk_{key.lookup}_… has 0 entries key_revoked, not 1.",
    ]
    access.revoke_keys(room.keys.filter(pk=made.pk))
    AgentKey.objects.filter(pk=made.pk).update(revoked_at=None)
    assert f"Key abk_{made.lookup}_… has 1 entries key_revoked, not 0." in findings()


def test_members_without_their_entries_are_found(room: Room, other_room: Room, ana: Any, ben: Any) -> None:
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    Membership.objects.bulk_create([Membership(room=other_room, user=ben)])
    assert findings() == [
        "ana is manager of ops; the last entry says: member.",
        "ben is member of lab; the last entry says: nothing.",
    ]


def test_missing_trigger_is_found_on_postgresql(db: None) -> None:
    with unguarded():
        if connection.vendor == "postgresql":
            assert findings() == [
                "The trigger ask_bridge_append_only is missing or disabled: entries can be changed."
            ]
        else:
            assert verify() == "All is well: 0 entries.\n"


def test_long_run_says_how_far_it_is(
    history: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_audit, "PROGRESS_SECONDS", 0)
    monkeypatch.setattr(verify_audit, "CHUNK", 3)
    assert verify().startswith("All is well")
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "3 entries checked …"
    assert {line.split()[1] for line in told} == {"entries", "questions", "keys", "memberships"}


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("verify_audit", "--help")
    last_line = capsys.readouterr().out.strip().splitlines()[-1]
    assert last_line.startswith("Example: python manage.py verify_audit")


def test_change_between_two_reads_is_no_finding(
    question: Question, ana: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer after the question was read as open and before its entries are read."""
    look = verify_audit.findings_of

    def look_late(rows: list[Any], *arguments: Any) -> Any:
        if question.pk in [row.pk for row in rows] and Question.objects.get().is_open:
            lifecycle.decline(question, ana)
        return look(rows, *arguments)

    monkeypatch.setattr(verify_audit, "findings_of", look_late)
    assert verify().startswith("All is well")
    assert Question.objects.get().status == "declined"


# ---- a site that was in use before -----------------------------------------------------------------------


@pytest.fixture
def migrate(transactional_db: None) -> Iterator[Callable[[str], Any]]:
    """Bring the tables to a state of the past; afterwards they are those of today."""

    def to(name: str) -> Any:
        executor = MigrationExecutor(connection)
        executor.migrate([("ask_bridge", name)])
        return MigrationExecutor(connection).loader.project_state([("ask_bridge", name)]).apps

    yield to
    call_command("migrate", verbosity=0)


@pytest.mark.slow
def test_what_is_older_than_the_audit_needs_no_entries(migrate: Callable[[str], Any]) -> None:
    old = migrate("0003_names")
    user = get_user_model().objects.create_user("ana")
    room = old.get_model("ask_bridge", "Room").objects.create(slug="ops", name="Operations")
    old.get_model("ask_bridge", "Membership").objects.create(room=room, user_id=user.pk)
    key = old.get_model("ask_bridge", "AgentKey").objects.create(room=room, label="bot", lookup="a")
    questions = old.get_model("ask_bridge", "Question").objects
    prompts = [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    common = {"room": room, "key": key, "prompts": prompts, "revision": 1, "agent_name": "bot"}
    questions.create(id="q_settled", position=1, status="expired", settled_at=timezone.now(), **common)
    questions.create(id="q_open", position=2, **common)

    migrate("0004_audit")
    call_command("migrate", verbosity=0)
    assert entries() == [("audit_began", "system", "")]
    assert verify() == "All is well: 1 entries.\n"

    # From now on everything counts, also for what is older.
    lifecycle.decline(Question.objects.get(pk="q_open"), user)
    access.revoke_keys(AgentKey.objects.all())
    Membership.objects.get().save()
    assert verify() == "All is well: 4 entries.\n"
    Question.objects.filter(pk="q_open").update(status="expired")
    assert findings() == ["Question q_open is expired by ana; its entries say: declined by ana."]


def test_forged_beginning_excuses_nothing(room: Room) -> None:
    AuditEntry(action="audit_began", actor_type="system", at=timezone.now() + timedelta(days=1)).save()
    AgentKey.objects.create(room=room, label="made", lookup="0123456789")
    assert len(findings()) == 2


@pytest.mark.slow
def test_new_site_has_no_beginning_and_the_trigger_can_be_undone(migrate: Callable[[str], Any]) -> None:
    migrate("0003_names")
    migrate("0004_audit")
    call_command("migrate", verbosity=0)
    assert entries() == []
    assert verify() == "All is well: 0 entries.\n"
