"""History search: any text finds the entries that contain it, and never those of a foreign room."""

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rooms import lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import index_query, search, writer
from rooms.history.search import Search
from rooms.history.tokenizer import words_of
from rooms.management import demo
from rooms.models import Answer, HistoryEntry, Question, Room


@pytest.fixture
def decide(room: Room, ana: Any) -> Callable[..., Question]:
    """An answered question with this text, in the history."""

    def decided(text: str, label: str = "Yes", *, by: Any = None, **fields: Any) -> Question:
        place = fields.pop("room", room)
        choice = {name: fields.pop(name) for name in ("customInput", "notes") if name in fields}
        body = {"question": text, "options": ["Yes", "No"], **fields}
        question, _ = lifecycle.ask(place, None, parse_ask(body))
        choices = [{"question": text, "selectedOptions": [label], **choice}]
        settled = lifecycle.answer(question, choices, via=Answer.Via.WEB, user=by or ana)
        writer.catch_up(5)
        return settled

    return decided


def texts(found: search.Found) -> list[str]:
    return [question.prompts[0]["question"] for question in found.questions]


def look(rooms: Any, limit: int = 50, **filters: Any) -> list[str]:
    return texts(search.find(Search.read(filters), rooms, limit))


# ---- words -----------------------------------------------------------------------------------------------


def test_everything_is_found_newest_first(decide: Callable[..., Question], room: Room) -> None:
    for text in ("One?", "Two?", "Three?"):
        decide(text)
    assert look([room]) == ["Three?", "Two?", "One?"]


@pytest.mark.parametrize(
    "typed",
    [
        "database",
        "DATA",
        "data shop",
        '"the database"',
        "“the database”",
        "uber",
        "Über",
        "history.py",
        "rooms/history",
        "hist",
        "数据",
        "据库",
        "because cheaper",
        "refactor",
        "database !!! ---",
        "dat*",
        "data AND shop",
    ],
)
def test_words_are_found(decide: Callable[..., Question], room: Room, typed: str) -> None:
    decide(
        "Move the database of the Shop über rooms/history.py and 数据库?",
        notes="Because it is cheaper, AND simple",
        agent={"name": "refactor-bot"},
    )
    decide("Something else?", agent={"name": "deploy-bot"}, by=None)
    assert look([room], q=typed)[0].startswith("Move")


# Not letters: accents alone, a space with an accent, a hexagram, and characters that only join others.
MARKS = ["\u0301", "\u3099", "\u309b", "\u037a", "\u4dc0", "\u034f", "\u0301 \u309b"]


@pytest.mark.parametrize(
    "typed", ["atabase", '"database the"', "database nothing", "zzz", "🙂", "***", "-", *MARKS]
)
def test_what_is_not_there_is_not_found(decide: Callable[..., Question], room: Room, typed: str) -> None:
    decide("Move the database of the shop?")
    assert look([room], q=typed) == []


AWKWARD = ['"', '""', '"a', "a\"b'c", "a*", "*", "(", "NEAR(a b)", "a OR", "AND", "NOT a", "text : a", "^a"]
AWKWARD += [
    "a:*",
    "a & | !",
    "<->",
    "\x00",
    "a\x00b",
    "\\",
    "'",
    "a'); DROP TABLE x; --",
    "%s %(a)s",
    "½ ŉ ﷺ ²",
    "\u0301",
    "a \u0301 b",
    '"a \u0301"',
    "\u3099 \uff9e",
]


@pytest.mark.parametrize("typed", [*AWKWARD, "x" * 5_000, "word " * 500, "ﷺ" * 200])
def test_nothing_that_is_typed_is_an_error(decide: Callable[..., Question], room: Room, typed: str) -> None:
    decide("Move the database of the shop?")
    for name in ("q", "person", "agent", "room", "state", "since", "until"):
        look([room], **{name: typed})
        search.count(Search.read({name: typed}), [room])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(typed=st.text(max_size=40) | st.text(st.sampled_from([*" \"'a*", *"".join(MARKS)]), max_size=9))
def test_any_text_is_a_search(room: Room, typed: str) -> None:
    for name in ("q", "person", "agent"):
        look([room], **{name: typed})
    look([room], q=typed, person=typed, agent=typed)


@settings(deadline=None)
@given(text=st.text() | st.text(st.sampled_from([*" a", *"".join(MARKS)])))
def test_every_word_has_something_to_find(text: str) -> None:
    assert all(any(letter.isalnum() for letter in word) for word in words_of(text))


def test_accents_of_their_own_separate_no_words(decide: Callable[..., Question], room: Room) -> None:
    decide("Move the cafe\u0301 \u0301 now?")
    assert len(look([room], q='"café now"')) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    word=st.text(
        st.characters(categories=("Lu", "Ll", "Lo", "Nd"), max_codepoint=0x2FFF), min_size=1, max_size=8
    )
)
@example(word="\u19b0")
@example(word="\u19c9")
@example(word="\u1cf2")
def test_every_word_is_found_as_it_was_written(
    decide: Callable[..., Question], room: Room, word: str
) -> None:
    question = decide(f"Is it {word} now?")
    found = search.find(Search(q=f'"{word}"'), [room], 500).questions
    assert question.pk in {one.pk for one in found}


def test_very_long_words_are_found_by_their_beginning(decide: Callable[..., Question], room: Room) -> None:
    decide(f"Is {'a1' * 900} it?")
    assert len(look([room], q="a1" * 90)) == 1


# ---- filters ---------------------------------------------------------------------------------------------


def test_filters_narrow_it_down(decide: Callable[..., Question], room: Room, ana: Any, ben: Any) -> None:
    decide("Ana's?", by=ana, agent={"name": "refactor-bot"})
    decide("Ben's?", by=ben, agent={"name": "deploy-bot"})
    assert look([room], person="ana") == ["Ana's?"]
    assert look([room], person="Costa, A") == ["Ana's?"]
    assert look([room], person="be") == ["Ben's?"]
    assert look([room], agent="deploy") == ["Ben's?"]
    assert look([room], agent="bot") == ["Ben's?", "Ana's?"]
    assert look([room], agent="deploy", person="ana") == []
    assert look([room], person="refactor") == []


@pytest.mark.parametrize("state", ["answered", "skipped", "asked-back", "expired", "withdrawn"])
def test_states_are_told_apart(ask: Callable[..., Question], room: Room, ana: Any, state: str) -> None:
    endings = {
        "answered": lambda one: lifecycle.answer(
            one,
            [{"question": one.prompts[0]["question"], "selectedOptions": ["SQLite"]}],
            via=Answer.Via.WEB,
            user=ana,
        ),
        "skipped": lambda one: lifecycle.decline(one, ana),
        "asked-back": lambda one: lifecycle.ask_back(one, ana, "Why?"),
        "expired": lifecycle.expire,
        "withdrawn": lifecycle.withdraw,
    }
    ended = {name: end(ask()) for name, end in endings.items()}
    writer.catch_up()
    found = search.find(Search.read({"state": state}), [room], 9)
    assert [question.pk for question in found.questions] == [ended[state].pk]


def test_days_are_whole_and_within(decide: Callable[..., Question], room: Room) -> None:
    today = timezone.localdate()
    decide("Today?")
    assert look([room], since=str(today), until=str(today)) == ["Today?"]
    assert look([room], since=str(today + timedelta(days=1))) == []
    assert look([room], until=str(today - timedelta(days=1))) == []
    assert look([room], since="0001-01-01", until="9999-12-31") == ["Today?"]
    assert Search.read({"since": "yesterday"}).since is None


@pytest.mark.parametrize(
    "day", ["2255-06-05", "2255-06-06", "2255-06-07", "2300-01-01", "3000-01-01", "9999-12-30", "9999-12-31"]
)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_a_day_can_be_far_away(decide: Callable[..., Question], room: Room, day: str, zone: str) -> None:
    """Ids of entries end in the year 2255."""
    decide("Today?")
    with timezone.override(zone):
        assert look([room], since=day) == []
        assert look([room], until=day) == ["Today?"]
        assert search.count(Search.read({"until": day}), [room]) == 1


def test_a_search_is_the_same_after_a_trip_through_an_address() -> None:
    looked = Search("a b", "ops", "skipped", "bot", "ana", date(2026, 1, 2), date(2026, 2, 3))
    assert Search.read(looked.as_parameters()) == looked


# ---- rooms -----------------------------------------------------------------------------------------------


def test_nothing_of_other_rooms_is_found(
    decide: Callable[..., Question], room: Room, other_room: Room
) -> None:
    decide("Mine?")
    decide("Foreign?", room=other_room)
    assert look([room]) == ["Mine?"]
    assert look([room], q="foreign") == []
    assert look([room], room="lab") == []
    assert look([]) == []
    assert look([room, other_room], room="lab") == ["Foreign?"]
    assert look([room, other_room]) == ["Foreign?", "Mine?"]


def test_words_of_the_index_itself_give_nothing_away(
    decide: Callable[..., Question], room: Room, other_room: Room
) -> None:
    decide("Foreign?", room=other_room)
    for typed in (f"zzr{other_room.pk}", "zz", "zzsanswered", "zzm00"):
        assert look([room], q=typed) == []


def test_a_member_of_very_many_rooms_finds_the_same(decide: Callable[..., Question], room: Room) -> None:
    decide("Mine?")
    many = [Room(pk=10_000 + number, slug=f"r{number}") for number in range(200)]
    assert look([room, *many]) == look([room, *many], q="mine") == ["Mine?"]


# ---- pages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recent", [1, 25, 2_000])
@pytest.mark.parametrize("word", ["", "deploy"])
def test_pages_follow_each_other_without_gaps(
    room: Room, other_room: Room, monkeypatch: pytest.MonkeyPatch, word: str, recent: int
) -> None:
    # However far PostgreSQL goes back in time by itself.
    monkeypatch.setattr(index_query, "RECENT", recent)
    for number, place in enumerate((room, other_room)):
        for _ in demo.fill(place, 200, 0, days=9, random=Random(number)):
            pass
    writer.catch_up(10)
    newest_first = HistoryEntry.objects.order_by("-settled_at", "-id")
    stored = index_query.indexed(word)
    everything = [entry.question_id for entry in newest_first if f" {stored}" in f" {entry.text}"]
    looked, rooms = Search(q=word), [room, other_room]
    read, before = [], None
    while True:
        found = search.find(looked, rooms, 7, before)
        read += [question.pk for question in found.questions]
        before = found.next_before
        if before is None:
            break
    assert len(everything) > 7
    assert read == everything
    assert search.count(looked, rooms) == len(everything)
    assert search.count(looked, rooms, most=5) == 6


@pytest.mark.parametrize(
    "looked", [Search(), Search(q="the"), Search(q="the", person="ana", state="answered", room="ops")]
)
def test_a_page_takes_two_queries_however_much_there_is(room: Room, looked: Search) -> None:
    def queries() -> int:
        writer.catch_up(20)
        with CaptureQueriesContext(connection) as captured:
            search.find(looked, [room], 20)
        return len(captured)

    for _ in demo.fill(room, 50, 0, days=9, random=Random(1)):
        pass
    assert queries() <= 2
    for _ in demo.fill(room, 1_000, 0, days=9, random=Random(2)):
        pass
    assert queries() <= 2


# ---- marks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "text", "marked"),
    [
        ("data", "The Database, the data", "The <mark>Database</mark>, the <mark>data</mark>"),
        ("uber", "Über <b>", "<mark>Über</mark> &lt;b&gt;"),
        (
            "script",
            "<script>alert(1)</script>",
            "&lt;<mark>script</mark>&gt;alert(1)&lt;/<mark>script</mark>&gt;",
        ),
        ('"a b"', "a b abc", "<mark>a</mark> <mark>b</mark> abc"),
        ("", "a & b", "a &amp; b"),
    ],
)
def test_what_was_looked_for_is_marked_and_escaped(typed: str, text: str, marked: str) -> None:
    assert search.mark(text, Search(q=typed).terms) == marked
