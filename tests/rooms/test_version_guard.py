"""A process that is older than what is in the database settles nothing that it does not understand.

The newer version is what it would leave in the database: rows written with SQL, and a migration.
"""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import lifecycle
from rooms.contract.rules import RULES_VERSION
from rooms.db.schema import schema
from rooms.models import Answer, AuditEntry, Question, Room
from tests.harness.agents import Agent

# Of one ask and one answer, as before there was a guard: revision, audit entry and question; the same for the
# answer, which has a row of its own.
STATEMENTS = 7

SQLITE = [{"question": "Which database should we use?", "selectedOptions": ["SQLite"]}]
DEFAULT = {"Which database should we use?": ["SQLite"]}
# The tables on the page of a room in the admin.
INLINES = ("memberships", "group_memberships", "keys")
# A kind of prompt that this version does not have.
SLIDER = [{"question": "How many replicas?", "kind": "slider", "from": 1, "to": 9}]


@pytest.fixture(autouse=True)
def new_look() -> Iterator[None]:
    """A process looks at the schema every few seconds; each test begins with a look of its own."""
    schema.forget()
    yield
    schema.forget()


def execute(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def make_newer(question: Question) -> Question:
    """As a newer version would have stored it: with rules that this process does not know."""
    execute(
        "UPDATE ask_bridge_question SET needs_version = %s, prompts = %s WHERE id = %s",
        RULES_VERSION + 1,
        json.dumps(SLIDER),
        question.pk,
    )
    return Question.objects.with_answer().get(pk=question.pk)


def migrate_to_a_newer_version() -> None:
    execute(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('ask_bridge', '9000_later', %s)",
        timezone.now(),
    )
    schema.forget()


def set_care_of_a_newer_version(room: Room) -> None:
    execute("UPDATE ask_bridge_room SET care = %s WHERE id = %s", json.dumps({"veto": ["ana"]}), room.pk)
    room.refresh_from_db()


def state_of(question: Question) -> tuple[str, int, int]:
    """Status, revision and number of audit entries: what every change of a question moves."""
    question.refresh_from_db()
    return question.status, question.room.revision, AuditEntry.objects.count()


# ---- a question with newer rules -------------------------------------------------------------------------

VERBS: dict[str, Callable[[Question, Any], Any]] = {
    "answer": lambda question, ana: lifecycle.answer(question, SQLITE, via=Answer.Via.WEB, user=ana),
    "answer with an undo window": lambda question, ana: lifecycle.answer(
        question, SQLITE, via=Answer.Via.WEB, user=ana, undo_seconds=5
    ),
    "report": lambda question, ana: lifecycle.answer(question, SQLITE, via=Answer.Via.TERMINAL),
    "decline": lambda question, ana: lifecycle.decline(question, ana),
    "ask back": lambda question, ana: lifecycle.ask_back(question, ana, "Which one?"),
    "withdraw": lambda question, ana: lifecycle.withdraw(question),
    "undo": lambda question, ana: lifecycle.undo(question, ana),
    "expire": lambda question, ana: lifecycle.expire(question),
    "close": lambda question, ana: lifecycle.close_unattended([question], ana),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_settles_a_question_with_newer_rules(
    ask: Callable[..., Question], ana: Any, verb: str
) -> None:
    question = make_newer(ask(timeout_seconds=60, default=DEFAULT))
    Question.objects.filter(pk=question.pk).update(is_attended=False)
    before = state_of(question)
    with pytest.raises(lifecycle.NeedsNewerVersion):
        VERBS[verb](question, ana)
    assert state_of(question) == before


def test_those_with_newer_rules_do_not_keep_the_others_open(ask: Callable[..., Question], ana: Any) -> None:
    newer, *others = make_newer(ask()), ask(), ask()
    assert lifecycle.withdraw_open(Question.objects.all(), ana) == len(others)
    assert state_of(newer)[0] == "open"


def test_a_room_with_a_question_of_newer_rules_is_archived(
    ask: Callable[..., Question], ana: Any, room: Room
) -> None:
    newer, other = make_newer(ask()), ask()
    lifecycle.archive_room(room, ana)
    room.refresh_from_db()
    assert room.archived_at
    assert (state_of(newer)[0], state_of(other)[0]) == ("open", "withdrawn")


def test_a_question_that_got_newer_rules_since_it_was_read_is_not_settled(
    question: Question, ana: Any
) -> None:
    # The statement that settles looks by itself.
    read_before = Question.objects.with_answer().get(pk=question.pk)
    make_newer(question)
    before = state_of(question)
    with pytest.raises(lifecycle.NeedsNewerVersion):
        lifecycle.decline(read_before, ana)
    assert state_of(question) == before


def test_the_sweep_leaves_questions_with_newer_rules_to_newer_processes(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question]
) -> None:
    past = timezone.now()
    overdue = make_newer(make_overdue(ask(timeout_seconds=60, default=DEFAULT)))
    held, escalating, stale = make_newer(ask()), make_newer(ask()), make_newer(ask())
    Question.objects.filter(pk=held.pk).update(held_until=past)
    Question.objects.filter(pk=escalating.pk).update(escalates_at=past)
    Question.objects.filter(pk=stale.pk).update(closes_at=past)
    own = make_overdue(ask())
    lifecycle.sweep()
    for question in (overdue, held, escalating, stale):
        assert state_of(question)[0] == "open"
    escalating.refresh_from_db()
    assert escalating.escalates_at is not None
    assert state_of(own)[0] == "expired"


def test_an_agent_that_waits_reads_the_open_question_past_its_deadline(
    question: Question, make_overdue: Callable[[Question], Question], agent: Agent
) -> None:
    make_newer(make_overdue(question))
    assert agent.read(question.pk)["status"] == "open"


def test_an_agent_gets_503_and_when_to_try_again(question: Question, agent: Agent, problem: Any) -> None:
    make_newer(question)
    reply = agent.post(agent.answer_url(question.pk), {"answers": DEFAULT})
    said = problem(reply, 503, "needs_newer_version")
    assert reply["Retry-After"] == "5"
    assert "An admin has to restart the old processes" in said["detail"]


def test_a_person_sees_the_question_and_why_it_cannot_be_answered_here(
    question: Question, browser: Client
) -> None:
    make_newer(question)
    for address in (f"/rooms/ops/questions/{question.pk}", "/rooms/ops"):
        page = browser.get(address).content.decode()
        assert "How many replicas?" in page
        assert "A newer version of Ask Bridge asked this." in page
        assert "ab-submit" not in page.partition(f'id="card-{question.pk}"')[2].partition("</article>")[0]


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_a_form_that_is_sent_is_kept_and_explained(
    question: Question, browser: Client, headers: dict[str, str]
) -> None:
    make_newer(question)
    address = f"/rooms/ops/questions/{question.pk}/skip"
    reply = browser.post(address, {"reason": "Not now"}, headers=headers)
    assert (reply.status_code, reply["Retry-After"]) == (503, "5")
    page = reply.content.decode()
    assert "This needs a newer version of Ask Bridge than the process that you reached" in page
    assert headers or 'name="reason" value="Not now"' in page


def test_an_admin_is_told_and_nothing_is_withdrawn(question: Question, admin_client: Client) -> None:
    make_newer(question)
    fields = {"action": "withdraw", "_selected_action": [question.pk]}
    reply = admin_client.post("/admin/ask_bridge/question/", fields, follow=True)
    assert "This needs a newer version of Ask Bridge" in reply.content.decode()
    assert state_of(question)[0] == "open"


def test_it_is_logged_once(ask: Callable[..., Question], ana: Any, caplog: pytest.LogCaptureFixture) -> None:
    lifecycle.versions._told.clear()
    for _ in range(3):
        with pytest.raises(lifecycle.NeedsNewerVersion):
            lifecycle.decline(make_newer(ask()), ana)
    assert caplog.text.count("stored a question that this process does not understand") == 1


# ---- a room whose care has a newer option ----------------------------------------------------------------


def test_nothing_is_asked_in_a_room_whose_care_is_not_understood(
    room: Room, agent: Agent, problem: Any
) -> None:
    set_care_of_a_newer_version(room)
    problem(agent.post(agent.questions_url, agent.question_body()), 503, "needs_newer_version")
    assert not Question.objects.exists()


def test_no_default_counts_in_a_room_whose_care_is_not_understood(
    room: Room, ask: Callable[..., Question], make_overdue: Callable[[Question], Question]
) -> None:
    question = make_overdue(ask(timeout_seconds=60, default=DEFAULT))
    set_care_of_a_newer_version(room)
    lifecycle.sweep()
    assert state_of(question)[0] == "open"


def test_the_settings_of_the_room_keep_the_newer_option(room: Room, ana: Any, browser: Client) -> None:
    room.memberships.filter(user=ana).update(role="manager")
    set_care_of_a_newer_version(room)
    reply = browser.post("/rooms/ops/manage/care", {"votes_needed": "2"})
    assert reply.status_code == 503
    room.refresh_from_db()
    assert room.care == {"veto": ["ana"]}


def test_the_admin_keeps_the_newer_option_and_says_why(room: Room, admin_client: Client) -> None:
    set_care_of_a_newer_version(room)
    address = f"/admin/ask_bridge/room/{room.pk}/change/"
    form = admin_client.get(address).context["adminform"].form
    sent = {name: form[name].value() or "" for name in form.fields} | {"votes_needed": "2"}
    counts = {f"{prefix}-{name}": "0" for prefix in INLINES for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
    reply = admin_client.post(address, {**sent, **counts})
    assert "This needs a newer version of Ask Bridge" in reply.content.decode()
    room.refresh_from_db()
    assert room.care == {"veto": ["ana"]}


# ---- a newer schema --------------------------------------------------------------------------------------


def test_after_a_newer_migration_the_sweep_settles_nothing(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question], agent: Agent, ana: Any
) -> None:
    overdue = make_overdue(ask(timeout_seconds=60, default=DEFAULT))
    migrate_to_a_newer_version()
    lifecycle.sweep()
    assert state_of(overdue)[0] == "open"
    # Not by an answer that comes too late, and not by an agent that reads it.
    assert agent.read(overdue.pk)["status"] == "open"
    with pytest.raises(lifecycle.NeedsNewerVersion):
        lifecycle.decline(Question.objects.with_answer().get(pk=overdue.pk), ana)
    assert state_of(overdue)[0] == "open"


def test_after_a_newer_migration_people_answer_what_is_understood(question: Question, ana: Any) -> None:
    migrate_to_a_newer_version()
    lifecycle.sweep()
    assert lifecycle.answer(question, SQLITE, via=Answer.Via.WEB, user=ana).status == "answered"


def test_the_readiness_probe_says_so(client: Client, db: None) -> None:
    lifecycle.sweep()
    assert client.get("/readyz").json() == {"database": "ok"}
    migrate_to_a_newer_version()
    lifecycle.sweep()
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()) == (503, {"database": "ok", "version": "older_than_database"})


def test_it_is_logged_when_it_begins(db: None, caplog: pytest.LogCaptureFixture) -> None:
    migrate_to_a_newer_version()
    for _ in range(3):
        schema._looked_at = -1e9
        lifecycle.sweep()
    (record,) = [record for record in caplog.records if record.name == "rooms.db.schema"]
    assert record.levelno == logging.ERROR
    assert "has migrated the database (9000_later; this process knows 0" in record.message


def test_migrations_that_this_version_has_replaced_are_not_newer(db: None) -> None:
    # After a squash by a later version the table names migrations that this one has no file for.
    execute(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('ask_bridge', '0002_replaced', %s)",
        timezone.now(),
    )
    assert not schema.is_newer()


def test_no_table_of_migrations_is_read_where_a_portal_tests_without_them(
    ask: Callable[..., Question], make_overdue: Callable[[Question], Question], settings: Any
) -> None:
    """As with `pytest --no-migrations`."""
    settings.MIGRATION_MODULES = {"ask_bridge": None}
    question = make_overdue(ask())
    schema.forget()
    with CaptureQueriesContext(connection) as captured:
        lifecycle.sweep()
    assert state_of(question)[0] == "expired"
    assert not [query["sql"] for query in captured if "django_migrations" in query["sql"]]


# ---- what it costs ---------------------------------------------------------------------------------------


def test_the_ask_and_the_answer_have_no_statement_more(ask: Callable[..., Question], ana: Any) -> None:
    lifecycle.decline(ask(), ana)
    with CaptureQueriesContext(connection) as queries:
        lifecycle.answer(ask(), SQLITE, via=Answer.Via.WEB, user=ana)
    statements = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert not [sql for sql in statements if "django_migrations" in sql]
    assert len(statements) == STATEMENTS
