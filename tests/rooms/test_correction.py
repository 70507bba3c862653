"""A correction: a person's message to the agent about a question that is decided."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.contract import ids
from rooms.live import events
from rooms.models import Answer, Message, Question, Room
from rooms.permissions import Permissions

Ask = Callable[..., Question]
TEXT = "Which database should we use?"
HTMX = {"HX-Request": "true"}


def answer(question: Question, user: Any, label: str = "SQLite", **how: Any) -> Question:
    choice = {"question": TEXT, "selectedOptions": [label]}
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user, **how)


def address(question: Question) -> str:
    return f"/rooms/ops/questions/{question.pk}/correct"


@pytest.fixture
def answered(question: Question, ana: Any) -> Question:
    return answer(question, ana)


# ---- the verb --------------------------------------------------------------------------------------------


def test_correction_is_a_message_tied_to_its_question(answered: Question, ana: Any) -> None:
    sent = lifecycle.correct(answered, ana, "PostgreSQL after all")
    assert (sent.question_id, sent.room_id) == (answered.pk, answered.room_id)
    assert (sent.sender, sent.sender_type, sent.kind) == ("Ana Costa", "human", "message")
    assert list(answered.corrections.all()) == [sent]
    call_command("verify_audit")


def test_answer_and_revision_of_the_question_stay(answered: Question, ana: Any) -> None:
    lifecycle.correct(answered, ana, "PostgreSQL after all")
    now = Question.objects.with_answer().get(pk=answered.pk)
    assert now.revision == answered.revision
    assert now.answer.choices == answered.answer.choices


def test_room_is_announced_once(
    answered: Question, ana: Any, hints: list[Any], committed: Callable[[], Any]
) -> None:
    with committed():
        sent = lifecycle.correct(answered, ana, "PostgreSQL after all")
    assert [hint["revision"] for hint in hints if hint["revision"] > answered.revision] == [sent.position]


def test_open_question_has_nothing_to_correct(question: Question, ana: Any) -> None:
    with pytest.raises(lifecycle.NotDecided):
        lifecycle.correct(question, ana, "PostgreSQL after all")
    assert not Message.objects.exists()


def test_words_for_a_held_decision_are_accepted_and_for_an_undone_one_are_not(
    question: Question, ana: Any, ben: Any
) -> None:
    held = answer(question, ana, undo_seconds=10)
    assert lifecycle.correct(held, ben, "I would not").question_id == question.pk
    lifecycle.undo(held, ana)
    with pytest.raises(lifecycle.NotDecided):
        lifecycle.correct(held, ben, "I would not")


@pytest.mark.parametrize("end", [lifecycle.withdraw, lifecycle.expire])
def test_question_that_ended_without_an_answer_takes_words_too(
    question: Question, ana: Any, end: Callable[[Question], Question]
) -> None:
    assert lifecycle.correct(end(question), ana, "Sorry, I was late").question_id == question.pk


def test_same_nonce_stores_it_once_per_person_question_and_text(ask: Ask, ana: Any, ben: Any) -> None:
    first, second = answer(ask(), ana), answer(ask(), ana)
    nonce = ids.new_nonce()
    sent = [lifecycle.correct(first, ana, "PostgreSQL", nonce).pk for _ in range(2)]
    assert len(set(sent)) == 1
    lifecycle.correct(first, ben, "PostgreSQL", nonce)
    lifecycle.correct(first, ana, "Oracle", nonce)
    lifecycle.correct(second, ana, "PostgreSQL", nonce)
    assert Message.objects.count() == 4


def test_text_stays_when_its_question_is_deleted(answered: Question, ana: Any) -> None:
    lifecycle.correct(answered, ana, "PostgreSQL after all")
    lifecycle.delete_questions(Question.objects.filter(pk=answered.pk), by=ana)
    assert Message.objects.get().question_id is None


# ---- what the agent hears --------------------------------------------------------------------------------


def test_agent_reads_the_id_of_the_question(agent: Any, answered: Question, ana: Any) -> None:
    lifecycle.say(answered.room, ana, "Good morning")
    lifecycle.correct(answered, ana, "PostgreSQL after all")
    messages = agent.get(f"{agent.messages_url}?after={answered.answer.pk}").json()["messages"]
    assert [(one["content"], one["question"]) for one in messages] == [
        ("Good morning", None),
        ("PostgreSQL after all", answered.pk),
    ]


# ---- the form --------------------------------------------------------------------------------------------


def test_decided_card_offers_it_and_an_open_one_does_not(
    browser: Client, question: Question, ana: Any
) -> None:
    page = f"/rooms/ops/questions/{question.pk}"
    assert address(question) not in browser.get(page).content.decode()
    reply = browser.post(f"{page}/answer", {"choice-0": "1"}, headers=HTMX).content.decode()
    assert address(question) in reply
    assert "Send a correction" in browser.get(page).content.decode()
    assert "Send a correction" in browser.get("/rooms/ops").content.decode()


def test_card_that_can_be_undone_offers_undo_instead(browser: Client, question: Question, ana: Any) -> None:
    answer(question, ana, undo_seconds=10)
    page = browser.get(f"/rooms/ops/questions/{question.pk}").content.decode()
    assert address(question) not in page
    assert f"/rooms/ops/questions/{question.pk}/undo" in page


def test_without_javascript_it_leads_to_the_question_which_lists_it(
    browser: Client, answered: Question
) -> None:
    sent = browser.post(address(answered), {"content": "PostgreSQL\r\nafter all", "nonce": ids.new_nonce()})
    assert (sent.status_code, sent["Location"]) == (303, f"/rooms/ops/questions/{answered.pk}")
    assert Message.objects.get().content == "PostgreSQL\nafter all"
    for page in (sent["Location"], "/rooms/ops"):
        html = browser.get(page).content.decode()
        assert "Correction by Ana Costa" in html
        assert html.count(f'id="correction-{Message.objects.get().pk}"') == 1


def test_with_htmx_it_gives_the_list_and_a_new_form(browser: Client, answered: Question) -> None:
    nonce = ids.new_nonce()
    reply = browser.post(address(answered), {"content": "PostgreSQL", "nonce": nonce}, headers=HTMX)
    html = reply.content.decode()
    assert reply.status_code == 200
    assert html.startswith('<div class="ab-corrections"')
    assert "Correction by Ana Costa" in html
    assert nonce not in html.partition("<form")[2]


def test_same_form_sent_twice_is_one_correction(browser: Client, answered: Question) -> None:
    data = {"content": "PostgreSQL", "nonce": ids.new_nonce()}
    assert [browser.post(address(answered), data).status_code for _ in range(2)] == [303, 303]
    assert Message.objects.count() == 1


@pytest.mark.parametrize("content", ["", "   ", "x" * 16_001])
def test_refused_text_is_kept_beside_its_error(browser: Client, answered: Question, content: str) -> None:
    refused = browser.post(address(answered), {"content": content})
    html = refused.content.decode()
    assert refused.status_code == 422
    assert '<details class="ab-correct" open>' in html or not content.strip()
    assert "ab-field-error" in html
    told = browser.post(address(answered), {"content": content}, headers=HTMX)
    assert (told.status_code, told["HX-Retarget"]) == (422, "find .ab-errors")
    assert not Message.objects.exists()


def test_correction_of_a_question_that_was_opened_again_keeps_the_words(
    browser: Client, question: Question
) -> None:
    refused = browser.post(address(question), {"content": "PostgreSQL after all"})
    html = refused.content.decode()
    assert refused.status_code == 422
    assert "open again" in html
    assert ">PostgreSQL after all</textarea>" in html


def test_messages_of_a_minute_are_counted_together(
    settings: Any, browser: Client, answered: Question
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "MESSAGES_PER_MINUTE": 1}
    assert browser.post("/rooms/ops/messages", {"content": "Hello"}).status_code == 302
    refused = browser.post(address(answered), {"content": "PostgreSQL"}, headers=HTMX)
    assert (refused.status_code, refused["HX-Retarget"]) == (429, "find .ab-errors")


def test_room_of_others_is_missing(client: Client, answered: Question, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("eve"))
    assert client.post(address(answered), {"content": "Hello"}).status_code == 404


class Watching(Permissions):
    """Ben may read, but not answer."""

    lets_all_answer = False

    def may_answer(self, user: Any, room: Room) -> bool:
        return user.username != "ben"


def test_who_only_watches_sees_corrections_and_no_form(
    settings: Any, client: Client, answered: Question, ana: Any, ben: Any
) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "PERMISSIONS": f"{__name__}.Watching"}
    lifecycle.correct(answered, ana, "PostgreSQL after all")
    client.force_login(ben)
    for page in ("/rooms/ops", f"/rooms/ops/questions/{answered.pk}", f"/?question={answered.pk}"):
        html = client.get(page).content.decode()
        assert "Correction by Ana Costa" in html
        assert address(answered) not in html
    assert client.post(address(answered), {"content": "Hello"}).status_code == 403


# ---- words that came too late ----------------------------------------------------------------------------


def test_losing_answer_offers_its_words_as_a_message(browser: Client, question: Question, ben: Any) -> None:
    answer(question, ben)
    page = f"/rooms/ops/questions/{question.pk}"
    late = browser.post(f"{page}/answer", {"choice-0": "0", "notes-0": "It <grows>"})
    html = late.content.decode()
    assert late.status_code == 409
    assert "ab-lost-form" in html
    assert 'name="content" value="PostgreSQL (Recommended), It &lt;grows&gt;"' in html
    words = {"content": "PostgreSQL (Recommended), It <grows>", "nonce": ids.new_nonce()}
    reply = browser.post(address(question), words, headers={**HTMX, "HX-Target": f"lost-{question.pk}"})
    assert "sent to the agent as a message" in reply.content.decode()
    assert Message.objects.get().question_id == question.pk


def test_nothing_chosen_is_nothing_to_send(browser: Client, question: Question, ben: Any) -> None:
    answer(question, ben)
    late = browser.post(f"/rooms/ops/questions/{question.pk}/skip", {"reason": " "})
    assert "ab-lost-form" not in late.content.decode()


# ---- the timeline and open pages -------------------------------------------------------------------------


def test_timeline_names_the_question_with_a_link(browser: Client, answered: Question, ana: Any) -> None:
    lifecycle.correct(answered, ana, "PostgreSQL after all")
    html = browser.get("/rooms/ops").content.decode()
    assert f'Correction to: <a href="/rooms/ops/questions/{answered.pk}">{TEXT}</a>' in html


def sent_to_ana(room: Room, revision: int, ana: Any) -> dict[str, str]:
    _, frames = events.frames_after(room.pk, revision)
    return {frame.event: frame.encode(ana.pk, "en", many_rooms=False).decode() for frame in frames}


def test_open_pages_get_a_line_for_the_card_and_an_entry(answered: Question, room: Room, ana: Any) -> None:
    sent = lifecycle.correct(answered, ana, "PostgreSQL after all")
    frames = sent_to_ana(room, answered.revision, ana)
    assert set(frames) == {"entry", f"correction-{answered.pk}"}
    assert f'id="correction-{sent.pk}"' in frames[f"correction-{answered.pk}"]


def test_card_that_is_replaced_late_has_its_corrections(question: Question, room: Room, ana: Any) -> None:
    before = question.revision
    settled = answer(question, ana)
    sent = lifecycle.correct(settled, ana, "PostgreSQL after all")
    lifecycle.deliver(question.pk)
    frames = sent_to_ana(room, before, ana)
    assert f'id="correction-{sent.pk}"' in frames[f"card-{question.pk}"]


def test_words_sent_while_a_decision_was_held_stay_on_the_card(
    question: Question, room: Room, ana: Any, ben: Any
) -> None:
    held = answer(question, ana, undo_seconds=10)
    sent = lifecycle.correct(held, ben, "I would not")
    Question.objects.filter(pk=question.pk).update(held_until=timezone.now() - timedelta(seconds=1))
    lifecycle.sweep()
    frames = sent_to_ana(room, sent.position, ana)
    assert f'id="correction-{sent.pk}"' in frames[f"card-{question.pk}"]
