"""Memory of an option: how often it was chosen for similar questions, and by whom last."""

from collections.abc import Callable
from typing import Any

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.contract.prompts import Prompt
from rooms.live import events
from rooms.models import Question
from rooms.rendering import cards
from rooms.rendering.option_memory import SHOWN, memory_of_options

Ask = Callable[..., Question]

PROMPT = {"question": "Which?", "options": [{"label": "PostgreSQL (Recommended)"}, {"label": "SQLite"}]}


def prompts(number: int = 1) -> list[Prompt]:
    asked = [{**PROMPT, "question": f"Which {place}?"} for place in range(number)]
    return list(parse_ask({"agent": {"name": "bot"}, "questions": asked}).questions)


def memory(*selected: list[str], at: int = 1, person: str = "Ana", **fields: Any) -> dict[str, Any]:
    return {
        "question_id": f"q_{at}",
        "question": "Which?",
        "chosen": [", ".join(labels) for labels in selected],
        "selected": list(selected),
        "notes": [],
        "person": person,
        "at": f"2026-11-{at:02}T10:00:00+00:00",
        "percent": 90,
        **fields,
    }


def texts(memories: list[dict[str, Any]], number: int = 1) -> dict[tuple[int, int], str]:
    return {place: found.text for place, found in memory_of_options(prompts(number), memories).items()}


def test_the_newest_answer_is_the_last_one_whatever_the_order() -> None:
    old, new = memory(["SQLite"], at=3, person="Ben"), memory(["SQLite"], at=5, person="Ana")
    for memories in ([old, new], [new, old]):
        assert texts(memories) == {(0, 1): "chosen 2 of 2 times, last by Ana"}


def test_each_option_counts_its_own_answers_and_one_is_the_latest() -> None:
    memories = [memory(["PostgreSQL"], at=1), memory(["SQLite"], at=2), memory(["PostgreSQL"], at=3)]
    found = memory_of_options(prompts(), memories)
    assert (found[0, 0].text, found[0, 0].is_latest) == (
        "chosen in 2 of the 3 most similar answers, last by Ana",
        True,
    )
    assert (found[0, 1].text, found[0, 1].is_latest) == (
        "chosen in 1 of the 3 most similar answers, last by Ana",
        False,
    )


def test_only_a_full_list_may_leave_some_out() -> None:
    fewer = [memory(["SQLite"], person="")] * (SHOWN - 1)
    assert texts(fewer) == {(0, 1): "chosen 2 of 2 times, last in the terminal"}
    full = [memory(["SQLite"], person="")] * SHOWN
    assert texts(full) == {(0, 1): "chosen in 3 of the 3 most similar answers, last in the terminal"}


def test_a_single_answer_and_one_in_a_terminal() -> None:
    assert texts([memory(["SQLite"])]) == {(0, 1): "chosen last time by Ana"}
    assert texts([memory(["SQLite"], person="")]) == {(0, 1): "chosen last time in the terminal"}
    both = [memory(["SQLite"], person=""), memory(["SQLite"], person="")]
    assert texts(both) == {(0, 1): "chosen 2 of 2 times, last in the terminal"}


def test_several_options_of_one_answer_are_told_apart() -> None:
    assert set(texts([memory(["PostgreSQL", "SQLite"])])) == {(0, 0), (0, 1)}


def test_memories_of_an_older_version_have_only_their_text() -> None:
    old = memory(["SQLite"])
    del old["selected"]
    assert texts([old]) == {(0, 1): "chosen last time by Ana"}


def test_own_words_and_other_prompts_say_nothing_about_an_option() -> None:
    assert texts([memory([], chosen=["SQLite"])]) == {}
    assert texts([memory(["SQLite"], ["SQLite"])]) == {}
    assert set(texts([memory(["SQLite"], ["PostgreSQL"])], 2)) == {(0, 1), (1, 0)}


def test_a_question_without_memories_has_none() -> None:
    assert texts([]) == {}
    assert memory_of_options(prompts(), None) == {}


def test_the_card_shows_it_on_the_option_and_in_the_event_for_open_pages(ask: Ask) -> None:
    question = ask()
    before = question.revision
    lifecycle.recall(question.pk, [memory(["SQLite"], person="<b>Ana</b>", question_id=question.pk)])
    remembered = Question.objects.with_answer().get(pk=question.pk)
    line = f'id="memory-0-1-{question.pk}"'
    html = cards.render_card(remembered)
    assert line in html
    assert "chosen last time by &lt;b&gt;Ana&lt;/b&gt;" in html
    assert html.count("data-latest") == 1
    _, changes = events.frames_after(question.room_id, before)
    (frame,) = [frame for frame in changes if frame.event == f"memory-{question.pk}"]
    sent = frame.encode(None, "en", many_rooms=False).decode()
    assert line in sent
    assert sent.count('hx-swap-oob="true"') == 2
    assert "chosen last time by &lt;b&gt;Ana&lt;/b&gt;" in sent
