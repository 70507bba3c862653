"""The notification planner: who is notified of a question, by which channel and when (rows of the outbox)."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rooms import lifecycle
from rooms.models import (
    Answer,
    Bookmark,
    Membership,
    Notice,
    NoticePreferences,
    NoticeRule,
    PushSubscription,
    Question,
    Room,
)
from rooms.models.notifications import AT_ONCE, OFF
from rooms.notifications import outbox, planner, rules, webhooks
from rooms.notifications.channels import email
from rooms.people import preferences
from rooms.permissions import Permissions

Ask = Callable[..., Question]

# On MariaDB the room is locked first.
LOCKS = int(connection.vendor == "mysql")


def device_of(user: Any, name: str = "phone") -> PushSubscription:
    return PushSubscription.objects.create(
        user=user, endpoint=f"https://push.example.org/{user.pk}/{name}", p256dh="x", auth="y", label=name
    )


def wants(user: Any, **fields: Any) -> NoticePreferences:
    return NoticePreferences.objects.update_or_create(pk=user.pk, defaults=fields)[0]


def told(question: Question) -> set[tuple[str, str]]:
    planner.read()
    rows = Notice.objects.filter(question=question).select_related("user")
    return {(str(row.user), row.channel) for row in rows}


def minutes_until(notice: Notice) -> float:
    assert notice.question
    return (notice.due_at - notice.question.asked_at).total_seconds() / 60


@pytest.fixture
def phone(ana: Any) -> PushSubscription:
    return device_of(ana)


# ---- who -------------------------------------------------------------------------------------------------


def test_a_device_is_enough_to_be_told(phone: PushSubscription, question: Question) -> None:
    assert told(question) == {("ana", "push")}
    notice = Notice.objects.get()
    assert (notice.kind, notice.target, minutes_until(notice)) == ("asked", f"push:{phone.pk}", 0)


def test_every_device_of_a_person_is_told(ana: Any, ask: Ask) -> None:
    device_of(ana, "phone")
    device_of(ana, "laptop")
    told(ask())
    assert Notice.objects.count() == 2


def test_who_never_chose_gets_no_mail(ana: Any, question: Question) -> None:
    ana.email = "ana@example.org"
    ana.save()
    assert told(question) == set()


def test_mail_is_for_those_who_want_it_and_have_an_address(ana: Any, ben: Any, question: Question) -> None:
    for user in (ana, ben):
        wants(user, mail=AT_ONCE)
    ana.email = "ana@example.org"
    ana.save()
    assert told(question) == {("ana", "mail")}


def test_strangers_hear_nothing(phone: PushSubscription, ask: Ask, admin_user: Any) -> None:
    stranger = get_user_model().objects.create_user("stranger")
    device_of(stranger)
    device_of(admin_user)
    # A superuser sees every room, here as on the pages.
    assert told(ask()) == {("ana", "push"), ("admin", "push")}


def test_all_people_hear_of_an_open_room(ana: Any, key: Any, ask: Ask, room: Room) -> None:
    Room.objects.filter(pk=room.pk).update(is_open=True)
    device_of(get_user_model().objects.create_user("stranger"))
    assert told(ask()) == {("stranger", "push")}


def test_who_was_deactivated_hears_nothing(ana: Any, phone: PushSubscription, question: Question) -> None:
    ana.is_active = False
    ana.save()
    assert told(question) == set()


def test_a_muted_room_is_silent(ana: Any, phone: PushSubscription, room: Room, ask: Ask) -> None:
    preferences.mute(ana, room, True)
    assert told(ask()) == set()


class BenSeesNothing(Permissions):
    def visible_rooms(self, user: Any, rooms: Any) -> Any:
        return rooms.none() if user.username == "ben" else rooms


def test_a_portals_rules_decide(ana: Any, ben: Any, ask: Ask, settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": f"{__name__}.BenSeesNothing"}
    for user in (ana, ben, get_user_model().objects.create_user("cleo")):
        device_of(user)
    assert told(ask()) == {("ana", "push"), ("cleo", "push")}


def test_a_device_that_came_later_is_not_told_of_what_was_there(ana: Any, question: Question) -> None:
    device_of(ana)
    assert told(question) == set()


def test_people_may_have_long_keys(room: Room) -> None:
    """Portals with texts as primary keys of their users."""
    person = get_user_model()(pk="x" * 255)
    row = email.recipient(person).notice(Notice.Kind.ASKED, None, timezone.now())
    Notice._meta.get_field("target").clean(row.target, row)


# ---- when ------------------------------------------------------------------------------------------------


def test_each_way_has_its_own_time(ana: Any, phone: PushSubscription, ask: Ask) -> None:
    ana.email = "ana@example.org"
    ana.save()
    wants(ana, push=2, mail=30)
    told(ask())
    assert {row.channel: minutes_until(row) for row in Notice.objects.all()} == {"push": 2, "mail": 30}


def test_a_room_may_differ(ana: Any, phone: PushSubscription, room: Room, ask: Ask) -> None:
    ana.email = "ana@example.org"
    ana.save()
    wants(ana, push=AT_ONCE, mail=30)
    NoticeRule.objects.create(user=ana, room=room, push=OFF, mail=None)
    told(ask())
    assert [(row.channel, minutes_until(row)) for row in Notice.objects.all()] == [("mail", 30)]
    # A room alone is reason enough for mails.
    NoticePreferences.objects.all().delete()
    NoticeRule.objects.update(mail=AT_ONCE)
    assert told(ask()) == {("ana", "mail")}


def quiet(begin: str, end: str, zone: str = "Europe/Berlin") -> NoticePreferences:
    return NoticePreferences(
        quiet_from=time.fromisoformat(begin), quiet_to=time.fromisoformat(end), time_zone=zone
    )


@pytest.mark.parametrize(
    ("begin", "end", "at", "free_at"),
    [
        # Winter in Berlin is an hour ahead of UTC, summer two.
        ("22:00", "07:00", "2026-01-10T20:59", None),
        ("22:00", "07:00", "2026-01-10T21:00", "2026-01-11T06:00"),
        ("22:00", "07:00", "2026-01-11T02:00", "2026-01-11T06:00"),
        ("22:00", "07:00", "2026-01-11T06:00", None),
        ("22:00", "07:00", "2026-07-10T20:00", "2026-07-11T05:00"),
        ("12:00", "13:00", "2026-01-10T11:30", "2026-01-10T12:00"),
        ("12:00", "13:00", "2026-01-10T10:59", None),
        # The nights in which the clock is changed have 23 and 25 hours; 07:00 stays 07:00.
        ("22:00", "07:00", "2026-03-28T22:00", "2026-03-29T05:00"),
        ("22:00", "07:00", "2026-10-24T21:00", "2026-10-25T06:00"),
        # 02:30 is not on the clock that night: as soon as it is past.
        ("22:00", "02:30", "2026-03-28T23:00", "2026-03-29T01:30"),
        # Both are 02:15; what counts is what the clock shows.
        ("22:00", "03:00", "2026-10-25T00:15", "2026-10-25T02:00"),
        ("22:00", "03:00", "2026-10-25T01:15", "2026-10-25T02:00"),
        ("08:00", "08:00", "2026-01-10T07:00", None),
    ],
)
def test_quiet_hours_are_those_of_the_wall_clock(begin: str, end: str, at: str, free_at: str | None) -> None:
    ends = rules.end_of_quiet(quiet(begin, end), datetime.fromisoformat(at).replace(tzinfo=UTC))
    expected = datetime.fromisoformat(free_at).replace(tzinfo=UTC) if free_at else None
    assert (ends.astimezone(UTC) if ends else None) == expected


def test_quiet_hours_without_a_zone_are_the_sites(settings: Any) -> None:
    noon = datetime(2026, 1, 10, 12, tzinfo=UTC)
    for unknown in ("", "Nowhere/Atlantis", "../../etc/passwd"):
        assert rules.end_of_quiet(quiet("11:00", "13:00", unknown), noon) == noon + timedelta(hours=1)


def test_a_notice_in_quiet_hours_is_due_after_them(ana: Any, phone: PushSubscription, ask: Ask) -> None:
    now = timezone.now()
    wants(
        ana,
        quiet_from=(now - timedelta(hours=1)).time(),
        quiet_to=(now + timedelta(hours=2)).time().replace(microsecond=0),
    )
    told(ask())
    assert 115 <= minutes_until(Notice.objects.get()) <= 120


# ---- once ------------------------------------------------------------------------------------------------


def test_a_question_is_told_once_however_often_it_changes(
    phone: PushSubscription, question: Question
) -> None:
    for _ in range(3):
        told(question)
        lifecycle.wait_started(question.pk)
        lifecycle.wait_ended(question.pk)
    told(question)
    assert Notice.objects.count() == 1


def test_what_was_settled_before_it_was_planned_is_not_told(
    ana: Any, phone: PushSubscription, question: Question
) -> None:
    lifecycle.decline(question, ana)
    assert told(question) == set()


def test_yesterdays_questions_are_no_news(phone: PushSubscription, question: Question) -> None:
    Question.objects.update(asked_at=timezone.now() - timedelta(days=2))
    PushSubscription.objects.update(created_at=timezone.now() - timedelta(days=3))
    assert told(question) == set()


def test_asking_and_clicking_do_nothing_for_it(ana: Any, phone: PushSubscription, ask: Ask) -> None:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        question = ask()
        lifecycle.decline(question, ana)
    assert not [query for query in captured if re.search("notice|push|webhook", query["sql"])]
    assert not Notice.objects.exists()


def test_a_room_without_notifications_costs_few_queries(question: Question) -> None:
    with CaptureQueriesContext(connection) as captured:
        planner.read()
    assert len(captured) < 15 + LOCKS
    with CaptureQueriesContext(connection) as captured:
        planner.read()
    assert len(captured) == 1
    assert Bookmark.objects.get(reader="notices").revision == question.revision


def test_what_was_told_costs_hardly_anything_when_its_agent_comes_and_goes(
    phone: PushSubscription, escalated: Question
) -> None:
    Membership.objects.update(role=Membership.Role.MANAGER)
    planner.read()
    assert Notice.objects.count() == 2
    lifecycle.wait_started(escalated.pk)
    with CaptureQueriesContext(connection) as captured:
        planner.read()
    read = [query["sql"] for query in captured if query["sql"].startswith("SELECT")]
    # The rooms with their bookmarks, the questions, and of what kind they were told.
    assert len(read) == 4 + LOCKS
    assert not [sql for sql in read if "auth_user" in sql]


# ---- settled ---------------------------------------------------------------------------------------------


def test_a_settled_question_takes_back_what_is_not_sent_yet(
    ana: Any, phone: PushSubscription, question: Question
) -> None:
    told(question)
    lifecycle.answer(
        question,
        [{"question": "Which database should we use?", "selectedOptions": ["SQLite"]}],
        via=Answer.Via.WEB,
        user=ana,
    )
    planner.read()
    notice = Notice.objects.get()
    assert notice.cancelled_at
    assert notice.last_error == "The question was settled before the notification was due."


def test_who_was_told_hears_that_it_is_over(ana: Any, room: Room, phone: PushSubscription, ask: Ask) -> None:
    ana.email = "ana@example.org"
    ana.save()
    wants(ana, mail=AT_ONCE)
    hook, _ = webhooks.add(room, ana, url="https://example.org/hook", label="hook")
    webhooks.add(room, ana, url="https://example.org/x", label="x", on_settled=False)
    question = ask()
    told(question)
    Notice.objects.update(attempts=1, sent_at=timezone.now())
    lifecycle.decline(question, ana)
    planner.read()
    # No second mail, and nothing for who does not want it.
    settled = Notice.objects.filter(kind=Notice.Kind.SETTLED)
    assert {row.target for row in settled} == {f"push:{phone.pk}", f"webhook:{hook.pk}"}


def test_a_webhook_may_want_results_only(ana: Any, room: Room, ask: Ask) -> None:
    webhooks.add(room, ana, url="https://example.org/hook", label="hook", on_asked=False)
    question = ask()
    assert told(question) == set()
    lifecycle.decline(question, ana)
    assert told(question) == {("None", "webhook")}


# ---- escalated -------------------------------------------------------------------------------------------


@pytest.fixture
def escalated(ask: Ask) -> Question:
    """As the sweep leaves it when its time has passed."""
    question = ask(care={"escalate_seconds": 60})
    planner.read()
    Question.objects.update(escalates_at=timezone.now() - timedelta(seconds=1))
    lifecycle.sweep()
    return question


def test_managers_are_told_of_questions_without_an_answer(
    ana: Any, ben: Any, room: Room, escalated: Question
) -> None:
    device_of(ana)
    device_of(ben)
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    planner.read()
    notice = Notice.objects.get(kind=Notice.Kind.ESCALATED)
    assert notice.user == ben
    assert notice.due_at <= timezone.now()
    planner.read()
    assert Notice.objects.filter(kind=Notice.Kind.ESCALATED).count() == 1


def test_an_escalation_is_news_however_long_ago_it_was_asked(ben: Any, room: Room, ask: Ask) -> None:
    device_of(ben)
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    ask(care={"escalate_seconds": 60})
    planner.read()
    Notice.objects.update(attempts=1, sent_at=timezone.now())
    Question.objects.update(
        asked_at=timezone.now() - timedelta(days=30), escalates_at=timezone.now() - timedelta(seconds=1)
    )
    lifecycle.sweep()
    planner.read()
    notice = Notice.objects.get(kind=Notice.Kind.ESCALATED)
    # Nor is it taken for too old when it is about to be sent.
    assert [parcel.notice for parcel in outbox.claim(4)] == [notice]


def test_an_escalation_is_told_once_however_long_it_waits(ben: Any, room: Room, escalated: Question) -> None:
    device_of(ben)
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    planner.read()
    Notice.objects.update(created_at=timezone.now() - timedelta(days=60), sent_at=timezone.now())
    outbox.forget_old()
    lifecycle.wait_started(escalated.pk)
    planner.read()
    assert [row.sent_at is not None for row in Notice.objects.filter(kind="escalated")] == [True]
    lifecycle.decline(escalated, ben)
    outbox.forget_old()
    assert not Notice.objects.exists()


def test_a_manager_without_a_vote_is_told_of_an_escalation(ana: Any, ben: Any, room: Room, ask: Ask) -> None:
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    device_of(ben)
    ask(care={"escalate_seconds": 60, "votes": {"needed": 2, "of": ["ana", "cleo"]}})
    planner.read()
    Question.objects.update(escalates_at=timezone.now() - timedelta(seconds=1))
    lifecycle.sweep()
    planner.read()
    assert [(row.kind, row.user) for row in Notice.objects.all()] == [("escalated", ben)]


@pytest.mark.parametrize("waits", [False, True])
def test_quiet_hours_do_not_hold_an_escalation_up_by_default(
    ben: Any, room: Room, escalated: Question, waits: bool
) -> None:
    now = timezone.now()
    hours = {"quiet_from": (now - timedelta(hours=1)).time(), "quiet_to": (now + timedelta(hours=2)).time()}
    wants(ben, **hours, escalations_wait=waits, push=30)
    device_of(ben)
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    planner.read()
    due_at = Notice.objects.get(kind=Notice.Kind.ESCALATED).due_at
    assert (due_at > timezone.now()) is waits


@pytest.mark.parametrize("care", [{"escalate_seconds": 60}, {"undo_seconds": 10}])
def test_what_has_not_escalated_calls_no_manager(
    ben: Any, room: Room, ask: Ask, care: dict[str, int]
) -> None:
    Membership.objects.filter(user=ben).update(role=Membership.Role.MANAGER)
    device_of(ben)
    ask(care=care)
    planner.read()
    assert [row.kind for row in Notice.objects.all()] == ["asked"]


def test_who_cannot_decide_yet_is_not_told(ana: Any, ben: Any, ask: Ask) -> None:
    device_of(ana)
    device_of(ben)
    assert told(ask(care={"first": "ben"})) == {("ben", "push")}


# ---- the admin -------------------------------------------------------------------------------------------


def test_the_admin_shows_what_failed_and_sends_it_again(
    admin_client: Any, phone: PushSubscription, question: Question
) -> None:
    told(question)
    Notice.objects.update(failed_at=timezone.now(), attempts=8, last_error="The receiver replied 500.")
    page = admin_client.get("/admin/ask_bridge/notice/?state=failed").content.decode()
    for shown in (
        "The receiver replied 500.",
        "Push: ana (phone)",
        "Which database should we use?",
        "failed",
    ):
        assert shown in page
    assert "0 notifications" in admin_client.get("/admin/ask_bridge/notice/?state=waiting").content.decode()
    notice = Notice.objects.get()
    assert admin_client.get(f"/admin/ask_bridge/notice/{notice.pk}/change/").status_code == 200
    chosen = {"action": "send_again", "_selected_action": [notice.pk]}
    page = admin_client.post("/admin/ask_bridge/notice/", chosen, follow=True).content.decode()
    assert "Notifications queued to be sent again: 1." in page
    assert Notice.objects.due().count() == 1


def test_the_admin_looks_after_webhooks_and_never_shows_their_addresses(
    admin_client: Any, room: Room, ana: Any
) -> None:
    webhook, _ = webhooks.add(room, ana, url="https://hooks.example.org/SECRET", label="Team")
    address = f"/admin/ask_bridge/webhook/{webhook.pk}/change/"
    page = admin_client.get(address).content.decode()
    assert "hooks.example.org" in page
    assert "SECRET" not in page
    assert webhook.locked_address not in page
    admin_client.post(address, {"label": "Other", "after_minutes": "3", "on_asked": "on"})
    webhook.refresh_from_db()
    assert (webhook.label, webhook.after_minutes, webhook.is_enabled) == ("Other", 3, False)
