"""Careful questions: who is asked first, votes, the undo window, escalation."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from rooms import lifecycle
from rooms.contract import care
from rooms.contract.care import Care
from rooms.contract.types import InvalidPayload, parse
from rooms.models import Answer, AuditEntry, Membership, Question, Room

Ask = Callable[..., Question]
TEXT = "Which database should we use?"


@pytest.fixture
def cy(room: Room) -> Any:
    """The room's manager."""
    user = get_user_model().objects.create_user("cy", first_name="Cy", last_name="Park")
    Membership.objects.create(room=room, user=user, role=Membership.Role.MANAGER)
    return user


def answer(question: Question, user: Any, label: str = "SQLite", notes: str | None = None) -> Question:
    choice = {"question": TEXT, "selectedOptions": [label], "notes": notes}
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user)


def later(question: Question, **fields: Any) -> Question:
    """The same question after these times have passed and a sweep."""
    past = timezone.now() - timedelta(seconds=1)
    Question.objects.filter(pk=question.pk).update(**dict.fromkeys(fields or ("held_until",), past))
    lifecycle.sweep()
    return Question.objects.with_answer().get(pk=question.pk)


# ---- what can be asked for -------------------------------------------------------------------------------


def test_short_forms_mean_the_long_ones() -> None:
    asked = parse(Care, {"first": ["ana", "ben"], "votes": 2})
    assert asked == parse(Care, {"first": {"people": ["ana", "ben"]}, "votes": {"needed": 2}})
    assert parse(Care, {"first": "ana"}).people == ["ana"]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"undo_second": 5}, "undo_second", "is not known here"),
        ({"first": {"person": "ana"}}, "first.person", "is not known here"),
        ({"first": {}}, "first", "is empty: give people, a role, or both"),
        ({"first": ["ana", "ana"]}, "first.people", "names a person twice"),
        ({"first": [f"u{n}" for n in range(21)]}, "first.people", "names 21 people, 20 are allowed"),
        ({"first": {"role": "boss"}}, "first.role", "input should be 'manager' or 'member'"),
        ({"votes": 1}, "votes.needed", "must be at least 2"),
        ({"votes": True}, "votes", "must be an object"),
        ({"votes": {"needed": 3, "of": ["a", "b"]}}, "votes.of", "names 2 people, but 3 votes are needed"),
        ({"first": "ana", "votes": 2}, "body", "asks 1 voter first, but 2 votes are needed"),
        ({"undo_seconds": 0}, "undo_seconds", "must be at least 1"),
        ({"undo_seconds": 301}, "undo_seconds", "must be at most 300"),
        ({"undo_seconds": "5"}, "undo_seconds", "must be a number"),
    ],
)
def test_what_makes_no_sense_is_refused(body: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidPayload) as problem:
        parse(Care, body)
    first = problem.value.errors[0]
    assert (first.field, first.message) == (field, message)


def test_agent_can_ask_for_more_care_than_its_room_never_for_less() -> None:
    room = parse(Care, {"votes": 3, "undo_seconds": 20, "first": {"role": "manager"}, "escalate_seconds": 60})
    asked = parse(
        Care,
        {
            "votes": {"needed": 2, "of": ["a", "b"]},
            "undo_seconds": 5,
            "first": ["a", "b"],
            "escalate_seconds": 1,
        },
    )
    both = care.combined(room, asked)
    assert both is not None
    assert both.votes == parse(care.Votes, {"needed": 3})
    assert (both.undo_seconds, both.escalate_seconds) == (20, 60)
    assert both.first == room.first
    more = care.combined(parse(Care, {"votes": 2}), parse(Care, {"votes": 4, "undo_seconds": 5}))
    assert more is not None
    assert (more.votes_needed, more.undo_seconds) == (4, 5)


def test_who_is_asked_first_does_not_keep_a_question_for_ever() -> None:
    asked = care.combined(None, parse(Care, {"first": "ana"}))
    assert asked is not None
    assert asked.escalate_seconds == care.ESCALATION_SECONDS


def test_only_people_with_a_vote_are_asked_first() -> None:
    votes = {"votes": {"needed": 2, "of": ["ben", "cy"]}}
    both = care.combined(parse(Care, {"first": "ana"}), parse(Care, votes))
    assert both is not None
    assert (both.first, both.votes_needed) == (None, 2)


def test_no_care_is_none() -> None:
    assert care.combined(None, None) is None
    assert care.combined(None, parse(Care, {})) is None


def test_care_of_the_room_is_for_each_of_its_questions(room: Room, ask: Ask) -> None:
    Room.objects.filter(pk=room.pk).update(care={"undo_seconds": 7})
    room.refresh_from_db()
    assert ask().care["undo_seconds"] == 7


# ---- asked first, and escalation -------------------------------------------------------------------------


def test_only_who_is_asked_first_decides_until_it_escalates(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"first": "ana", "escalate_seconds": 60})
    for verb in (answer, lifecycle.decline, lambda *who: lifecycle.ask_back(*who, "Why?")):
        with pytest.raises(lifecycle.NotTheirTurn):
            verb(question, ben)
    question = later(question, escalates_at=True)
    assert (question.status, question.escalates_at) == ("open", None)
    assert answer(question, ben).status == "answered"


def test_named_person_decides_at_once(ask: Ask, ana: Any) -> None:
    assert answer(ask(care={"first": "ana"}), ana).status == "answered"


def test_managers_can_be_asked_first(ask: Ask, ana: Any, cy: Any) -> None:
    question = ask(care={"first": {"role": "manager"}})
    with pytest.raises(lifecycle.NotTheirTurn):
        answer(question, ana)
    assert answer(question, cy).status == "answered"


def test_members_can_be_asked_before_guests(room: Room, ask: Ask, ana: Any) -> None:
    guest = get_user_model().objects.create_user("guest")
    question = ask(care={"first": {"role": "member"}})
    with pytest.raises(lifecycle.NotTheirTurn):
        answer(question, guest)
    assert answer(question, ana).status == "answered"


def test_escalation_changes_the_card_once(room: Room, ask: Ask) -> None:
    question = later(ask(care={"escalate_seconds": 60}), escalates_at=True)
    lifecycle.sweep()
    assert Question.objects.get().revision == question.revision
    assert AuditEntry.objects.filter(action="escalated").count() == 1


# ---- votes -----------------------------------------------------------------------------------------------


def test_question_is_answered_when_enough_agree(ask: Ask, ana: Any, ben: Any, cy: Any) -> None:
    question = answer(ask(care={"votes": 2}), ana, "SQLite", notes="small")
    assert (question.status, len(question.votes)) == ("open", 1)
    question = answer(question, ben, "PostgreSQL (Recommended)")
    assert question.status == "open"
    settled = answer(question, cy, "SQLite", notes="simple")
    assert settled.status == "answered"
    assert settled.answer.person_name == "Cy Park"
    assert settled.answer.choices[0]["selectedOptions"] == ["SQLite"]
    assert settled.answer.choices[0]["notes"] == "Ana Costa: small\nCy Park: simple"
    assert [vote["name"] for vote in settled.decided_by] == ["Ana Costa", "Cy Park"]


def test_long_notes_of_several_are_all_kept_and_shown(ask: Ask, browser: Client, ana: Any, ben: Any) -> None:
    question = answer(ask(care={"votes": 2}), ana, notes="a" * 4_000)
    settled = answer(question, ben, notes="b" * 4_000)
    assert len(settled.answer.choices[0]["notes"]) > 8_000
    page = browser.get(reverse("ask_bridge:room", args=(question.room.slug,))).content.decode()
    assert "b" * 4_000 in page


def test_votes_count_among_the_answers_of_a_minute(settings: Any, browser: Client, ask: Ask) -> None:
    settings.ASK_BRIDGE = {"ANSWERS_PER_MINUTE": 3}
    question = ask(care={"undo_seconds": 10})
    names = ("answer", "undo", "answer", "undo")
    sent = [send(browser, question, name, **{"choice-0": "0"}) for name in names]
    assert [reply.status_code for reply in sent] == [200, 200, 200, 429]


def test_person_has_one_vote_and_may_change_it(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": 2})
    answer(question, ana, "SQLite")
    question = answer(question, ana, "SQLite")
    assert (question.status, len(question.votes)) == ("open", 1)
    answer(question, ana, "PostgreSQL (Recommended)")
    assert answer(question, ben, "SQLite").status == "open"
    assert answer(question, ben, "PostgreSQL (Recommended)").status == "answered"


def test_only_voters_vote(ask: Ask, ana: Any, ben: Any, cy: Any) -> None:
    question = ask(care={"votes": {"needed": 2, "of": ["ana", "cy"]}})
    with pytest.raises(lifecycle.NotTheirTurn):
        answer(question, ben)
    answer(question, ana)
    assert answer(question, cy).status == "answered"


def test_one_person_is_enough_to_skip(ask: Ask, ana: Any) -> None:
    assert lifecycle.decline(ask(care={"votes": 3}), ana, "No").status == "declined"


def test_votes_do_not_outlive_the_deadline(ask: Ask, ana: Any, ben: Any) -> None:
    question = answer(ask(care={"votes": 2}, timeout_seconds=60), ana)
    Question.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    question.refresh_from_db()
    with pytest.raises(lifecycle.AlreadySettled) as late:
        answer(question, ben)
    assert late.value.question.status == "expired"


# ---- the undo window -------------------------------------------------------------------------------------


def test_decision_is_held_until_it_cannot_be_undone(ask: Ask, agent: Any, ana: Any) -> None:
    held = answer(ask(care={"undo_seconds": 10}), ana)
    assert (held.status, held.is_held, held.answer_or_none) == ("open", True, None)
    wire = agent.get(agent.question_url(held.pk)).json()
    assert (wire["status"], wire["answer"]) == ("open", None)
    assert "SQLite" not in str(wire["care"])
    settled = later(held)
    assert (settled.status, settled.answer.username) == ("answered", "ana")
    assert settled.answer.user == ana


def test_undone_decision_leaves_an_open_question(ask: Ask, ana: Any, ben: Any) -> None:
    held = answer(ask(care={"undo_seconds": 10}), ana)
    opened = lifecycle.undo(held, ben)
    assert (opened.status, opened.is_held, opened.votes) == ("open", False, [])
    assert answer(opened, ben, "PostgreSQL (Recommended)").is_held


def test_undo_comes_too_late_after_the_window(ask: Ask, ana: Any) -> None:
    settled = later(answer(ask(care={"undo_seconds": 10}), ana))
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.undo(settled, ana)


def test_held_decision_is_not_up_for_grabs(ask: Ask, ana: Any, ben: Any) -> None:
    held = answer(ask(care={"undo_seconds": 10}, timeout_seconds=60), ana)
    for verb in (answer, lifecycle.decline):
        with pytest.raises(lifecycle.AlreadySettled):
            verb(held, ben)
    # Given in time, it is not lost to a deadline that passes meanwhile.
    assert later(held, expires_at=True).is_held
    with pytest.raises(lifecycle.AlreadySettled):
        lifecycle.expire(held)


def test_agent_can_take_a_held_question_back(ask: Ask, ana: Any) -> None:
    held = answer(ask(care={"undo_seconds": 10}), ana)
    assert lifecycle.withdraw(held).status == "withdrawn"
    lifecycle.sweep()
    assert not Answer.objects.exists()


def test_decision_of_a_person_who_was_deleted_meanwhile_counts(ask: Ask, ana: Any) -> None:
    held = answer(ask(care={"undo_seconds": 10}), ana)
    ana.delete()
    settled = later(held)
    assert (settled.answer.user, settled.answer.person_name) == (None, "Ana Costa")


def test_undone_votes_are_gone_and_others_stay(ask: Ask, ana: Any, ben: Any, cy: Any) -> None:
    question = ask(care={"votes": 2, "undo_seconds": 10})
    answer(question, ana, "SQLite")
    answer(question, ben, "PostgreSQL (Recommended)")
    held = answer(question, cy, "SQLite")
    assert held.is_held
    opened = lifecycle.undo(held, ana)
    assert [vote["username"] for vote in opened.votes] == ["ben"]


def test_audit_is_complete(ask: Ask, ana: Any, ben: Any) -> None:
    from django.core.management import call_command

    held = answer(ask(care={"undo_seconds": 10}), ana)
    later(answer(lifecycle.undo(held, ben), ana))
    actions = list(AuditEntry.objects.filter(subject=held.pk).values_list("action", "actor"))
    assert actions == [
        ("asked", "refactor-bot"),
        ("voted", "ana"),
        ("undone", "ben"),
        ("voted", "ana"),
        ("answered", "ana"),
    ]
    call_command("verify_audit")


# ---- the wire --------------------------------------------------------------------------------------------


def test_question_object_tells_what_care_it_gets_and_how_far_it_is(agent: Any, body: Any, ana: Any) -> None:
    body["care"] = {"votes": 2, "first": {"people": ["ana"], "role": "manager"}}
    asked = agent.post(agent.questions_url, body).json()
    answer(Question.objects.with_answer().get(), ana)
    wire = agent.get(agent.question_url(asked["id"])).json()
    assert wire["care"] == {
        "first": {"people": ["ana"], "role": "manager"},
        "votes": {"needed": 2, "of": [], "cast": 1},
        "undo_seconds": None,
        "escalate_seconds": 900,
        "escalated": False,
    }


def test_answer_object_names_all_who_decided(agent: Any, ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": 2})
    answer(question, ben)
    answer(question, ana)
    given = agent.get(agent.question_url(question.pk)).json()["answer"]
    assert given["by"]["username"] == "ana"
    assert [vote["by"]["username"] for vote in given["votes"]] == ["ben", "ana"]


@pytest.mark.parametrize("name", ["nobody", "outsider"])
def test_only_people_of_the_room_can_be_named(agent: Any, body: Any, name: str) -> None:
    get_user_model().objects.create_user("outsider")
    reply = agent.post(agent.questions_url, {**body, "care": {"first": name}})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_question")
    assert reply.json()["errors"][0]["field"] == "care"
    assert not Question.objects.exists()


@pytest.mark.parametrize("asked", [{"votes": 2}, {"first": "ana"}])
def test_terminal_cannot_decide_for_people(agent: Any, ask: Ask, asked: Any) -> None:
    question = ask(care=asked)
    reply = agent.post(agent.answer_url(question.pk), {"answers": {TEXT: "SQLite"}})
    assert (reply.status_code, reply.json()["code"]) == (409, "needs_people")
    assert Question.objects.get().is_open


def test_terminal_answers_where_only_clicks_can_be_undone(agent: Any, ask: Ask) -> None:
    question = ask(care={"undo_seconds": 10})
    reply = agent.post(agent.answer_url(question.pk), {"answers": {TEXT: "SQLite"}})
    assert reply.json()["status"] == "answered"


def test_what_was_answered_in_the_terminal_counts_more_than_what_is_held(
    agent: Any, ask: Ask, ana: Any
) -> None:
    """The agent acts on it already; what Ana clicked it would never have heard of otherwise."""
    held = answer(ask(care={"undo_seconds": 10}), ana, "PostgreSQL (Recommended)")
    settled = agent.post(agent.answer_url(held.pk), {"answers": {TEXT: "SQLite"}}).json()
    assert (settled["status"], settled["answer"]["via"]) == ("answered", "terminal")
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    assert settled["answer"]["votes"] == []
    lifecycle.sweep()
    assert Answer.objects.count() == 1


def test_same_key_with_other_care_is_another_question(agent: Any, body: Any) -> None:
    agent.post(agent.questions_url, {**body, "care": {"votes": 2}}, Idempotency_Key="one")
    same = agent.post(agent.questions_url, {**body, "care": {"votes": 2}}, Idempotency_Key="one")
    other = agent.post(agent.questions_url, {**body, "care": {"votes": 3}}, Idempotency_Key="one")
    assert (same.status_code, other.status_code) == (200, 409)


# ---- the pages -------------------------------------------------------------------------------------------


def send(browser: Client, question: Question, name: str, **data: Any) -> Any:
    address = reverse(f"ask_bridge:{name}", args=(question.room.slug, question.pk))
    return browser.post(address, data, headers={"HX-Request": "true"})


def test_card_shows_who_voted_for_what(browser: Client, ask: Ask, ben: Any) -> None:
    question = ask(care={"votes": 3, "undo_seconds": 10})
    answer(question, ben, "SQLite")
    page = send(browser, question, "answer", **{"choice-0": "0"})
    assert page.status_code == 200
    html = " ".join(page.content.decode().split())
    assert "ben chose SQLite, 2 more votes needed" in html
    assert "You chose PostgreSQL, 2 more votes needed" in html
    assert "3 people have to agree · can be undone for 10 seconds" in html


def test_held_card_can_be_undone(browser: Client, ask: Ask) -> None:
    question = ask(care={"undo_seconds": 10})
    html = send(browser, question, "answer", **{"choice-0": "1"}).content.decode()
    assert 'data-status="held"' in html
    assert "Answered by you" in html
    assert "Undo" in html
    opened = send(browser, question, "undo")
    assert 'data-status="open"' in opened.content.decode()
    assert Question.objects.get().votes == []


def test_late_undo_shows_the_answered_card(browser: Client, ask: Ask, ana: Any) -> None:
    settled = later(answer(ask(care={"undo_seconds": 10}), ana))
    page = send(browser, settled, "undo")
    assert page.status_code == 409
    assert 'data-status="answered"' in page.content.decode()
    assert "Too late to undo." in page.content.decode()


def test_who_is_not_asked_first_is_told_so(browser: Client, ask: Ask, ben: Any) -> None:
    question = ask(care={"first": "ben"})
    page = send(browser, question, "answer", **{"choice-0": "1"})
    assert page.status_code == 422
    assert "Only the people named on the card can decide" in page.content.decode()
    shown = browser.get(reverse("ask_bridge:question", args=(question.room.slug, question.pk)))
    assert "ben decides until" in shown.content.decode()


def test_click_on_a_held_card_is_told_who_decided(browser: Client, ask: Ask, ben: Any) -> None:
    question = answer(ask(care={"undo_seconds": 10}), ben)
    page = send(browser, question, "answer", **{"choice-0": "0"})
    assert page.status_code == 409
    assert "Answered by ben" in page.content.decode()


# ---- the admin -------------------------------------------------------------------------------------------


def room_form(room: Room, **fields: Any) -> dict[str, Any]:
    inlines = {
        f"{name}-{part}": 0
        for name in ("memberships", "group_memberships", "keys")
        for part in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    return {"name": room.name, "slug": room.slug, **inlines, **fields}


@pytest.fixture
def admin_page(admin_client: Client, room: Room) -> Callable[..., Any]:
    address = reverse("admin:ask_bridge_room_change", args=(room.pk,))
    Membership.objects.all().delete()
    return lambda **fields: admin_client.post(address, room_form(room, **fields))


def test_admin_sets_the_care_of_a_room(admin_page: Callable[..., Any], room: Room) -> None:
    assert admin_page(first_role="manager", votes_needed=2, undo_seconds=10).status_code == 302
    room.refresh_from_db()
    kept = Room.objects.get(pk=room.pk).care
    assert (kept["first"], kept["votes"]["needed"], kept["undo_seconds"]) == (
        {"people": [], "role": "manager"},
        2,
        10,
    )
    assert admin_page().status_code == 302
    room.refresh_from_db()
    assert room.care is None


def test_admin_is_told_of_an_unknown_name(admin_page: Callable[..., Any], room: Room) -> None:
    reply = admin_page(first_people="ana, who")
    assert reply.status_code == 200
    assert "cannot answer in this room" in reply.content.decode()
    room.refresh_from_db()
    assert room.care is None
