"""Insights figures equal a count by hand, on each database and time zone, for the viewer's rooms only."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from rooms import lifecycle
from rooms.insights.figures import Figures, Insights, insights_of
from rooms.insights.periods import STEPS, Bucket, Period
from rooms.models import HistoryEntry, Room
from rooms.rendering import humanize
from tests.harness.history_entries import entry, random_entries, store

pytestmark = pytest.mark.django_db

# A week after the clocks of Europe went forward; those of America had done so three weeks before.
TODAY = date(2026, 4, 5)
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",  # half hours
    "Asia/Kathmandu",  # three quarters
    "Australia/Lord_Howe",  # moves its clocks by half an hour
    "Africa/Cairo",  # at midnight: a day without its first hour
    "Pacific/Kiritimati",  # far ahead
]


def period(days: int = 30, zone: str = "UTC", today: date = TODAY) -> Period:
    return Period(days, today, ZoneInfo(zone))


def at(day: date, hour: int = 12, minute: int = 0, zone: str = "UTC") -> datetime:
    return datetime.combine(day, time(hour, minute), ZoneInfo(zone))


def by_hand(values: Iterable[float], fraction: float) -> float | None:
    """The percentile, as in a book."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = fraction * (len(ordered) - 1)
    lower = int(place)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] * (1 - (place - lower)) + ordered[upper] * (place - lower)


def is_reply(each: HistoryEntry) -> bool:
    return each.status == "answered" and each.via in ("web", "terminal")


def figures_by_hand(entries: list[HistoryEntry]) -> Figures:
    outcomes = Counter(
        {"answered": "answered", "expired": "expired", "withdrawn": "withdrawn"}.get(
            each.status, "asked_back" if each.asks_back else "skipped"
        )
        for each in entries
    )
    seconds = [each.seconds for each in entries if is_reply(each)]
    return Figures(
        **outcomes,
        blocked_seconds=sum(each.blocked_seconds for each in entries),
        median=by_hand(seconds, 0.5),
        p90=by_hand(seconds, 0.9),
    )


def same(counted: Figures, expected: Figures) -> bool:
    """But for the last digit, which depends on the order in which one adds."""
    return all(getattr(counted, name) == pytest.approx(value) for name, value in vars(expected).items())


@pytest.fixture
def people(ana: Any, ben: Any) -> list[Any]:
    return [ana, ben]


@pytest.fixture
def two_rooms(room: Room) -> list[Room]:
    return [room, lifecycle.create_room("lab", is_open=True)]


# ---- right numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("days", STEPS)
def test_every_number_is_what_one_counts_by_hand(
    days: int, zone: str, two_rooms: list[Room], people: list[Any]
) -> None:
    chosen = period(days, zone)
    local = chosen.zone
    random = Random(f"{days} {zone}")
    since, until = chosen.previous_start - timedelta(days=3), chosen.end + timedelta(days=3)
    entries = store(random_entries(two_rooms, people, 400, since, until, random))
    counted = insights_of(two_rooms, chosen)

    def day_of(each: HistoryEntry) -> date:
        return each.settled_at.astimezone(local).date()

    now = [each for each in entries if chosen.first_day <= day_of(each) <= TODAY]
    first_before = chosen.first_day - timedelta(days=days)
    before = [each for each in entries if first_before <= day_of(each) < chosen.first_day]
    assert now
    assert before
    assert same(counted.now, figures_by_hand(now))
    assert same(counted.before, figures_by_hand(before))

    for part in counted.buckets:
        inside = [each for each in now if part.first_day <= day_of(each) <= part.last_day]
        assert same(part.figures, figures_by_hand(inside)), part
    assert sum(part.figures.questions for part in counted.buckets) == len(now)

    hours = Counter(
        (asked.weekday(), asked.hour) for each in now for asked in [each.asked_at.astimezone(local)]
    )
    assert counted.hours == [[hours[day, hour] for hour in range(24)] for day in range(7)]

    for agent in counted.agents:
        own = [each for each in now if each.agent_name == agent.name]
        expected = figures_by_hand(own)
        assert agent.questions == len(own)
        assert (agent.median, agent.blocked_seconds) == pytest.approx(
            (expected.median, expected.blocked_seconds)
        )
    for person in counted.people:
        seconds = [each.seconds for each in now if is_reply(each) and each.person_name == person.name]
        assert person.answers == len(seconds)
        assert person.median == pytest.approx(by_hand(seconds, 0.5))
    assert sum(person.answers for person in counted.people) == sum(map(is_reply, now))
    for busy in counted.rooms:
        expected = figures_by_hand([each for each in now if each.room == busy.room])
        assert (busy.questions, busy.answered) == (expected.questions, expected.answered)
        assert busy.median == pytest.approx(expected.median)
    assert sum(busy.questions for busy in counted.rooms) == len(now)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 11])
def test_few_answers_have_a_median_too(room: Room, count: int) -> None:
    seconds = [float(number * number) for number in range(count)]
    store(entry(room, at(TODAY), each) for each in seconds)
    counted = insights_of([room], period()).now
    assert counted.questions == count
    assert counted.median == pytest.approx(by_hand(seconds, 0.5))
    assert counted.p90 == pytest.approx(by_hand(seconds, 0.9))


def test_only_what_people_answered_has_a_time(room: Room) -> None:
    store(
        [
            entry(room, at(TODAY), 10),
            entry(room, at(TODAY), 30, via="terminal"),
            entry(room, at(TODAY), 1_000, via="api"),
            entry(room, at(TODAY), 2_000, status="expired", via="default"),
            entry(room, at(TODAY), 3_000, status="declined"),
            entry(room, at(TODAY), 4_000, status="withdrawn", via=""),
        ]
    )
    counted = insights_of([room], period()).now
    assert (counted.median, counted.p90) == (20, pytest.approx(28))
    assert (counted.questions, counted.answered, counted.share_answered) == (6, 3, 0.5)


def test_without_entries_everything_is_empty(room: Room) -> None:
    counted = insights_of([room], period())
    assert counted.now == counted.before == Figures()
    assert counted.now.share_answered is None
    assert len(counted.buckets) == 30
    assert counted.agents == counted.people == counted.rooms == []


# ---- days and clocks -------------------------------------------------------------------------------------


def test_a_day_begins_and_ends_at_the_sites_midnight(room: Room) -> None:
    zone = "Europe/Berlin"
    store(
        [
            # The clocks went forward that night: the day has 23 hours.
            entry(room, at(date(2026, 3, 29), 0, 0, zone), agent_name="first"),
            entry(room, at(date(2026, 3, 29), 23, 59, zone), agent_name="last"),
            entry(room, at(date(2026, 3, 30), 0, 0, zone), agent_name="next day"),
        ]
    )
    counted = insights_of([room], period(30, zone))
    counts = {part.first_day: part.figures.questions for part in counted.buckets}
    assert (counts[date(2026, 3, 28)], counts[date(2026, 3, 29)], counts[date(2026, 3, 30)]) == (0, 2, 1)


def test_an_hour_that_happens_twice_counts_both_times(room: Room) -> None:
    autumn = date(2025, 10, 26)
    for hour in (0, 1):  # in UTC, both are 2 o'clock
        store([entry(room, datetime(2025, 10, 26, hour, 30, tzinfo=UTC), 0)])
    counted = insights_of([room], period(7, "Europe/Berlin", today=autumn))
    assert counted.hours[6][2] == 2
    assert sum(map(sum, counted.hours)) == 2


def test_weeks_are_counted_back_from_today() -> None:
    buckets = period(90).buckets
    assert len(buckets) == 13
    assert buckets[-1] == Bucket(date(2026, 3, 30), TODAY)
    # The first one has six days, and says so.
    assert buckets[0] == Bucket(date(2026, 1, 6), date(2026, 1, 11))
    year = period(364).buckets
    assert {(each.last_day - each.first_day).days for each in year} == {6}
    assert len(year) == 52


def test_today_is_the_day_of_the_reader(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIME_ZONE = "Pacific/Kiritimati"
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 4, 5, 20, tzinfo=UTC))
    assert Period.until_now(7).today == date(2026, 4, 6)
    with timezone.override("America/New_York"):
        assert Period.until_now(7).today == date(2026, 4, 5)


# ---- people ----------------------------------------------------------------------------------------------


def test_people_stay_themselves_when_their_names_change(room: Room, ana: Any, ben: Any) -> None:
    store(
        [
            entry(room, at(TODAY), user=ana, person_name="Ana Costa"),
            entry(room, at(TODAY), user=ana, person_name="Ana Costa-Lind"),
            entry(room, at(TODAY), user=ben, person_name="Ana Costa"),
            # Of who was deleted only the name is left.
            entry(room, at(TODAY), person_name="Ana Costa"),
            entry(room, at(TODAY), person_name="Gone Person"),
            entry(room, at(TODAY), via="terminal"),
        ]
    )
    people = [(person.name, person.answers) for person in insights_of([room], period()).people]
    assert people[0][1] == 2
    assert sorted(people[1:]) == [("", 1), ("Ana Costa", 1), ("Ana Costa", 1), ("Gone Person", 1)]


# ---- cost ------------------------------------------------------------------------------------------------


def test_the_number_of_queries_is_the_same_for_any_number_of_entries_and_rooms(
    room: Room, people: list[Any], browser: Client, django_assert_num_queries: Any
) -> None:
    now = timezone.now()
    # Session, person, memberships, rooms; for the rail roles, what others decide, held decisions, attended
    # questions and preferences; five for the numbers, and one more for the names of people or rooms.
    for count in (0, 3, 200):
        rooms = [lifecycle.create_room(f"room-{number}", is_open=True) for number in range(count // 20)]
        store(random_entries([room, *rooms], people, count, now - timedelta(days=60), now, Random(count)))
        with django_assert_num_queries(14 if count < 20 else 15):
            assert browser.get("/insights").status_code == 200


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL chooses by size")
def test_sqlite_counts_in_the_index_alone(room: Room, django_assert_num_queries: Any) -> None:
    chosen = period()
    with django_assert_num_queries(5) as made:
        insights_of([room], chosen)
    with connection.cursor() as cursor:
        for query in made.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = " ".join(row[3] for row in cursor.fetchall())
            assert "USING COVERING INDEX ask_bridge_h_insights" in plan, plan


# ---- the page --------------------------------------------------------------------------------------------


@pytest.fixture
def lab(ben: Any) -> Room:
    """Ben's, and none of Ana's business."""
    return lifecycle.create_room("laboratory", members=[ben])


@pytest.fixture
def bens_browser(ben: Any) -> Client:
    client = Client()
    client.force_login(ben)
    return client


def test_people_see_their_own_rooms_only(
    room: Room, lab: Room, browser: Client, bens_browser: Client
) -> None:
    now = timezone.now()
    store([entry(room, now, agent_name="ours"), entry(lab, now, agent_name="theirs")])
    pages = {
        path: browser.get(path).content.decode()
        for path in ("/insights", "/insights/export.csv?chart=agents", "/insights/export.json")
    }
    for path, text in pages.items():
        assert "ours" in text, path
        assert "theirs" not in text, path
        assert "laboratory" not in text, path
    both = bens_browser.get("/insights/export.json?chart=rooms").json()
    assert {row["room"] for row in both["charts"]["rooms"]} == {"laboratory", room.slug}


@pytest.mark.parametrize(
    "address",
    [
        "/rooms/{}/insights",
        "/insights?room={}",
        "/insights/export.csv?room={}",
        "/insights/export.json?room={}",
    ],
)
def test_a_foreign_room_looks_like_a_missing_one(
    address: str, lab: Room, browser: Client, bens_browser: Client
) -> None:
    foreign, missing = (browser.get(address.format(slug)) for slug in ("laboratory", "nowhere"))
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert foreign.content == missing.content
    assert bens_browser.get(address.format("laboratory")).status_code in (200, 302)
    lifecycle.archive_room(lab)
    assert bens_browser.get(address.format("laboratory")).status_code == 404


def test_the_form_leads_to_the_address_of_the_room(room: Room, browser: Client) -> None:
    response = browser.get(f"/insights?days=30&room={room.slug}&days=90")
    assert response["Location"] == f"/rooms/{room.slug}/insights?days=90"
    assert 'value="90" aria-current="true"' in browser.get(response["Location"]).content.decode()


@pytest.mark.parametrize("days", ["", "0", "31", "-7", "7.0", "nonsense", "٧"])
def test_a_period_that_is_not_on_offer_is_the_usual_one(days: str, browser: Client) -> None:
    page = browser.get("/insights", {"days": days}).content.decode()
    assert 'value="30" aria-current="true"' in page


@pytest.mark.parametrize(
    ("days", "sentence"),
    [(7, "in the last 7 days"), (90, "in the last 90 days"), (364, "in the last year")],
)
def test_an_empty_time_says_so(days: int, sentence: str, room: Room, browser: Client) -> None:
    page = browser.get(f"/rooms/{room.slug}/insights?days={days}").content.decode()
    assert sentence in page
    assert "<table" not in page


def test_a_time_without_answers_says_so(room: Room, browser: Client) -> None:
    store([entry(room, timezone.now(), status="expired", via="")])
    page = browser.get("/insights").content.decode()
    assert "No answers in this period" in page


def test_the_headline_says_what_was_before(room: Room, browser: Client) -> None:
    now = timezone.now()
    store([entry(room, now, 200), *(entry(room, now - timedelta(days=40), 266) for _ in range(2))])
    page = browser.get("/insights").content.decode()
    for words in ("3 min 20 s", "Down from 4 min 26 s", "Down from 2", "No change"):
        assert words in page, words


def test_positions_in_a_drawing_have_no_comma_in_any_language(
    room: Room, people: list[Any], browser: Client
) -> None:
    now = timezone.now()
    store(random_entries([room], people, 100, now - timedelta(days=20), now, Random(1)))
    page = browser.get("/insights", headers={"Accept-Language": "de"}).content.decode()
    numbers = re.findall(r'\b(?:x|y|x1|x2|y1|y2|cx|cy|r|width|height)="([^"]*)"', page)
    assert len(numbers) > 100
    assert [number for number in numbers if not re.fullmatch(r"-?\d+(\.\d+)?%?", number)] == []


def test_what_agents_call_themselves_is_text(room: Room, browser: Client) -> None:
    store([entry(room, timezone.now(), agent_name="<script>alert(1)</script>")])
    assert "<script>alert" not in browser.get("/insights").content.decode()


# ---- to take away ----------------------------------------------------------------------------------------


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_chart_can_be_taken_away_in_both_forms(
    two_rooms: list[Room], people: list[Any], browser: Client
) -> None:
    now = timezone.now()
    store(random_entries(two_rooms, people, 50, now - timedelta(days=20), now, Random(1)))
    page = browser.get("/insights").content.decode()
    links = re.findall(r'href="(/insights/export\.[^"]+)"', page)
    assert len(links) == 16
    everything = browser.get("/insights/export.json").json()["charts"]
    for link in links:
        address = link.replace("&amp;", "&")
        response = browser.get(address)
        chart = address.rpartition("=")[2]
        assert response.status_code == 200
        assert f"insights-{chart}-" in response["Content-Disposition"]
        if ".csv" in address:
            rows = rows_of(response.content.decode())
            assert [list(row) for row in rows] == [list(row) for row in everything[chart]]
        else:
            assert response.json()["charts"] == {chart: everything[chart]}


def test_numbers_to_take_away_are_plain(room: Room, browser: Client) -> None:
    store([entry(room, timezone.now(), 1234.5, blocked_seconds=10.25)])
    response = browser.get("/insights/export.csv", headers={"Accept-Language": "de"})
    now, before = rows_of(response.content.decode())
    assert now == {
        "period": "now",
        "questions": "1",
        "median_seconds": "1234.5",
        "p90_seconds": "1234.5",
        "share_answered": "1.0",
        "blocked_seconds": "10.25",
    }
    assert before["median_seconds"] == ""


@pytest.mark.parametrize("name", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_runs_nothing_that_an_agent_wrote(name: str, room: Room, browser: Client) -> None:
    store([entry(room, timezone.now(), agent_name=name)])
    text = browser.get("/insights/export.csv?chart=agents").content.decode()
    assert next(csv.reader(io.StringIO(text.split("\r\n", 1)[1], newline="")))[0] == f"'{name}"


def test_a_chart_that_does_not_exist_is_not_found(browser: Client) -> None:
    for kind in ("csv", "json"):
        assert browser.get(f"/insights/export.{kind}?chart=secrets").status_code == 404


# ---- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.04, "0 s"),
        (4.24, "4.2 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.7, "1 min"),
        (200, "3 min 20 s"),
        (3599.7, "1 h"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (86_399, "1 d"),
        (97_200, "1 d 3 h"),
        (86_400 * 1_234, "1,234 d"),
    ],
)
def test_durations_are_said_in_words(seconds: float, words: str) -> None:
    with override("en"):
        assert humanize.duration(seconds) == words


@pytest.mark.parametrize(
    ("part", "words"), [(0, "0%"), (0.001, "1%"), (0.5, "50%"), (0.999, "99%"), (1, "100%")]
)
def test_only_all_is_a_hundred_percent(part: float, words: str) -> None:
    assert humanize.share(part) == words


def test_insights_are_plain_data(room: Room) -> None:
    """What a page or a program needs of them is there, and no query waits in them."""
    store([entry(room, at(TODAY))])
    counted = insights_of([room], period())
    assert isinstance(counted, Insights)
    with connection.execute_wrapper(lambda *_: pytest.fail("a query")):
        repr(counted)
