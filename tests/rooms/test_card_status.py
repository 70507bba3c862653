"""The status of an open card: one sentence about who waits and who decides, and votes as slots."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils.html import strip_tags

from rooms import lifecycle
from rooms.access.locks import standing_of
from rooms.contract.restrictions import Lock
from rooms.live import events
from rooms.models import Answer, Question
from rooms.rendering import cards
from rooms.rendering.slots import Slots
from tests.harness.timing import CLOCK_TIME

Ask = Callable[..., Question]


def fresh(question: Question) -> Question:
    return Question.objects.with_answer().get(pk=question.pk)


def status_of(question: Question, lock: Lock | None = None, voter_id: str | None = None) -> str:
    """The text of the status, with every clock time as "TIME"."""
    text = " ".join(strip_tags(cards.render_marks(fresh(question), lock, voter_id)).split())
    return re.sub(CLOCK_TIME, "TIME", text)


def vote(question: Question, user: Any, label: str) -> Question:
    choice = {"question": question.prompts[0]["question"], "selectedOptions": [label]}
    return lifecycle.answer(fresh(question), [choice], via=Answer.Via.WEB, user=user)


def test_an_agent_that_never_waited(ask: Ask) -> None:
    assert status_of(ask()) == "No agent is waiting yet · your answer is delivered when it asks for it"


def test_a_waiting_agent_and_one_that_left(ask: Ask) -> None:
    question = ask()
    lifecycle.wait_started(question.pk)
    assert status_of(question) == "Waiting since TIME"
    lifecycle.wait_ended(question.pk)
    assert status_of(question) == "Agent left · your answer is delivered if it returns"


def test_only_a_waiting_agent_is_amber(ask: Ask) -> None:
    question = ask()
    assert "ab-waiting" not in cards.render_marks(fresh(question))
    lifecycle.wait_started(question.pk)
    assert "ab-waiting" in cards.render_marks(fresh(question))


def test_who_decides_first_and_until_when(ask: Ask) -> None:
    question = ask(care={"first": ["ana", "ben"]})
    lifecycle.wait_started(question.pk)
    assert status_of(question, Lock.FIRST) == (
        "Waiting since TIME · Ana Costa or ben decide until TIME · you can watch"
    )
    assert status_of(question) == (
        "Waiting since TIME · Ana Costa or ben decide until TIME, then everyone in Operations"
    )


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("ben", "ben decides until TIME"),
        ({"role": "manager"}, "managers decide until TIME"),
        ({"people": ["ben"], "role": "manager"}, "ben or managers decide until TIME"),
    ],
)
def test_one_person_decides_and_several_decide(ask: Ask, first: Any, said: str) -> None:
    assert said in status_of(ask(care={"first": first}))


def test_managers_are_notified_of_what_nobody_answers(ask: Ask) -> None:
    question = ask(care={"escalate_seconds": 60})
    assert status_of(question).endswith("· managers are notified at TIME")
    Question.objects.filter(pk=question.pk).update(escalates_at=question.asked_at)
    lifecycle.sweep()
    assert status_of(question).endswith("· managers were notified")


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        (3, "3 people have to agree"),
        ({"needed": 2, "of": ["ana", "ben"]}, "Ana Costa and ben have to agree"),
    ],
)
def test_how_many_have_to_agree(ask: Ask, votes: Any, said: str) -> None:
    assert status_of(ask(care={"votes": votes})).endswith(f"· {said}")


def test_a_deadline_its_default_and_the_time_to_undo(ask: Ask) -> None:
    assert status_of(ask(timeout_seconds=600)).endswith("· expires TIME")
    default = {"Which database should we use?": "PostgreSQL (Recommended)"}
    asked = ask(timeout_seconds=600, default=default, care={"undo_seconds": 10})
    assert status_of(asked).endswith(
        "· expires TIME, then “PostgreSQL” is used · can be undone for 10 seconds"
    )


def test_several_prompts_are_sent_together(ask: Ask) -> None:
    prompts = [{"question": text, "options": ["Yes", "No"]} for text in ("One?", "Two?")]
    assert status_of(ask(questions=prompts)).endswith("· nothing is sent before you submit")


def test_the_status_stands_after_the_options_and_not_in_the_header(ask: Ask) -> None:
    for lock in (None, Lock.WATCH):
        html = cards.render_card(ask(), lock=lock)
        places = [html.index(part) for part in ("</header>", "</legend>", 'value="1"', 'class="ab-status"')]
        assert places == sorted(places)


def test_the_reason_of_a_lock_stands_before_the_options(ask: Ask) -> None:
    html = cards.render_card(ask(care={"first": ["ana", "ben"]}), lock=Lock.FIRST)
    assert html.index("Only Ana Costa and ben can answer this until") < html.index('type="radio"')


# ---- votes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "is_mine", "text"),
    [
        ([], False, "No votes yet, 3 needed"),
        ([], True, "You chose Roll out, 2 more votes needed"),
        (["Ana"], True, "You and Ana chose Roll out, 1 more vote needed"),
        (["Ana"], False, "Ana chose Roll out, 2 more votes needed"),
        (["Ana", "Ben"], False, "Ana and Ben chose Roll out, 1 more vote needed"),
        (["Ana", "Ben", "Cy"], False, "Ana, Ben and Cy chose Roll out"),
    ],
)
def test_the_slots_say_who_chose_and_what_is_missing(names: list[str], is_mine: bool, text: str) -> None:
    slots = Slots("Roll out", names, is_mine, 3)
    assert slots.text == text
    assert slots.places == [place < len(names) + is_mine for place in range(3)]


def test_each_choice_has_its_slots_and_the_own_one_says_so(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": 2})
    assert status_of(question).startswith("No votes yet, 2 needed")
    vote(question, ben, "SQLite")
    vote(question, ana, "PostgreSQL (Recommended)")
    texts = [slots.text for slots in cards.card_of(fresh(question), ana.pk).slots]
    assert texts == ["ben chose SQLite, 1 more vote needed", "You chose PostgreSQL, 1 more vote needed"]
    assert "You chose" not in cards.render_card(fresh(question))
    assert "You chose PostgreSQL" in cards.render_card(fresh(question), ana.pk)


def test_a_vote_reaches_each_open_page_as_its_viewer_reads_it(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={"votes": {"needed": 2, "of": ["ana", "ben"]}})
    before = question.revision
    vote(question, ben, "SQLite")
    _, changes = events.frames_after(question.room_id, before, ["en"])
    (frame,) = [frame for frame in changes if frame.event == f"marks-{question.pk}"]

    def seen_by(user: Any) -> str:
        standing = standing_of(user, [question.room])
        return frame.encode(user.pk, "en", many_rooms=False, standing=standing).decode()

    assert "You chose SQLite, 1 more vote needed" in seen_by(ben)
    assert "ben chose SQLite, 1 more vote needed" in seen_by(ana)
    ana.username = "cy"
    assert "you can watch" in seen_by(ana)
    assert "you can watch" not in seen_by(ben)
