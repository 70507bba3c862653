"""A person becomes anonymous in every table, what they decided stays, and the audit still verifies."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.history import writer
from rooms.models import (
    Answer,
    AuditEntry,
    HistoryEntry,
    Membership,
    Message,
    Notice,
    NoticePreferences,
    NoticeRule,
    Preferences,
    Presence,
    PushSubscription,
    Question,
    Room,
)
from rooms.privacy import people
from tests.harness.whole_database import places_of
from tests.rooms.test_audit import findings, run_sql, unguarded, verify

Asking = Callable[..., Question]
SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
# No word of the app, and no beginning of one: also found in pieces of an index.
USERNAME, FIRST, LAST = "xquibblefum", "Xorothea", "Xanthippus-Qü"
NAMES = (USERNAME, FIRST.lower(), "Xanthippus")


@pytest.fixture
def xo(room: Room) -> Any:
    """A manager of the room who did everything that a person can do."""
    user = get_user_model().objects.create_user(
        USERNAME, email=f"{USERNAME}@example.org", first_name=FIRST, last_name=LAST
    )
    Membership.objects.create(room=room, user=user, role=Membership.Role.MANAGER)
    return user


def choose(question: Question, user: Any, **options: Any) -> Question:
    return lifecycle.answer(
        question, [{**SQLITE, "notes": "small"}], via=Answer.Via.WEB, user=user, **options
    )


@pytest.fixture
def traces(ask: Asking, room: Room, xo: Any, ana: Any, chat_bot: Any, key: Any) -> dict[str, Question]:
    """Every place in which the app stores the name of a person."""
    left = {
        "answered": choose(ask(), xo),
        "voted": choose(choose(ask(care={"votes": 2}), xo), ana),
        "voted_last": choose(choose(ask(care={"votes": 2}), ana), xo),
        "asked_first": ask(care={"first": USERNAME, "escalate_seconds": 60}),
        "withdrawn": lifecycle.withdraw(ask(), by=xo),
        "through": lifecycle.answer(ask(), [SQLITE], via=Answer.Via.API, user=xo, key=chat_bot.key_row),
        "held": choose(ask(), xo, undo_seconds=600),
        "half": choose(ask(care={"votes": 2}), xo),
        "shows": ask(),
        "skipped": lifecycle.decline(ask(), xo, "not now"),
    }
    lifecycle.correct(left["answered"], xo, "rather PostgreSQL")
    lifecycle.say(room, xo, "Good morning")
    writer.catch_up()
    found = {"question_id": left["answered"].pk, "question": "Which?", "chosen": ["SQLite"], "percent": 90}
    at = timezone.now()
    shown = {
        **found,
        "selected": [["SQLite"]],
        "notes": [],
        "person": f"{FIRST} {LAST}",
        "at": at.isoformat(),
    }
    lifecycle.recall(left["shows"].pk, [shown])
    Preferences.objects.create(user=xo)
    Presence.objects.create(user=xo, until=at)
    NoticePreferences.objects.create(user=xo)
    NoticeRule.objects.create(user=xo, room=room)
    PushSubscription.objects.create(user=xo, endpoint="https://push.example.org/1", label="Phone")
    times = {"due_at": at, "next_attempt_at": at}
    Notice.objects.create(
        user=xo, kind="asked", channel="mail", target="mail:1", question=left["answered"],
        last_error=f"{USERNAME}@example.org is unknown", **times,
    )  # fmt: skip
    care = {"first": {"people": [USERNAME], "role": None}, "votes": None}
    room.care = {**care, "undo_seconds": None, "escalate_seconds": 60}
    lifecycle.change_room(room, ["care"], by=xo)
    lifecycle.create_invitation(room, xo, days=1, max_uses=1)
    member = Membership.objects.create(room=room, user=get_user_model().objects.create_user("guest"))
    lifecycle.remove_member(member, by=xo)
    return left


def outside_accounts(name: str) -> list[str]:
    return [place for place in places_of(name) if not place.startswith("auth_user")]


def by_hand(user: Any) -> None:
    people.anonymise(user)


def by_command(user: Any) -> None:
    call_command("anonymise_person", user.get_username(), stdout=StringIO())


def in_the_admin(user: Any) -> None:
    """The action on the list of members, by a superuser."""
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    chosen = {"action": "anonymise", "_selected_action": Membership.objects.get(user=user).pk}
    asked = browser.post("/admin/ask_bridge/membership/", chosen)
    assert "cannot be undone" in asked.content.decode()
    assert Membership.objects.filter(user=user).exists()
    browser.post("/admin/ask_bridge/membership/", {**chosen, "confirmed": "yes"})


@pytest.mark.parametrize("anonymise", [by_hand, by_command, in_the_admin])
def test_no_table_has_the_name_any_more(
    traces: dict[str, Question], xo: Any, anonymise: Callable[[Any], None]
) -> None:
    assert verify().startswith("All is well")
    columns = {place.rpartition("ask_bridge_")[2] for place in outside_accounts(USERNAME)}
    assert {"answer.username", "question.votes", "question.care", "question.ended", "room.care"} <= columns
    assert {"auditentry.actor", "auditentry.details", "notice.last_error"} <= columns
    shown = {place.rpartition("ask_bridge_")[2] for place in outside_accounts(FIRST)}
    assert {"answer.person_name", "message.sender", "ending.sender", "historyentry.text"} <= shown
    assert {"question.memories", "historyentry.labels", "answer.choices"} <= shown
    anonymise(xo)
    for name in NAMES:
        assert outside_accounts(name) == []
    assert verify().startswith("All is well")


def test_what_was_decided_stays(traces: dict[str, Question], xo: Any, ana: Any) -> None:
    people.anonymise(xo)
    answer = Answer.objects.get(question=traces["answered"])
    assert (answer.user, answer.person_name, answer.choices[0]["selectedOptions"]) == (
        None,
        "Anonymous",
        ["SQLite"],
    )
    assert answer.username.startswith("anonymous-")
    votes = Question.objects.get(pk=traces["voted"].pk).votes or []
    assert [vote["name"] for vote in votes] == ["Anonymous", "Ana Costa"]
    assert len({vote["user_id"] for vote in votes}) == 2
    notes = Answer.objects.get(question=traces["voted"]).choices[0]["notes"]
    assert notes == "Anonymous: small\nAna Costa: small"
    said = Message.objects.order_by("position").values_list("sender", "content", "user")
    assert list(said) == [("Anonymous", "rather PostgreSQL", None), ("Anonymous", "Good morning", None)]
    for model in (Preferences, Presence, NoticePreferences, NoticeRule, PushSubscription, Notice):
        assert not model.objects.exists()
    assert HistoryEntry.objects.get(question=traces["answered"]).person_name == "Anonymous"


def test_a_name_that_was_found_before_does_not_return_with_an_earlier_answer(
    ask: Asking, traces: dict[str, Question], xo: Any
) -> None:
    """As of a lookup that read the earlier answer just before, and stores it with a card just after."""
    card = ask()
    found = Question.objects.get(pk=traces["shows"].pk).memories
    assert [memory["person"] for memory in found] == [f"{FIRST} {LAST}"]
    people.anonymise(xo)
    lifecycle.recall(card.pk, found)
    card.refresh_from_db()
    assert [memory["person"] for memory in card.memories] == ["Anonymous"]


def test_decisions_that_were_not_final_go_on(traces: dict[str, Question], xo: Any, ana: Any) -> None:
    people.anonymise(xo)
    released = lifecycle.release(Question.objects.with_answer().get(pk=traces["held"].pk))
    assert (released.status, released.answer.person_name, released.answer.user) == (
        "answered",
        "Anonymous",
        None,
    )
    decided = choose(Question.objects.with_answer().get(pk=traces["half"].pk), ana)
    assert decided.status == "answered"
    assert verify().startswith("All is well")


def test_other_people_keep_their_names(traces: dict[str, Question], xo: Any, ana: Any) -> None:
    entries = AuditEntry.objects.filter(actor="ana").count()
    people.anonymise(xo)
    assert AuditEntry.objects.filter(actor="ana").count() == entries
    assert Answer.objects.get(question=traces["voted"]).person_name == "Ana Costa"


def test_deleting_an_account_keeps_the_name_unless_the_site_says_otherwise(
    traces: dict[str, Question], xo: Any
) -> None:
    xo.delete()
    assert Answer.objects.get(question=traces["answered"]).person_name == f"{FIRST} {LAST}"


def test_deleting_an_account_anonymises_where_the_site_says_so(
    traces: dict[str, Question], xo: Any, settings: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "DELETED_PEOPLE": "anonymous"}
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    browser.post(f"/admin/auth/user/{xo.pk}/delete/", {"post": "yes"})
    assert not get_user_model().objects.filter(username=USERNAME).exists()
    people.erasing.erase()
    for name in NAMES:
        assert places_of(name) == []
    assert verify().startswith("All is well")


def test_a_person_whose_account_is_gone_is_found_by_the_user_name(
    traces: dict[str, Question], xo: Any
) -> None:
    xo.delete()
    people.erasing.erase()
    call_command("anonymise_person", USERNAME, stdout=StringIO())
    # Of a deleted account these are the only links to a name that is shown.
    for name in NAMES:
        assert places_of(name) == []
    assert verify().startswith("All is well")


def test_the_command_names_what_has_to_be_done_and_deletes_the_account(
    traces: dict[str, Question], xo: Any
) -> None:
    printed = StringIO()
    call_command("anonymise_person", USERNAME, "--delete-account", stdout=printed)
    assert "The careful questions of ops name this person: name another one." in printed.getvalue()
    assert places_of(USERNAME) == []
    with pytest.raises(CommandError, match="Nothing is stored"):
        call_command("anonymise_person", USERNAME)


def test_the_command_deletes_the_account_that_it_has_found(
    traces: dict[str, Question], xo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A portal whose people sign in by e-mail address often finds them in any case."""
    monkeypatch.setattr(
        get_user_model().objects.__class__,
        "get_by_natural_key",
        lambda users, username: users.get(username__iexact=username),
    )
    printed = StringIO()
    call_command("anonymise_person", USERNAME.title(), "--delete-account", stdout=printed)
    assert "The account is deleted." in printed.getvalue()
    assert not get_user_model().objects.filter(pk=xo.pk).exists()


def test_earlier_user_names_go_as_well_but_not_of_whoever_has_them_now(
    ask: Asking, xo: Any, room: Room
) -> None:
    choose(ask(), xo)
    xo.username = "xrenamed"
    xo.save()
    people.anonymise(xo)
    assert outside_accounts(USERNAME) == []
    taken = get_user_model().objects.create_user("xtaken")
    first, second = choose(ask(), taken), ask()
    taken.username = "xleft"
    taken.save()
    heir = get_user_model().objects.create_user("xtaken")
    choose(second, heir)
    people.anonymise(taken)
    assert Answer.objects.get(question=first).username.startswith("anonymous-")
    assert Answer.objects.get(question=second).username == "xtaken"


# ---- the audit -------------------------------------------------------------------------------------------


def test_the_chain_is_the_same_as_before(traces: dict[str, Question], xo: Any) -> None:
    before = list(AuditEntry.objects.order_by("pk").values_list("pk", "at", "digest", "previous", "link"))
    people.anonymise(xo)
    after = list(AuditEntry.objects.order_by("pk").values_list("pk", "at", "digest", "previous", "link"))
    assert after[: len(before)] == before
    reasons = AuditEntry.objects.filter(action="person_anonymised")
    assert {entry.actor_type for entry in reasons} == {"system"}
    assert set(AuditEntry.objects.exclude(redacted_by="").values_list("redacted_by", flat=True)) == {
        entry.pk for entry in reasons
    }


def test_what_was_changed_before_is_still_found(traces: dict[str, Question], xo: Any) -> None:
    run_sql("UPDATE ask_bridge_answer SET reason = 'forged' WHERE question_id = %s", traces["answered"].pk)
    entry = AuditEntry.objects.get(action="voted", subject=traces["half"].pk)
    with unguarded():
        run_sql("UPDATE ask_bridge_auditentry SET room = 'forged' WHERE id = %s", entry.pk)
    before = findings()
    people.anonymise(xo)
    assert findings() == before


def test_what_is_changed_afterwards_is_found(traces: dict[str, Question], xo: Any) -> None:
    people.anonymise(xo)
    answered = traces["answered"].pk
    run_sql("UPDATE ask_bridge_answer SET choices = %s WHERE question_id = %s", json.dumps([]), answered)
    entry = AuditEntry.objects.get(action="withdrawn")
    with unguarded():
        run_sql("UPDATE ask_bridge_auditentry SET actor = 'ben' WHERE id = %s", entry.pk)
    assert findings() == [
        f"Entry {entry.pk} (withdrawn {entry.subject}) is not as it was written.",
        f"The answer to question {answered} is not as it was given.",
    ]


def test_an_entry_that_says_why_cannot_disappear(ask: Asking, xo: Any, room: Room) -> None:
    choose(ask(), xo)
    people.anonymise(xo)
    reason = AuditEntry.objects.get(action="person_anonymised", chain=room.pk)
    count = AuditEntry.objects.filter(redacted_by=reason.pk).count()
    with unguarded():
        run_sql("DELETE FROM ask_bridge_auditentry WHERE id = %s", reason.pk)
    lost = [line for line in findings() if line.endswith("lost its names; no entry says why.")]
    assert len(lost) == count > 1


def test_the_database_lets_names_be_replaced_and_nothing_else(question: Question) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a trigger of PostgreSQL")
    entry = AuditEntry.objects.latest("pk")
    for assignment in (
        "actor = 'x'",
        "subject = 'x', redaction = 'x', redacted_by = ''",
        "digest = 'x', redaction = 'x', redacted_by = 'x'",
        "at = now(), redaction = 'x', redacted_by = 'x'",
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            run_sql(f"UPDATE ask_bridge_auditentry SET {assignment} WHERE id = %s", entry.pk)  # noqa: S608
    run_sql("UPDATE ask_bridge_auditentry SET actor = 'x', redaction = 'x', redacted_by = 'x'")
    assert findings()
