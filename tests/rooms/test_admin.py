"""The admin: rooms, members and keys are managed there; what happened is only looked at."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from rooms import access, lifecycle
from rooms.models import AgentKey, Answer, AuditEntry, Message, Question, Room

KEY = re.compile(r"abk_[0-9a-z]{10}_[0-9a-z]{40}")


def listing(model: str) -> str:
    return reverse(f"admin:ask_bridge_{model}_changelist")


def page(model: str, pk: object) -> str:
    return reverse(f"admin:ask_bridge_{model}_change", args=(pk,))


def act(browser: Client, model: str, action: str, *objects: Any) -> str:
    """Run an action on the selected objects; the page that follows, as text."""
    response = browser.post(
        listing(model),
        {"action": action, "_selected_action": [str(selected.pk) for selected in objects]},
        follow=True,
    )
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def room_form(room: Room | None, **fields: Any) -> dict[str, Any]:
    """The form of a room page with its three inlines, as a browser sends it."""
    form = {"name": "Operations", "slug": "ops"}
    for inline, existing in (
        ("memberships", room.memberships.count() if room else 0),
        ("group_memberships", room.group_memberships.count() if room else 0),
        ("keys", room.keys.count() if room else 0),
    ):
        has_new = any(name.startswith(f"{inline}-{existing}-") for name in fields)
        form |= {
            f"{inline}-TOTAL_FORMS": str(existing + has_new),
            f"{inline}-INITIAL_FORMS": str(existing),
        }
    for index, membership in enumerate(room.memberships.order_by("pk") if room else []):
        form |= {
            f"memberships-{index}-id": str(membership.pk),
            f"memberships-{index}-room": str(room.pk) if room else "",
            f"memberships-{index}-user": str(membership.user_id),
            f"memberships-{index}-role": membership.role,
        }
    for index, key in enumerate(room.keys.order_by("pk") if room else []):
        form[f"keys-{index}-id"] = str(key.pk)
    return form | fields


@pytest.fixture
def admin_client(db: None) -> Client:
    """A superuser; without a password, whose hash would cost each test a third of a second."""
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


@pytest.fixture
def clerk(db: None) -> Client:
    """A staff member who may do everything with our models, but is no superuser."""
    user = get_user_model().objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="ask_bridge"))
    browser = Client()
    browser.force_login(user)
    return browser


def staff(username: str, *permissions: str) -> Client:
    """A staff member with only these permissions."""
    user = get_user_model().objects.create_user(username, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def history(ask: Callable[..., Question], room: Room, ana: Any) -> tuple[Question, Answer, Message]:
    declined = lifecycle.decline(ask(), ana, "Later.")
    return declined, declined.answer, lifecycle.say(room, ana, "Well done")


# ---- all pages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["room", "agentkey", "question", "answer", "message"])
def test_lists_and_pages_open(admin_client: Client, agent: Any, history: Any, model: str) -> None:
    objects = {
        "room": agent.room_row,
        "agentkey": agent.key_row,
        "question": history[0],
        "answer": history[1],
        "message": history[2],
    }
    assert admin_client.get(listing(model)).status_code == 200
    assert admin_client.get(f"{listing(model)}?q=ana").status_code == 200
    assert admin_client.get(page(model, objects[model].pk)).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        ("room", "archived=no"),
        ("room", "archived=yes"),
        ("room", "is_open__exact=1"),
        ("room", "o=4.5.6.7"),
        ("agentkey", "state=alive"),
        ("agentkey", "state=revoked"),
        ("agentkey", "state=archived"),
        ("question", "status__exact=open"),
        ("answer", "via__exact=web"),
        ("message", "kind__exact=log"),
    ],
)
def test_filters_and_orders_work(
    admin_client: Client, agent: Any, history: Any, query: tuple[str, str]
) -> None:
    assert admin_client.get(f"{listing(query[0])}?{query[1]}").status_code == 200


@pytest.mark.parametrize("model", ["room", "agentkey", "question", "answer", "message", "auditentry"])
def test_lists_take_the_same_number_of_queries_however_long(
    admin_client: Client,
    ask: Callable[..., Question],
    ana: Any,
    model: str,
    django_assert_max_num_queries: Any,
    django_assert_num_queries: Any,
) -> None:
    def fill(number: int) -> None:
        room = lifecycle.create_room(f"room-{number}", members=[ana])
        access.create_key(room, label="bot")
        lifecycle.decline(ask(), ana)
        ask()
        lifecycle.say(room, ana, "Hello")

    fill(0)
    admin_client.get(listing(model))
    with django_assert_max_num_queries(30) as before:
        admin_client.get(listing(model))
    for number in range(1, 5):
        fill(number)
    with django_assert_num_queries(len(before)):
        admin_client.get(listing(model))


def test_text_of_agents_is_escaped(admin_client: Client, ask: Callable[..., Question]) -> None:
    question = ask(questions=[{"question": "<script>alert(1)</script>", "options": ["A", "B"]}])
    for address in (listing("question"), page("question", question.pk)):
        assert b"<script>alert(1)" not in admin_client.get(address).content


# ---- rooms ---------------------------------------------------------------------------------------


def test_list_of_rooms_counts_members_living_keys_and_open_questions(
    admin_client: Client, ask: Callable[..., Question], room: Room, other_room: Room, ana: Any
) -> None:
    access.create_key(room, label="second")
    access.revoke_keys(AgentKey.objects.filter(label="second"))
    lifecycle.decline(ask(), ana)
    for _ in range(3):
        ask()
    rows = admin_client.get(listing("room")).context["cl"].result_list
    counts = {row.slug: (row.member_count, row.active_keys, row.open_questions) for row in rows}
    assert counts == {"ops": (2, 1, 3), "lab": (0, 0, 0)}


def test_new_room_is_made_with_members_and_a_key_that_is_shown_once(clerk: Client, ana: Any) -> None:
    member = {"memberships-0-user": str(ana.pk), "memberships-0-role": "manager"}
    form = room_form(None, **member, **{"keys-0-label": "deploy-bot"})
    response = clerk.post(reverse("admin:ask_bridge_room_add"), form)
    assert response.status_code == 200, "the key is in the reply to the form itself"
    (text,) = KEY.findall(response.content.decode())
    room = Room.objects.get()
    key = access.key_from_header(f"Bearer {text}")
    assert (key.room, key.label, key.created_by) == (room, "deploy-bot", clerk_user())
    assert access.may_manage(ana, room)
    assert not KEY.search(clerk.get(page("room", room.pk)).content.decode()), "and never again"


def clerk_user() -> Any:
    return get_user_model().objects.get(username="clerk")


def test_key_of_a_new_room_is_stored_nowhere_on_the_way(clerk: Client) -> None:
    response = clerk.post(
        reverse("admin:ask_bridge_room_add"), room_form(None, **{"keys-0-label": "deploy-bot"})
    )
    (text,) = KEY.findall(response.content.decode())
    secret = text.rpartition("_")[2]
    assert not any(secret in cookie.value for cookie in clerk.cookies.values())
    assert not any(secret in str(session.get_decoded()) for session in Session.objects.all())
    assert not any(secret in str(vars(entry)) for entry in LogEntry.objects.all())
    assert "no-store" in response["Cache-Control"]


def test_key_is_added_to_an_existing_room(clerk: Client, agent: Any) -> None:
    response = clerk.post(
        page("room", agent.room_row.pk), room_form(agent.room_row, **{"keys-1-label": "second"})
    )
    (text,) = KEY.findall(response.content.decode())
    assert access.key_from_header(f"Bearer {text}").label == "second"
    assert agent.room_row.keys.count() == 2


def test_saving_a_room_without_a_new_key_goes_on_as_usual(clerk: Client, agent: Any) -> None:
    response = clerk.post(page("room", agent.room_row.pk), room_form(agent.room_row, name="Renamed"))
    assert response.status_code == 302
    assert Room.objects.get().name == "Renamed"
    assert agent.room_row.keys.count() == 1


def test_existing_key_cannot_be_changed_in_the_page_of_its_room(clerk: Client, agent: Any) -> None:
    form = room_form(agent.room_row, **{"keys-0-label": "renamed", "keys-0-digest": "0" * 64})
    clerk.post(page("room", agent.room_row.pk), form)
    key = AgentKey.objects.get()
    assert (key.label, key.digest) == ("refactor-bot", agent.key_row.digest)


def test_page_of_a_room_shows_the_beginning_of_its_keys_and_no_digest(
    admin_client: Client, agent: Any
) -> None:
    content = admin_client.get(page("room", agent.room_row.pk)).content.decode()
    assert f"abk_{agent.key_row.lookup}_…" in content
    assert agent.key_row.digest not in content


def test_no_page_shows_json(admin_client: Client, agent: Any, history: Any) -> None:
    pages = [listing("auditentry"), page("room", agent.room_row.pk), page("agentkey", agent.key_row.pk)]
    pages += [page("auditentry", entry.pk) for entry in AuditEntry.objects.all()]
    pages += [page("message", history[2].pk)]
    for address in pages:
        content = html.unescape(admin_client.get(address).content.decode())
        # The configuration of Django's own scripts is JSON in attributes.
        content = re.sub(r"data-[a-z-]+=\"[^\n]*|<script.*?</script>", "", content, flags=re.DOTALL)
        for sign in ('{"', '["', "{'", "['"):
            assert sign not in content, address
    made = AuditEntry.objects.get(action="key_created")
    assert "scopes: ask, terminal" in admin_client.get(page("auditentry", made.pk)).content.decode()


def test_new_key_of_a_room_has_the_chosen_scopes(clerk: Client, agent: Any) -> None:
    chosen = {"keys-1-label": "second", "keys-1-scope_names": ["answer", "ask"]}
    clerk.post(page("room", agent.room_row.pk), room_form(agent.room_row, **chosen))
    assert AgentKey.objects.get(label="second").scopes == ["ask", "answer"]
    clerk.post(page("room", agent.room_row.pk), room_form(agent.room_row, **{"keys-2-label": "third"}))
    assert AgentKey.objects.get(label="third").scopes == ["ask", "terminal"]


def test_pop_up_for_a_new_room_makes_no_keys(admin_client: Client) -> None:
    content = admin_client.get(reverse("admin:ask_bridge_room_add") + "?_popup=1").content.decode()
    assert "memberships-TOTAL_FORMS" in content
    assert "keys-TOTAL_FORMS" not in content


def test_archiving_withdraws_and_stops(clerk: Client, agent: Any, question: Question) -> None:
    assert "Rooms archived: 1." in act(clerk, "room", "archive", agent.room_row)
    question.refresh_from_db()
    assert question.status == "withdrawn"
    assert agent.get(agent.questions_url).status_code == 401


def test_archiving_again_keeps_the_first_time(clerk: Client, room: Room) -> None:
    act(clerk, "room", "archive", room)
    archived_at = Room.objects.get().archived_at
    assert "Rooms archived: 0." in act(clerk, "room", "archive", room)
    assert Room.objects.get().archived_at == archived_at


def test_archived_room_can_be_restored(clerk: Client, agent: Any) -> None:
    act(clerk, "room", "archive", agent.room_row)
    assert "Rooms restored: 1." in act(clerk, "room", "restore", agent.room_row)
    assert agent.get(agent.questions_url).status_code == 200


def test_all_keys_of_a_room_are_revoked(clerk: Client, agent: Any, foreign_agent: Any) -> None:
    assert "Keys revoked: 1." in act(clerk, "room", "revoke_keys", agent.room_row)
    assert agent.get(agent.questions_url).status_code == 401
    assert foreign_agent.get(foreign_agent.questions_url).status_code == 200


def test_open_questions_of_a_room_are_withdrawn(
    clerk: Client, ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    lifecycle.decline(ask(), ana)
    ask()
    assert "Questions withdrawn: 1." in act(clerk, "room", "withdraw_open_questions", room)
    assert sorted(Question.objects.values_list("status", flat=True)) == ["declined", "withdrawn"]


@pytest.mark.parametrize("method", ["get", "post"])
def test_room_in_use_has_to_be_archived_before_it_is_deleted(
    admin_client: Client, history: Any, room: Room, method: str
) -> None:
    address = reverse("admin:ask_bridge_room_delete", args=(room.pk,))
    response = getattr(admin_client, method)(address, {"post": "yes"}, follow=True)
    assert response.redirect_chain == [(page("room", room.pk), 302)]
    content = response.content.decode()
    assert "Archive this room before you delete it: Operations." in content
    assert "Archive this room</button>" in content
    assert Room.objects.exists()


def test_rooms_in_use_are_not_deleted_from_the_list(
    admin_client: Client, room: Room, other_room: Room
) -> None:
    lifecycle.archive_room(other_room)
    told = act(admin_client, "room", "delete_selected", room, other_room)
    assert "Archive this room before you delete it: Operations." in told
    assert Room.objects.count() == 2
    assert "Are you sure" in act(admin_client, "room", "delete_selected", other_room)


def test_page_of_an_archived_room_offers_to_delete_it(admin_client: Client, room: Room) -> None:
    lifecycle.archive_room(room)
    content = admin_client.get(page("room", room.pk)).content.decode()
    assert "Archive this room</button>" not in content
    assert reverse("admin:ask_bridge_room_delete", args=(room.pk,)) in content


def test_who_may_not_delete_a_room_is_not_told_to_archive_it(room: Room) -> None:
    browser = staff("changer", "view_room", "change_room")
    assert "Archive this room" not in browser.get(page("room", room.pk)).content.decode()
    address = reverse("admin:ask_bridge_room_delete", args=(room.pk,))
    assert browser.post(address, {"post": "yes"}).status_code == 403


def test_archived_room_can_be_deleted_with_its_history(
    admin_client: Client, history: Any, agent: Any
) -> None:
    lifecycle.archive_room(agent.room_row)
    address = reverse("admin:ask_bridge_room_delete", args=(agent.room_row.pk,))
    assert admin_client.post(address, {"post": "yes"}).status_code == 302
    assert not Room.objects.exists()
    assert not Answer.objects.exists()


def test_history_is_not_deleted_by_those_who_are_no_superusers(
    clerk: Client, history: Any, room: Room
) -> None:
    lifecycle.archive_room(room)
    address = reverse("admin:ask_bridge_room_delete", args=(room.pk,))
    assert clerk.post(address, {"post": "yes"}).status_code == 403
    assert Answer.objects.exists()


# ---- keys ----------------------------------------------------------------------------------------


def test_who_may_not_add_keys_cannot_rotate_one(agent: Any) -> None:
    """Rotating shows a new key that works."""
    browser = staff("changer", "view_agentkey", "change_agentkey")
    offered = browser.get(listing("agentkey")).content.decode()
    assert 'value="revoke"' in offered
    assert 'value="rotate"' not in offered
    assert not KEY.search(act(browser, "agentkey", "rotate", agent.key_row))
    assert AgentKey.objects.get().expires_at is None
    both = staff("adder", "view_agentkey", "change_agentkey", "add_agentkey")
    assert KEY.search(act(both, "agentkey", "rotate", agent.key_row))
    assert AgentKey.objects.count() == 2


def test_new_key_is_shown_once(clerk: Client, room: Room) -> None:
    address = reverse("admin:ask_bridge_agentkey_add")
    response = clerk.post(address, {"room": room.pk, "label": "deploy-bot"})
    (text,) = KEY.findall(response.content.decode())
    key = access.key_from_header(f"Bearer {text}")
    assert (key.label, key.created_by) == ("deploy-bot", clerk_user())
    assert AgentKey.objects.count() == 1
    assert LogEntry.objects.get().object_id == str(key.pk)
    for again in (listing("agentkey"), page("agentkey", key.pk)):
        assert not KEY.search(clerk.get(again).content.decode())


def test_key_can_be_renamed_but_not_moved(clerk: Client, agent: Any, other_room: Room) -> None:
    clerk.post(page("agentkey", agent.key_row.pk), {"label": "renamed", "room": other_room.pk})
    key = AgentKey.objects.get()
    assert (key.label, key.room) == ("renamed", agent.room_row)
    assert agent.get(agent.questions_url).status_code == 200


def test_digest_is_never_shown(admin_client: Client, agent: Any) -> None:
    for address in (listing("agentkey"), page("agentkey", agent.key_row.pk)):
        content = admin_client.get(address).content.decode()
        assert agent.key_row.digest not in content
        assert f"abk_{agent.key_row.lookup}_…" in content


def test_selected_keys_are_revoked(clerk: Client, agent: Any, second_agent: Any) -> None:
    assert "Keys revoked: 1." in act(clerk, "agentkey", "revoke", agent.key_row)
    assert agent.get(agent.questions_url).status_code == 401
    assert second_agent.get(second_agent.questions_url).status_code == 200


def test_state_of_a_key_is_told(admin_client: Client, agent: Any, second_agent: Any) -> None:
    access.revoke_keys(AgentKey.objects.filter(pk=agent.key_row.pk))
    states = _states(admin_client)
    assert states == {"refactor-bot": "revoked", "deploy-bot": "active"}
    lifecycle.archive_room(agent.room_row)
    assert _states(admin_client)["deploy-bot"] == "room archived"


def _states(browser: Client) -> dict[str, str]:
    changelist = browser.get(listing("agentkey")).context["cl"]
    return {key.label: changelist.model_admin.state(key) for key in changelist.result_list}


# ---- what happened -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["question", "answer", "message"])
def test_history_cannot_be_added_to(admin_client: Client, model: str) -> None:
    assert admin_client.get(reverse(f"admin:ask_bridge_{model}_add")).status_code == 403


@pytest.mark.parametrize("index", [0, 1, 2], ids=["question", "answer", "message"])
def test_history_cannot_be_changed(admin_client: Client, history: Any, index: int) -> None:
    happened = history[index]
    model = happened._meta.model_name
    before = type(happened).objects.filter(pk=happened.pk).values().get()
    response = admin_client.post(page(model, happened.pk), {"status": "open", "reason": "x", "content": "x"})
    assert response.status_code == 403
    assert type(happened).objects.filter(pk=happened.pk).values().get() == before


def test_questions_are_found_by_agent_id_and_session(
    admin_client: Client, ask: Callable[..., Question]
) -> None:
    wanted = ask(agent={"name": "deploy-bot"}, session_id="8f0c")
    ask()
    for text in ("deploy", wanted.pk, "8f0c"):
        found = admin_client.get(listing("question"), {"q": text}).context["cl"].result_list
        assert [question.pk for question in found] == [wanted.pk]


def test_newest_question_is_listed_first(admin_client: Client, ask: Callable[..., Question]) -> None:
    first, second = ask(), ask()
    found = admin_client.get(listing("question")).context["cl"].result_list
    assert [question.pk for question in found] == [second.pk, first.pk]


def test_selected_questions_are_withdrawn_if_they_are_open(
    clerk: Client, ask: Callable[..., Question], history: Any
) -> None:
    still_open = ask()
    assert "Questions withdrawn: 1." in act(clerk, "question", "withdraw", still_open, history[0])
    still_open.refresh_from_db()
    history[0].refresh_from_db()
    assert (still_open.status, history[0].status) == ("withdrawn", "declined")


def test_who_may_only_look_cannot_withdraw(question: Question) -> None:
    user = get_user_model().objects.create_user("guest", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_question"))
    browser = Client()
    browser.force_login(user)
    act(browser, "question", "withdraw", question)
    question.refresh_from_db()
    assert question.is_open


def test_settled_question_is_deleted_with_its_answer_by_a_superuser(
    admin_client: Client, history: Any
) -> None:
    address = reverse("admin:ask_bridge_question_delete", args=(history[0].pk,))
    assert admin_client.post(address, {"post": "yes"}).status_code == 302
    assert not Question.objects.exists()
    assert not Answer.objects.exists()


def test_open_question_cannot_be_deleted(admin_client: Client, question: Question) -> None:
    address = reverse("admin:ask_bridge_question_delete", args=(question.pk,))
    assert admin_client.post(address, {"post": "yes"}).status_code == 403
    assert Question.objects.exists()


def test_question_is_deleted_by_superusers_only(clerk: Client, history: Any) -> None:
    address = reverse("admin:ask_bridge_question_delete", args=(history[0].pk,))
    assert clerk.post(address, {"post": "yes"}).status_code == 403


def test_answer_is_never_deleted_alone(admin_client: Client, history: Any) -> None:
    address = reverse("admin:ask_bridge_answer_delete", args=(history[1].pk,))
    assert admin_client.post(address, {"post": "yes"}).status_code == 403
    act(admin_client, "answer", "delete_selected", history[1])
    assert Answer.objects.exists()


def test_saving_a_room_leaves_alone_what_questions_change_meanwhile(
    admin_client: Client, room: Room, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Question]
) -> None:
    """A question is asked between the moment the form's room was read and the moment it is written."""
    save = Room.save

    def save_late(self: Room, **options: Any) -> None:
        ask()
        save(self, **options)

    monkeypatch.setattr(Room, "save", save_late)
    response = admin_client.post(page("room", room.pk), room_form(room, name="Renamed"))
    assert response.status_code == 302
    room.refresh_from_db()
    assert room.name == "Renamed"
    assert room.revision == Question.objects.get(room=room).position
