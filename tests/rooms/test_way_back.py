"""The way back from the page of a question: to the inbox with its filters, the search, or the room."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from rooms.models import Question, Room

HOST = "http://testserver"


def address_of(question: Question) -> str:
    return reverse("ask_bridge:question", args=(question.room.slug, question.pk))


def crumbs(
    browser: Client, question: Question, referer: str = "", **parameters: str
) -> list[tuple[str, str]]:
    headers = {"Referer": referer} if referer else {}
    page = browser.get(address_of(question), parameters, headers=headers).content.decode()
    crumb = re.search(r'<div class="ab-crumb[^"]*"><p>(.*?)</p>', page, re.DOTALL)
    assert crumb
    return re.findall(r'<a href="([^"]*)">([^<]*)</a>', unescape(crumb.group(1)))


def test_it_leads_to_the_room(browser: Client, question: Question, room: Room) -> None:
    address = reverse("ask_bridge:room", args=(room.slug,))
    assert crumbs(browser, question) == [(address, "← Operations")]
    assert crumbs(browser, question, f"{HOST}{address}") == [(address, "← Operations")]


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("/", "/"),
        ("/?room=ops&mine=1", "/?room=ops&mine=1"),
        ("/?room=ops&question=q_1&closed=3", "/?room=ops"),
        ("/?agent=a+%26+b&show=70&unattended=1", "/?agent=a+%26+b&show=70&unattended=1"),
    ],
)
def test_from_the_inbox_it_leads_back_to_the_inbox_with_its_filters(
    browser: Client, question: Question, came_from: str, back: str
) -> None:
    assert crumbs(browser, question, f"{HOST}{came_from}")[0] == (back, "← Back to the inbox")


def test_from_a_search_it_leads_back_to_the_search(browser: Client, question: Question) -> None:
    link, text = crumbs(browser, question, f"{HOST}{reverse('ask_bridge:history')}?q=data")[0]
    assert (link, text) == (
        f"{reverse('ask_bridge:history')}?q=data#result-{question.pk}",
        "← Back to the search",
    )


@pytest.mark.parametrize(
    "referer",
    [
        "https://evil.example/",
        "//evil.example/",
        "http://testserver.evil.example/",
        "javascript:alert(1)",
        "http://[",
    ],
)
def test_a_foreign_page_is_no_way_back(browser: Client, question: Question, referer: str) -> None:
    assert [text for _, text in crumbs(browser, question, referer)] == ["← Operations"]


@pytest.mark.parametrize(
    "hostile",
    [
        "https://evil.example/",
        "//evil.example",
        "room=//evil.example",
        'agent="><script>',
        "\x00",
        "&" * 5000,
    ],
)
def test_a_parameter_leads_to_our_own_inbox_only(browser: Client, question: Question, hostile: str) -> None:
    link, _ = crumbs(browser, question, inbox=hostile)[0]
    assert re.match(rf"{reverse('ask_bridge:inbox')}($|\?)", link)


def test_an_answer_without_javascript_keeps_the_way_back(browser: Client, question: Question) -> None:
    answer = reverse("ask_bridge:answer", args=(question.room.slug, question.pk))
    reply = browser.post(answer, {"choice-0": "1"}, headers={"Referer": f"{HOST}/?room=ops&question=x"})
    assert reply.status_code == 303
    page = browser.get(reply.headers["Location"]).content.decode()
    assert '<a href="/?room=ops">← Back to the inbox</a>' in page


def test_an_answer_on_the_page_itself_keeps_it_as_well(browser: Client, question: Question) -> None:
    answer = reverse("ask_bridge:answer", args=(question.room.slug, question.pk))
    here = f"{HOST}{address_of(question)}?search=q%3Ddata"
    reply = browser.post(answer, {"choice-0": "1"}, headers={"Referer": here})
    assert reply.headers["Location"] == f"{address_of(question)}?search=q%3Ddata"


def test_the_link_to_copy_has_no_way_back(browser: Client, question: Question) -> None:
    page = browser.get(address_of(question), {"inbox": "room=ops"}).content.decode()
    assert f'<code class="ab-sr-only" aria-hidden="true">{HOST}{address_of(question)}</code>' in page
