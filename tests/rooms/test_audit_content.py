"""The audit covers content and order: changes by SQL (rewritten, removed, reordered) are found."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from rooms import access, audit, lifecycle
from rooms.contract.payload import parse_ask
from rooms.crypto import keyed_hash
from rooms.management.commands.verify_audit import Chains
from rooms.models import AgentKey, Answer, AuditEntry, Question, Room
from tests.rooms.conftest import ASK
from tests.rooms.test_audit import (  # noqa: F401 -- a fixture
    findings,
    migrate,
    run_sql,
    unguarded,
    verify,
)

# As the columns of a database without time zones take it, and of the others.
LONG_AGO = "2020-01-01 00:00:00" if connection.vendor == "mysql" else "2020-01-01 00:00:00+00:00"
SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
Asking = Callable[..., Question]


@pytest.fixture
def careful(ask: Asking, ana: Any, ben: Any) -> Question:
    """Answered by two votes."""
    question = ask(care={"votes": 2}, context={"text": "The tests pass."}, session_id="s", tool_use_id="t")
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    return lifecycle.answer(question, [{**SQLITE, "notes": "small"}], via=Answer.Via.WEB, user=ben)


# ---- content ---------------------------------------------------------------------------------------------

OTHER = json.dumps([{**SQLITE, "header": "", "selectedOptions": ["PostgreSQL"], "notes": None}])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("choices", OTHER),
        ("reason", "because"),
        ("person_name", "Eve"),
        ("through", "Chat bot"),
        ("asks_back", True),
        ("answered_at", LONG_AGO),
    ],
)
@pytest.mark.parametrize("via", [Answer.Via.WEB, Answer.Via.TERMINAL])
def test_rewritten_answer_is_found(
    question: Question, ana: Any, via: Answer.Via, column: str, value: Any
) -> None:
    lifecycle.answer(question, [SQLITE], via=via, user=ana if via == Answer.Via.WEB else None)
    assert verify().startswith("All is well")
    run_sql(f"UPDATE ask_bridge_answer SET {column} = %s", value)  # noqa: S608
    found = findings()
    if column == "asks_back":
        assert found[0].startswith(f"Question {question.pk} is asked_back")
    else:
        assert found == [f"The answer to question {question.pk} is not as it was given."]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("prompts", json.dumps([{**ASK["questions"][0], "question": "Drop it?"}])),
        ("context", "{}"),
        ("default_choices", OTHER),
        ("care", '{"first": null, "votes": null, "undo_seconds": 5, "escalate_seconds": null}'),
        ("agent_name", "other-bot"),
        ("agent_color", "#000000"),
        ("session_id", "other"),
        ("tool_use_id", "other"),
    ],
)
def test_rewritten_question_is_found(careful: Question, column: str, value: str) -> None:
    assert verify().startswith("All is well")
    run_sql(f"UPDATE ask_bridge_question SET {column} = %s", value)  # noqa: S608
    assert findings() == [f"Question {careful.pk} is not as it was asked."]


def test_rewritten_votes_are_found(careful: Question) -> None:
    votes = [{**vote, "name": "Eve"} for vote in careful.votes or ()]
    run_sql("UPDATE ask_bridge_question SET votes = %s", json.dumps(votes))
    assert findings() == [f"The votes of question {careful.pk} are not as they were cast."]


def test_invented_votes_are_found(ask: Asking, careful: Question) -> None:
    open_question = ask(care={"votes": 2})
    run_sql("UPDATE ask_bridge_question SET votes = %s", json.dumps(careful.votes))
    assert findings() == [f"Question {open_question.pk} has votes; its entries say nothing of any."]


def test_undone_votes_and_escalations_are_no_findings(ask: Asking, ana: Any, ben: Any) -> None:
    question = ask(care={"first": "ana", "undo_seconds": 60, "escalate_seconds": 60})
    held = lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    lifecycle.undo(held, ana)
    lifecycle.escalate(question)
    question.refresh_from_db()
    lifecycle.release(lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ben))
    assert verify().startswith("All is well")


def test_removed_answer_is_found(question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    run_sql("DELETE FROM ask_bridge_answer")
    assert len(findings()) == 1


def test_key_that_was_given_a_scope_is_found(agent: Any) -> None:
    AgentKey.objects.update(scopes=["ask", "answer"])
    assert findings() == [f"Key abk_{agent.key_row.lookup}_… may ask, answer; it was made to ask, terminal."]


def test_rewritten_answer_is_found_after_the_secret_was_rotated(
    question: Question, ana: Any, settings: Any
) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next one", [settings.SECRET_KEY]
    assert verify().startswith("All is well")
    run_sql("UPDATE ask_bridge_answer SET choices = %s", OTHER)
    assert findings() == [f"The answer to question {question.pk} is not as it was given."]


# ---- deletions -------------------------------------------------------------------------------------------


def test_question_that_disappeared_is_found(ask: Asking, ana: Any) -> None:
    gone, _ = lifecycle.decline(ask(), ana), ask()
    Question.objects.filter(pk=gone.pk).delete()
    assert findings() == [f"Question {gone.pk} of room ops is missing; no entry says that it was deleted."]


@pytest.mark.parametrize("way", ["page", "action"])
def test_question_deleted_in_the_admin_has_an_entry(ask: Asking, ana: Any, way: str) -> None:
    question = lifecycle.decline(ask(), ana)
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    if way == "page":
        address = reverse("admin:ask_bridge_question_delete", args=(question.pk,))
        browser.post(address, {"post": "yes"})
    else:
        chosen = {"action": "delete_selected", "_selected_action": question.pk, "post": "yes"}
        browser.post(reverse("admin:ask_bridge_question_changelist"), chosen)
    assert not Question.objects.exists()
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor, entry.subject) == ("question_deleted", "root", question.pk)
    assert verify().startswith("All is well")


def test_room_that_was_deleted_takes_its_questions_along(question: Question, room: Room) -> None:
    lifecycle.archive_room(room)
    room.delete()
    assert verify().startswith("All is well")


# ---- order -----------------------------------------------------------------------------------------------


def test_each_entry_names_the_one_before_in_its_room(careful: Question, foreign_agent: Any) -> None:
    for room in Room.objects.all():
        previous = ""
        for entry in AuditEntry.objects.filter(chain=room.pk):
            assert entry.previous == previous
            previous = entry.digest
        assert room.audit_head == previous


def test_removed_entry_is_found(ask: Asking, room: Room, foreign_agent: Any) -> None:
    """Also one that no question, key or member misses."""
    lifecycle.archive_room(room)
    lifecycle.restore_room(room)
    archived, restored = AuditEntry.objects.filter(action__startswith="room_", room="ops")[1:]
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE id = %s", archived.pk)
    assert findings() == [f"The entry before {restored.pk} (room_restored ) in ops is missing."]
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE id = %s", restored.pk)
    assert findings() == ["The last entry of ops is missing."]


def test_first_entry_that_was_removed_is_found(room: Room) -> None:
    first = AuditEntry.objects.get(action="room_created")
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE id = %s", first.pk)
    (found,) = findings()
    assert found.endswith("in ops is missing.")


def test_entries_cannot_be_closed_up_behind_a_removed_one(room: Room) -> None:
    lifecycle.archive_room(room)
    lifecycle.restore_room(room)
    archived, restored = AuditEntry.objects.filter(action__startswith="room_")[1:]
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE id = %s", archived.pk)
        closed = "UPDATE ask_bridge_auditentry SET previous = %s WHERE id = %s"
        run_sql(closed, archived.previous, restored.pk)
    assert findings() == [f"Entry {restored.pk} (room_restored ) is not as it was written."]


def test_entries_that_follow_the_same_one_are_found(room: Room) -> None:
    head = Room.objects.get().audit_head
    lifecycle.archive_room(room)
    Room.objects.update(audit_head=head)
    lifecycle.restore_room(room)
    first, second = AuditEntry.objects.filter(action__in=("room_archived", "room_restored"))
    assert findings() == [f"The entries {first.pk} and {second.pk} in ops follow the same one."]


def test_saving_a_room_that_was_read_earlier_leaves_the_chain_alone(ask: Asking, room: Room) -> None:
    ask()
    room.name = "Operations and more"
    room.save()
    ask()
    assert Room.objects.get().name == "Operations and more"
    assert verify().startswith("All is well")


def test_ids_need_not_follow_the_chain(careful: Question) -> None:
    """The clocks of several machines disagree by a moment."""
    chains = Chains()
    for entry in AuditEntry.objects.order_by("-pk"):
        chains.add(entry)
    assert chains.broken() == []


def test_entries_that_are_written_meanwhile_are_no_finding(ask: Asking) -> None:
    chains = Chains()
    ask()
    for entry in AuditEntry.objects.all():
        chains.add(entry)
    assert chains.broken() == []


@pytest.mark.django_db(transaction=True)
def test_chain_holds_whatever_happens_at_once(room: Room, key: Any, ana: Any, ben: Any) -> None:
    def ask(number: int) -> None:
        question, _ = lifecycle.ask(room, key[0], parse_ask(ASK))
        lifecycle.decline(question, ana)

    def change_keys(number: int) -> None:
        made, _ = access.create_key(room, label=str(number), created_by=ana)
        access.rotate_key(made, by=ana)
        access.revoke_keys(AgentKey.objects.filter(lineage=made.lookup))

    def change_members(number: int) -> None:
        person = get_user_model().objects.create_user(f"person-{number}")
        room.memberships.create(user=person)
        person.delete()

    def closing(change: Callable[[int], None], number: int) -> None:
        try:
            change(number)
        finally:
            connection.close()

    changes = (ask, change_keys, change_members)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: closing(changes[number % 3], number), range(30)))
    assert verify().startswith("All is well")


# ---- a site that was in use before -----------------------------------------------------------------------


def test_older_entries_are_well_and_the_command_says_from_when_on_content_is_covered(
    migrate: Callable[[str], Any],  # noqa: F811
) -> None:
    old = migrate("0014_key_scopes")
    user = get_user_model().objects.create_user("ana")
    room = old.get_model("ask_bridge", "Room").objects.create(slug="ops", name="Operations", is_open=True)
    common = {"room": room, "prompts": ASK["questions"], "revision": 1, "agent_name": "bot"}
    old.get_model("ask_bridge", "Question").objects.create(id="q_old", position=1, **common)
    entries = old.get_model("ask_bridge", "AuditEntry").objects
    entry = entries.model(room="ops", action="asked", actor_type="agent", subject="q_old")
    entry.digest = keyed_hash(audit.PURPOSE, audit.hashed_text(entry))
    entry.save()

    call_command("migrate", "ask_bridge", verbosity=0)
    assert verify() == "All is well: 1 entries.\n"
    lifecycle.decline(Question.objects.get(), user)
    covered = AuditEntry.objects.latest("pk").at
    assert verify() == (
        f"What was asked and answered is covered since {covered:%Y-%m-%d %H:%M} UTC.\n"
        "All is well: 2 entries.\n"
    )
    run_sql("UPDATE ask_bridge_answer SET reason = 'no'")
    assert findings() == ["The answer to question q_old is not as it was given."]
