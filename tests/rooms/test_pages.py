"""Pages through Django's test client: what needs neither a browser nor a running site."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import lifecycle
from rooms.models import Answer, Membership, Question, Room
from rooms.rendering import cards

TEXT = "Which database should we use?"


@pytest.fixture
def browser(ana: Any) -> Client:
    client = Client()
    client.force_login(ana)
    return client


# What base templates of portals ask for: a page of a CMS, the section of a navigation, a project.
NAMES_OF_PORTALS = ["page", "self", "site", "menu", "section", "project", "title", "messages", "theme"]
PLACES = ["/", "/history", "/insights", "/rooms", "/settings"]


@pytest.mark.parametrize("place", [*PLACES, "/rooms/new", "/history/export"])
def test_no_name_that_a_portal_uses_in_its_base_template_is_ours(
    client: Client, ana: Any, place: str
) -> None:
    ana.is_staff = True
    ana.save()
    client.force_login(ana)
    reply = client.get(place)
    assert reply.status_code == 200
    layers = [layer for context in reply.context for layer in context.dicts]
    ours = {name for layer in layers if "rail_place" in layer for name in layer}
    assert ours & {"rail_place", *NAMES_OF_PORTALS} == {"rail_place"}


@pytest.mark.parametrize("place", PLACES)
def test_the_rail_marks_the_page_that_is_open(browser: Client, room: Room, place: str) -> None:
    rail = browser.get(place).content.decode().partition('id="ab-content"')[0]
    assert re.findall(r'href="([^"]+)"\s+aria-current="page"', rail) == [place]


@pytest.mark.parametrize("before", ["²", "-1", "9" * 30, "x", ""])
def test_a_strange_page_of_the_past_is_the_present(browser: Client, room: Room, before: str) -> None:
    assert browser.get(f"/rooms/{room.slug}", {"before": before}).status_code == 200


def test_head_is_as_good_as_get(browser: Client, room: Room) -> None:
    assert browser.head(f"/rooms/{room.slug}").status_code == 200


def test_a_slash_too_many_leads_to_the_room(browser: Client, room: Room) -> None:
    assert browser.get(f"/rooms/{room.slug}/")["Location"] == f"/rooms/{room.slug}"


@pytest.mark.parametrize("tail", ["answer", "skip", "reply"])
def test_the_address_of_a_form_leads_to_its_page(browser: Client, question: Question, tail: str) -> None:
    address = f"/rooms/{question.room.slug}/questions/{question.pk}"
    assert browser.get(f"{address}/{tail}")["Location"] == address


def test_a_form_sent_after_the_session_leads_back_to_its_page(client: Client, question: Question) -> None:
    address = f"/rooms/{question.room.slug}/questions/{question.pk}"
    reply = client.post(f"{address}/answer", {"choice-0": "0"})
    assert reply["Location"] == f"/login/?next={address}"


@pytest.mark.parametrize(
    "address", ["/settings", "/rooms/new", "/rooms/ops/manage/care", "/rooms/ops/webhooks", "/join/abc"]
)
def test_a_page_that_takes_its_own_form_is_where_the_login_leads_back_to(
    client: Client, address: str
) -> None:
    assert client.post(address, {"name": "x"})["Location"] == f"/login/?next={address}"


@pytest.mark.parametrize("address", ["/", "/history", "/history?before=9", "/rooms/ops?before=9"])
def test_a_page_that_loads_its_content_anew_gets_all_of_it(browser: Client, room: Room, address: str) -> None:
    headers = {"HX-Request": "true", "HX-Target": "ab-layout"}
    assert 'id="ab-layout"' in browser.get(address, headers=headers).content.decode()


def test_a_renamed_room_has_its_new_address_on_every_card(
    browser: Client, question: Question, room: Room
) -> None:
    assert f'action="/rooms/{room.slug}/questions' in browser.get(f"/rooms/{room.slug}").content.decode()
    Room.objects.filter(pk=room.pk).update(slug="renamed", name="Renamed")
    page = browser.get("/rooms/renamed").content.decode()
    assert f'action="/rooms/renamed/questions/{question.pk}/answer"' in page


def test_the_longest_name_can_answer(question: Question, ana: Any, browser: Client) -> None:
    ana.first_name, ana.last_name = "A" * 150, "B" * 150
    ana.save()
    reply = browser.post(f"/rooms/{question.room.slug}/questions/{question.pk}/answer", {"choice-0": "1"})
    assert reply.status_code == 303
    assert Answer.objects.get(question=question).person_name == f"{'A' * 150} {'B' * 150}"
    lifecycle.say(question.room, ana, "Done.")


def test_more_open_questions_than_a_page_shows_are_said_to_be_there(
    browser: Client, room: Room, ask: Callable[..., Question]
) -> None:
    for _ in range(101):
        ask()
    address = f"/rooms/{room.slug}"
    page = browser.get(address).content.decode()
    assert "the first 100 of 101 open questions" in page
    assert page.count('data-status="open"') == 100
    [more] = re.findall(r'href="(\?show=\d+)"', page)
    assert browser.get(f"{address}{more}").content.decode().count('data-status="open"') == 101


def test_a_host_that_is_not_ours_is_a_problem_for_agents_and_a_page_for_people(client: Client) -> None:
    headers = {"Host": "evil.example"}
    reply = client.get("/api/v1/questions/q_1", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (400, "bad_host")
    assert client.get("/", headers=headers)["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("asked", "header", "sentence"),
    [
        ("Ship it?", "", "Ship it? Yes"),
        ("Ship **this & that?**", "", "Ship this &amp; that? Yes"),
        ("Choose a day", "", "Choose a day Yes"),
        ("Ship it?", "Release", "Ship it? Yes"),
    ],
)
def test_a_settled_card_says_what_was_decided_in_one_sentence(
    ask: Callable[..., Question], ana: Any, asked: str, header: str, sentence: str
) -> None:
    prompt = {"question": asked, "header": header, "options": [{"label": "Yes"}, {"label": "No"}]}
    choices = [{"question": asked, "selectedOptions": ["Yes"]}]
    settled = lifecycle.answer(ask(questions=[prompt]), choices, via=Answer.Via.WEB, user=ana)

    said = re.sub(r"<[^>]*>", "", cards.render_card(settled))

    assert sentence in said


def test_a_record_shows_its_question_beside_the_choice(ask: Callable[..., Question], ana: Any) -> None:
    settled = lifecycle.answer(
        ask(), [{"question": TEXT, "selectedOptions": ["SQLite"]}], via=Answer.Via.WEB, user=ana
    )
    html = cards.render_card(settled)
    assert f'<span class="ab-summary-question" title="{TEXT}">{TEXT}</span>' in html
    assert f"{TEXT} SQLite Answered by Ana Costa" in " ".join(re.sub(r"<[^>]*>", "", html).split())


def test_a_header_is_shown_whole(ask: Callable[..., Question]) -> None:
    header = "Checks of the next release"
    html = cards.render_card(ask(questions=[{"question": "Which?", "header": header, "options": ["A", "B"]}]))
    assert f'<span class="ab-chip" title="{header}">{header}</span>' in html


MARKDOWN = {
    "question": "Which **store** for [sessions](https://example.com)?",
    "header": "The `store`",
    "options": ["**PostgreSQL** (Recommended)", "`Redis`", "~~None~~"],
}


def test_labels_headers_and_teasers_show_no_raw_markdown(ask: Callable[..., Question], ana: Any) -> None:
    context = {"text": "It is **slow**:\n\n- see `store.py`\n- and [the plan](https://example.com)"}
    asked = ask(questions=[MARKDOWN], context=context)
    opened = cards.render_card(asked)
    assert "“It is slow: see store.py and the plan”" in opened
    assert '<span class="ab-chip" title="The store">The store</span>' in opened
    assert 'aria-label="Your own answer to: Which store for sessions?"' in opened
    labels = [label.strip() for label in re.findall(r'class="ab-option-label">([^<]*)<', opened)]
    assert labels == ["PostgreSQL", "Redis", "None", "Other…"]
    choice = {"question": MARKDOWN["question"], "selectedOptions": ["`Redis`"]}
    settled = cards.render_card(lifecycle.answer(asked, [choice], via=Answer.Via.WEB, user=ana))
    said = " ".join(re.sub(r"<[^>]*>", "", settled).split())
    assert "Which store for sessions? Redis Answered by Ana Costa" in said
    assert not re.search(r"[*`~]|\]\(", said)


def test_labels_that_differ_only_in_their_markdown_stay_as_they_are(ask: Callable[..., Question]) -> None:
    html = cards.render_card(ask(questions=[{"question": "Which?", "options": ["*a*", "a", "`b`"]}]))
    labels = re.findall(r'class="ab-option-label">([^<]*)<', html)
    assert labels[:3] == ["*a*", "a", "`b`"]


TWO_PROMPTS = [
    {"question": "Which checks?", "header": "Checks", "multiSelect": True, "options": ["Unit", "Browser"]},
    {"question": "When?", "header": "Time", "options": ["Now", "Tonight"]},
]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        # Ticked beside an option of a multi-select.
        ({"choice-0": ["0", "other"], "choice-1": ["0"]}, ["other-error-0"]),
        ({"choice-0": ["other"], "other-0": " \r\n ", "choice-1": ["0"]}, ["other-error-0"]),
        ({"choice-0": ["0"], "choice-1": ["other"]}, ["other-error-1"]),
        ({"choice-0": ["1", "other"], "choice-1": ["other"]}, ["other-error-0", "other-error-1"]),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_a_ticked_other_without_a_text_is_refused_at_its_field(
    browser: Client,
    ask: Callable[..., Question],
    sent: dict[str, Any],
    expected: list[str],
    headers: dict[str, str],
) -> None:
    question = ask(questions=TWO_PROMPTS)
    address = f"/rooms/{question.room.slug}/questions/{question.pk}/answer"
    reply = browser.post(address, {**sent, "notes-1": "Mind the freeze"}, headers=headers)
    page = reply.content.decode()
    assert reply.status_code == 422
    places = re.findall(rf'id="(other-error-\d)-{question.pk}"[^>]*>Other needs a text of your own.<', page)
    assert places == expected
    assert "Needs an option" not in page
    if not headers:
        assert page.count('aria-invalid="true" autofocus') == len(expected)
        assert "Mind the freeze</textarea>" in page
        ticked = re.findall(r'name="choice-(\d)" value="(\w+)" checked', page)
        assert ticked == [
            (name[-1], value) for name, values in sent.items() if "choice" in name for value in values
        ]
    assert not Answer.objects.exists()


def test_an_other_without_a_text_is_refused_together_with_all_else(
    browser: Client, ask: Callable[..., Question]
) -> None:
    question = ask(questions=TWO_PROMPTS)
    address = f"/rooms/{question.room.slug}/questions/{question.pk}/answer"
    reply = browser.post(address, {"choice-0": ["0", "other"]}, headers={"HX-Request": "true"})
    assert "Other needs a text of your own." in reply.content.decode()
    assert ">Needs an option or a text of your own." in reply.content.decode()


def test_a_text_without_a_tick_still_counts(browser: Client, ask: Callable[..., Question]) -> None:
    question = ask(questions=TWO_PROMPTS)
    address = f"/rooms/{question.room.slug}/questions/{question.pk}/answer"
    browser.post(address, {"choice-0": "0", "other-0": "License scan", "other-1": "On Friday"})
    first, second = Answer.objects.get(question=question).choices
    assert (first["selectedOptions"], first["customInput"]) == (["Unit"], "License scan")
    assert (second["selectedOptions"], second["customInput"]) == ([], "On Friday")


# ---- who manages a room ------------------------------------------------------------------------------------


def manage(room: Room, *names: str) -> None:
    for name in names:
        first, _, last = name.partition(" ")
        user = get_user_model().objects.create_user(name.replace(" ", "-"), first_name=first, last_name=last)
        Membership.objects.create(room=room, user=user, role=Membership.Role.MANAGER)


def test_members_see_who_manages_a_room(browser: Client, room: Room) -> None:
    assert "Managed by the admins of this site" in browser.get("/rooms/ops").content.decode()
    manage(room, "Zoe Zimmer", "eva <b>")
    gone = get_user_model().objects.create_user("gone", is_active=False)
    Membership.objects.create(room=room, user=gone, role=Membership.Role.MANAGER)
    for address in ("/rooms/ops", "/rooms/ops/connect"):
        assert "Managed by eva &lt;b&gt;, Zoe Zimmer\n" in browser.get(address).content.decode()


def test_many_managers_are_named_in_part(browser: Client, room: Room) -> None:
    manage(room, "Ada", "Bea", "Cid", "Dan", "Eva")
    assert "Managed by Ada, Bea, Cid and 2 more" in browser.get("/rooms/ops").content.decode()
