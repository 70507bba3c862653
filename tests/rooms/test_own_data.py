"""A person's data as one JSON document, by command and from their own Settings page."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from rooms import lifecycle
from rooms.models import Answer, Membership, NoticeRule, Preferences, PushSubscription, Question, Room
from rooms.privacy.own_data import data_of
from rooms.signals import exporting_person

Asking = Callable[..., Question]
SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}


@pytest.fixture
def done(ask: Asking, room: Room, ana: Any, ben: Any) -> Question:
    """What Ana did, beside some of Ben's."""
    question = lifecycle.answer(ask(), [{**SQLITE, "notes": "small"}], via=Answer.Via.WEB, user=ana)
    lifecycle.answer(ask(care={"votes": 2}), [SQLITE], via=Answer.Via.WEB, user=ana)
    lifecycle.withdraw(ask(), by=ana)
    lifecycle.say(room, ana, "Good morning")
    lifecycle.decline(ask(), ben, "Ben's reason")
    lifecycle.say(room, ben, "Ben's words")
    preferences = Preferences.objects.create(user=ana, theme="dark")
    preferences.muted_rooms.add(room)
    NoticeRule.objects.create(user=ana, room=room, push=5)
    PushSubscription.objects.create(
        user=ana, endpoint="https://push.example.org/1", label="Phone", auth="s3cret"
    )
    lifecycle.create_invitation(room, ana, days=1, max_uses=1)
    return question


def exported(username: str) -> Any:
    printed = StringIO()
    call_command("export_person", username, stdout=printed)
    return json.loads(printed.getvalue())


def test_the_command_prints_what_the_person_did_and_chose(done: Question, browser: Client) -> None:
    data = exported("ana")
    assert (data["account"]["username"], data["account"]["name"]) == ("ana", "Ana Costa")
    assert [(row["room"], row["role"]) for row in data["memberships"]] == [("ops", "member")]
    (answer,) = data["answers"]
    assert (answer["question"], answer["choices"][0]["notes"]) == (done.pk, "small")
    assert answer["asked"] == ["Which database should we use?"]
    assert [vote["choices"][0]["selectedOptions"] for vote in data["votes"]] == [["SQLite"]]
    assert len(data["closed_questions"]) == 1
    assert [message["content"] for message in data["messages"]] == ["Good morning"]
    assert (data["preferences"]["theme"], data["preferences"]["muted_rooms"]) == ("dark", ["ops"])
    assert data["notification_rules"] == [{"room": "ops", "push": 5, "mail": None}]
    assert data["devices"][0]["label"] == "Phone"
    assert len(data["invitations"]) == 1
    assert [session["is_valid"] for session in data["sessions"]] == [True]
    actions = {entry["action"] for entry in data["audit"]}
    assert {"answered", "voted", "withdrawn", "member_added", "invitation_created"} <= actions


def test_neither_secrets_nor_what_others_did_are_in_it(done: Question) -> None:
    text = json.dumps(exported("ana"))
    assert "s3cret" not in text
    assert "Ben" not in text


def test_a_new_account_with_the_name_of_a_deleted_one_gets_nothing_of_it(
    done: Question, ask: Asking, room: Room, ana: Any
) -> None:
    ana.delete()
    new = get_user_model().objects.create_user("ana")
    Membership.objects.create(room=room, user=new)
    data = exported("ana")
    assert [entry["action"] for entry in data["audit"]] == ["member_added"]
    assert data["closed_questions"] == []
    lifecycle.withdraw(ask(), by=new)
    data = exported("ana")
    assert [entry["action"] for entry in data["audit"]] == ["member_added", "withdrawn"]
    assert len(data["closed_questions"]) == 1


def test_a_user_model_without_a_date_still_tells_people_apart_by_their_ids(
    done: Question, room: Room, ana: Any
) -> None:
    ana.delete()
    new = get_user_model().objects.create_user("ana")
    Membership.objects.create(room=room, user=new)
    new.date_joined = None
    actions = [entry["action"] for entry in data_of(new)["audit"]]
    assert "answered" not in actions
    assert actions.count("member_added") == 1


def rename(user: Any, username: str) -> None:
    user.username = username
    user.save()


def test_a_renamed_person_keeps_what_they_did_under_the_name_before(
    done: Question, ask: Asking, ana: Any
) -> None:
    before = exported("ana")
    rename(ana, "anastasia")
    lifecycle.withdraw(ask(), by=ana)
    after = exported("anastasia")
    assert {entry["id"] for entry in before["audit"]} < {entry["id"] for entry in after["audit"]}
    assert {row["id"] for row in before["closed_questions"]} < {
        row["id"] for row in after["closed_questions"]
    }


def test_who_gets_the_name_of_a_renamed_person_gets_nothing_else(
    done: Question, ask: Asking, room: Room, ana: Any
) -> None:
    rename(ana, "anastasia")
    new = get_user_model().objects.create_user("ana")
    lifecycle.withdraw(theirs := ask(), by=new)
    lifecycle.answer(ask(), [SQLITE], via=Answer.Via.WEB, user=ana)
    assert [entry["subject"] for entry in exported("ana")["audit"]] == [theirs.pk]
    told = exported("anastasia")
    assert theirs.pk not in {entry["subject"] for entry in told["audit"]}
    assert theirs.pk not in {row["id"] for row in told["closed_questions"]}


def test_who_takes_the_name_of_a_deleted_person_gets_nothing_of_them(
    done: Question, ask: Asking, ana: Any, ben: Any
) -> None:
    """Ben's account is older than what Ana did."""
    ana.delete()
    lifecycle.answer(ask(), [SQLITE], via=Answer.Via.WEB, user=ben)
    rename(ben, "ana")
    told = exported("ana")
    assert "invitation_created" not in {entry["action"] for entry in told["audit"]}
    assert told["closed_questions"] == []


def test_the_settings_page_offers_the_same_as_a_file(done: Question, browser: Client) -> None:
    cache.clear()
    assert 'action="/settings/data"' in browser.get("/settings").content.decode()
    reply = browser.post("/settings/data")
    assert reply["Content-Disposition"] == 'attachment; filename="ask-bridge-my-data.json"'
    own, printed = json.loads(reply.content), exported("ana")
    assert own.pop("exported_at") <= printed.pop("exported_at")
    assert own == printed
    assert browser.post("/settings/data").status_code == 429
    assert Client().post("/settings/data").status_code == 302


def test_a_person_who_did_nothing_has_an_export_too(room: Room) -> None:
    get_user_model().objects.create_user("nobody")
    data = exported("nobody")
    assert (data["answers"], data["preferences"]) == ([], None)
    with pytest.raises(CommandError, match="There is no account nobody2"):
        call_command("export_person", "nobody2")


def test_it_works_in_a_portal_with_naive_times(done: Question, settings: Any) -> None:
    settings.USE_TZ = False
    browser = Client()
    browser.force_login(get_user_model().objects.get(username="ana"))
    assert [session["is_valid"] for session in exported("ana")["sessions"]] == [True]


def test_other_apps_add_what_they_store(ana: Any) -> None:
    def phone_of(sender: type, user: Any, **signal: Any) -> dict[str, str]:
        return {"phone": f"{user.username}-1"}

    exporting_person.connect(phone_of)
    try:
        assert exported("ana")["phone"] == "ana-1"
    finally:
        exporting_person.disconnect(phone_of)


def test_every_table_with_people_is_in_the_export_or_known_to_need_none() -> None:
    """A new relation to the user model has to be exported and anonymised as well."""
    covered = {
        *("answer.user", "message.user", "membership.user", "preferences.user", "presence.user"),
        *("noticepreferences.user", "noticerule.user", "pushsubscription.user", "notice.user"),
        *("agentkey.created_by", "invitation.created_by", "webhook.created_by"),
        "historyentry.user",  # a copy of the answer
    }
    related = {
        f"{model._meta.model_name}.{field.name}"
        for model in apps.get_app_config("ask_bridge").get_models()
        for field in model._meta.concrete_fields
        if field.related_model is get_user_model()
    }
    assert related == covered


def test_the_page_of_a_manager_asks_before_something_is_removed(
    done: Question, browser: Client, room: Room, ana: Any
) -> None:
    Membership.objects.filter(room=room, user=ana).update(role="manager")
    Question.objects.settled().update(settled_at="2020-01-01T00:00Z")
    address = "/rooms/ops/manage/retention"
    reply = browser.post(address, {"keep_days": "30"})
    assert reply.status_code == 422
    assert "questions 3, messages 0" in reply.content.decode()
    assert Room.objects.get().keep_days is None
    assert browser.post(address, {"keep_days": "30", "confirmed": "on"}).status_code == 303
    assert Room.objects.get().keep_days == 30
    assert browser.post(address, {"keep_days": ""}).status_code == 303
    assert Room.objects.get().keep_days is None
    for wrong in ("-1", "1.5", "40000", "x"):
        assert browser.post(address, {"keep_days": wrong}).status_code == 422
    assert 'name="confirmed"' not in browser.get(address).content.decode()
