"""Similar decisions: like questions are found, others are not, and no question is answered by them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import earlier_answers, similar, writer
from rooms.history.similar import MIN_SIMILARITY, Fingerprint
from rooms.live import events
from rooms.live.background import write_history
from rooms.models import Answer, Question, Room
from rooms.timeline.change_feed import changes_for

ALIKES = [
    ("Delete the file src/old_api.py?", "Delete the file src/new_handlers.py?"),
    (
        "May I delete `legacy/report.py`? Nothing uses it.",
        "May I delete `jobs/2019.py`? Nothing uses it.",
    ),
    ("Which database should we use?", "WHICH DATABASE should we use"),
    ("Which database should we use?", "Which database should we use for the tests?"),
    ("Which database should the billing service use?", "Which database should the search service use?"),
    ("Deploy version 1.4.2 to production now?", "Deploy version 1.5.0 to production now?"),
    ("It locks the table orders for 40 seconds. Run it?", "It locks the table users for 12 seconds. Run it?"),
    ("May I force-push to the branch feature/login?", "May I force-push to the branch fix/timeout-3?"),
    ("How should errors be reported to the user?", "How should errors be shown to the user?"),
    ("Retry the failed build #4821?", "Retry the failed build #5007?"),
    ("Welche Datenbank sollen wir nehmen?", "Welche Datenbank sollen wir für die Tests nehmen?"),
]
OTHERS = [
    ("Which database should we use?", "Which cache should we use?"),
    ("Which database should we use?", "Which branch should I merge first?"),
    ("Delete the file src/old_api.py?", "Rename the file src/old_api.py?"),
    ("Deploy version 1.4.2 to production now?", "Roll back production to version 1.4.2 now?"),
    ("Should I run the migration now?", "Should I write a test for this?"),
    ("May I delete the old backups?", "May I install the new packages?"),
    ("Which authentication method should we use?", "Which test framework should we use?"),
    ("Can I upgrade Django from 5.1 to 5.2?", "Can I upgrade pytest from 8.3 to 8.4?"),
]


@pytest.fixture
def decide(room: Room, ana: Any) -> Callable[..., Question]:
    """Ask and answer such a question, and write it to the history."""

    def decided(text: str, label: str = "Yes", options: Any = ("Yes", "No"), **fields: Any) -> Question:
        place = fields.pop("room", room)
        question, _ = lifecycle.ask(place, None, parse_ask({"question": text, "options": list(options)}))
        choices = [{"question": text, "selectedOptions": [label], **fields}]
        settled = lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
        writer.catch_up(5)
        return settled

    return decided


def ask(room: Room, text: str, options: Any = ("Yes", "No")) -> Question:
    question, _ = lifecycle.ask(room, None, parse_ask({"question": text, "options": list(options)}))
    return question


def remembered(room: Room, text: str) -> list[str]:
    return [
        question.prompts[0]["question"] for question, _ in similar.find_similar(room.pk, Fingerprint.of(text))
    ]


# ---- what is alike ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), ALIKES)
def test_the_same_question_about_something_else_is_alike(one: str, other: str) -> None:
    assert Fingerprint.of(one).similarity(Fingerprint.of(other)) >= MIN_SIMILARITY


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_question_is_not(one: str, other: str) -> None:
    assert Fingerprint.of(one).similarity(Fingerprint.of(other)) < MIN_SIMILARITY


def test_the_same_is_one_and_another_file_is_less() -> None:
    asked = Fingerprint.of("Delete `old.py`?", ["Yes", "No"])
    assert asked.similarity(Fingerprint.of("delete `OLD.py` ?", ["No", "Yes (Recommended)"])) == 1
    assert MIN_SIMILARITY < asked.similarity(Fingerprint.of("Delete `new.py`?", ["Yes", "No"])) < 1


def test_other_options_make_it_less_alike() -> None:
    asked = Fingerprint.of("Which one?", ["PostgreSQL", "SQLite"])
    assert asked.similarity(Fingerprint.of("Which one?", ["Red", "Green"])) == 0.75


@pytest.mark.parametrize(("one", "other"), ALIKES)
def test_what_is_alike_is_found(decide: Callable[..., Question], room: Room, one: str, other: str) -> None:
    for text, _ in OTHERS:
        decide(text)
    decide(one)
    assert one in remembered(room, other)


def test_texts_without_words_are_like_nothing(decide: Callable[..., Question], room: Room) -> None:
    decide("???")
    assert remembered(room, "???") == remembered(room, "🙂") == []


# ---- what is remembered ----------------------------------------------------------------------------------


def test_the_most_alike_come_first_and_the_newest_of_equals(
    decide: Callable[..., Question], room: Room
) -> None:
    older, newer = (decide("Deploy version 1 to production now?") for _ in range(2))
    decide("Deploy version 2 to production now?")
    decide("Deploy the version 1 to our production now?")
    found = similar.find_similar(room.pk, Fingerprint.of("Deploy version 1 to production now?"))
    assert [question.pk for question, _ in found[:2]] == [newer.pk, older.pk]
    assert len(found) == 3
    assert [similarity for _, similarity in found] == sorted((one for _, one in found), reverse=True)


def test_only_what_a_person_answered_in_this_room(
    decide: Callable[..., Question], room: Room, other_room: Room, ana: Any
) -> None:
    text = "May I delete the old tables?"
    decide(text, room=other_room)
    lifecycle.decline(ask(room, text), ana)
    lifecycle.withdraw(ask(room, text))
    choices = [{"question": text, "selectedOptions": ["Yes"]}]
    lifecycle.answer(ask(room, text), choices, via=Answer.Via.API)
    writer.catch_up(5)
    assert remembered(room, text) == []
    lifecycle.answer(ask(room, text), choices, via=Answer.Via.TERMINAL)
    writer.catch_up(5)
    assert remembered(room, text) == [text]


def test_it_takes_three_queries_however_much_there_is(decide: Callable[..., Question], room: Room) -> None:
    for number in range(60):
        decide(f"Deploy version {number} to production now?")
    with CaptureQueriesContext(connection) as queries:
        assert len(similar.find_similar(room.pk, Fingerprint.of("Deploy version 99 to production now?"))) == 3
    # Who may be alike, what they ask, and all of the few that are shown.
    assert len(queries) == 3


# ---- on the card -----------------------------------------------------------------------------------------


def test_a_new_question_recalls_what_was_answered_before(
    decide: Callable[..., Question], room: Room, browser: Client
) -> None:
    earlier = decide("Delete `old.py`?", "No", notes="Still <b>used</b>")
    question = ask(room, "Delete `new.py`?")
    write_history(5)
    question.refresh_from_db()
    assert question.is_open
    ((found),) = question.memories
    assert (found["question_id"], found["chosen"], found["person"]) == (earlier.pk, ["No"], "Ana Costa")
    html = browser.get(reverse("ask_bridge:question", args=(room.slug, question.pk))).content.decode()
    assert "Asked before: 1 similar answer" in html
    assert reverse("ask_bridge:question", args=(room.slug, earlier.pk)) in html
    assert f"{found['percent']}% match" in html
    assert "Still &lt;b&gt;used&lt;/b&gt;" in html


def test_what_was_never_asked_before_changes_nothing(
    decide: Callable[..., Question], room: Room, browser: Client
) -> None:
    decide("Which colour should the button have?")
    question = ask(room, "Delete `new.py`?")
    write_history(5)
    before = question.revision
    question.refresh_from_db()
    assert (question.memories, question.revision) == (None, before)
    html = browser.get(reverse("ask_bridge:question", args=(room.slug, question.pk))).content.decode()
    assert f'id="memory-{question.pk}"' in html
    assert "Asked before:" not in html


def test_a_question_that_changes_while_it_is_looked_at_is_recalled_all_the_same(
    decide: Callable[..., Question], room: Room
) -> None:
    decide("Delete `old.py`?")
    write_history(5)
    question = ask(room, "Delete `new.py`?")
    (changes,) = changes_for(earlier_answers.READER)
    lifecycle.wait_started(question.pk)
    assert list(changes.asked) == [question]


def test_a_round_that_runs_out_of_time_goes_on_where_it_was(
    decide: Callable[..., Question], room: Room
) -> None:
    decide("Delete `old.py`?")
    questions = [ask(room, f"Delete `{name}.py`?") for name in ("one", "two", "three")]
    writer.catch_up(5)
    for recalled in (1, 2, 3):
        earlier_answers.catch_up(0)
        assert Question.objects.filter(memories__isnull=False).count() == recalled
    assert {question.pk for question in questions} == set(
        Question.objects.filter(memories__isnull=False).values_list("pk", flat=True)
    )


def test_a_question_waits_until_the_answers_before_it_are_in_the_history(
    decide: Callable[..., Question], room: Room
) -> None:
    decide("Delete `old.py`?")
    last = ask(room, "Delete `last.py`?")
    choices = [{"question": "Delete `last.py`?", "selectedOptions": ["No"]}]
    lifecycle.answer(last, choices, via=Answer.Via.TERMINAL)
    question = ask(room, "Delete `new.py`?")
    earlier_answers.catch_up(5)
    question.refresh_from_db()
    assert question.memories is None
    writer.catch_up(5)
    earlier_answers.catch_up(5)
    question.refresh_from_db()
    assert len(question.memories) == 2


def test_memories_reach_open_pages_as_a_frame_of_their_own(
    decide: Callable[..., Question], room: Room
) -> None:
    decide("Delete `old.py`?")
    question = ask(room, "Delete `new.py`?")
    write_history(5)
    _, changes = events.frames_after(room.pk, question.revision)
    (frame,) = [frame for frame in changes if frame.event == f"memory-{question.pk}"]
    assert b"Asked before: 1 similar answer" in frame.encode(None, "en", many_rooms=False)
    lifecycle.withdraw(question)
    _, changes = events.frames_after(room.pk, question.revision)
    assert not [frame for frame in changes if frame.event.startswith("memory-")]


def test_a_settled_question_recalls_nothing(decide: Callable[..., Question], room: Room) -> None:
    decide("Delete `old.py`?")
    question = ask(room, "Delete `new.py`?")
    lifecycle.withdraw(question)
    assert not lifecycle.recall(question.pk, [{}])
    question.refresh_from_db()
    assert question.memories is None


# ---- over the API ----------------------------------------------------------------------------------------


def address(agent: Any, **query: str) -> str:
    return reverse("ask_bridge:api-memory", args=(agent.room_row.slug,), query=query)


def test_an_agent_finds_what_was_answered(agent: Any, question: Question, ana: Any) -> None:
    choices = [{"question": question.prompts[0]["question"], "selectedOptions": ["SQLite"]}]
    lifecycle.answer(question, choices, via=Answer.Via.WEB, user=ana)
    body = agent.get(address(agent, q="Which database should we use?")).json()
    ((found),) = body["memories"]
    assert found["similarity"] == 1
    assert found["question"] == agent.get(agent.question_url(question.pk)).json()


def test_limit_is_three_unless_told(agent: Any, decide: Callable[..., Question]) -> None:
    for number in range(5):
        decide(f"Deploy version {number} now?")
    text = "Deploy version 9 now?"
    assert len(agent.get(address(agent, q=text)).json()["memories"]) == 3
    assert len(agent.get(address(agent, q=text, limit="1")).json()["memories"]) == 1
    assert len(agent.get(address(agent, q=text, limit="1000")).json()["memories"]) == 5


@pytest.mark.parametrize(
    "query",
    [{}, {"q": ""}, {"q": " "}, {"q": "x" * 2_001}, {"q": "x", "limit": "0"}, {"q": "x", "limit": "a"}],
)
def test_wrong_parameters_are_told(agent: Any, problem: Any, query: dict[str, str]) -> None:
    problem(agent.get(address(agent, **query)), 422, "invalid_parameter")


def test_any_text_may_be_looked_for(agent: Any) -> None:
    for text in ("\x00", "' OR 1=1 --", '"', "🙂", "zzm00"):
        assert agent.get(address(agent, q=text)).json() == {"memories": []}


def test_other_rooms_are_missing(agent: Any, foreign_agent: Any, problem: Any) -> None:
    problem(foreign_agent.get(address(agent, q="Which?")), 404, "not_found")
