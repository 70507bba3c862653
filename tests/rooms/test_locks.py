"""Locks: who may not decide an open question sees so before a click, and it does not count for them."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.access import locks
from rooms.access.locks import standing_of
from rooms.contract.restrictions import Lock
from rooms.live import frames
from rooms.live.events import frames_after, open_frames
from rooms.models import Membership, Question, Room
from rooms.permissions import Permissions
from tests.harness.timing import CLOCK_TIME

Ask = Callable[..., Question]

FIRST_ANA = {"first": "ana", "escalate_seconds": 600}


@pytest.fixture
def cy(room: Room) -> Any:
    """The room's manager."""
    user = get_user_model().objects.create_user("cy", first_name="Cy", last_name="Park")
    Membership.objects.create(room=room, user=user, role=Membership.Role.MANAGER)
    return user


@pytest.fixture
def dee(room: Room) -> Any:
    """Sees the room because it is open, and is no member of it."""
    Room.objects.filter(pk=room.pk).update(is_open=True)
    return get_user_model().objects.create_user("dee")


@pytest.fixture
def root(db: None) -> Any:
    return get_user_model().objects.create_superuser("root")


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text_of(page: Any) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.content.decode()).split())


def escalated(question: Question) -> Question:
    past = timezone.now() - timedelta(seconds=1)
    Question.objects.filter(pk=question.pk).update(escalates_at=past)
    lifecycle.sweep()
    return Question.objects.with_answer().get(pk=question.pk)


# ---- who is locked out -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("care", "locked"),
    [
        (None, {}),
        ({"undo_seconds": 5}, {}),
        ({"votes": 2}, {}),
        ({"escalate_seconds": 60}, {}),
        (FIRST_ANA, dict.fromkeys(("ben", "cy", "dee", "root"), Lock.FIRST)),
        ({"first": {"role": "manager"}}, dict.fromkeys(("ana", "ben", "dee"), Lock.FIRST)),
        ({"first": {"role": "member"}}, dict.fromkeys(("dee", "root"), Lock.FIRST)),
        (
            {"first": {"people": ["ben"], "role": "manager"}},
            dict.fromkeys(("ana", "dee"), Lock.FIRST),
        ),
        (
            {"votes": {"needed": 2, "of": ["ana", "ben"]}},
            dict.fromkeys(("cy", "dee", "root"), Lock.VOTES),
        ),
        (
            {"votes": {"needed": 2, "of": ["ana", "ben", "cy"]}, "first": ["ana", "ben"]},
            {"cy": Lock.FIRST, "dee": Lock.VOTES, "root": Lock.VOTES},
        ),
    ],
)
def test_a_lock_says_what_the_lifecycle_would(
    ask: Ask, ana: Any, ben: Any, cy: Any, dee: Any, root: Any, care: Any, locked: dict[str, Lock]
) -> None:
    question = ask(care=care)
    people = [ana, ben, cy, dee, root]
    found = {
        user.get_username(): locks.lock_on(question, standing_of(user, [question.room])) for user in people
    }
    assert {name: lock for name, lock in found.items() if lock} == locked
    assert [lifecycle.may_decide(question, user) for user in people] == [
        lock is None for lock in found.values()
    ]


def test_escalation_opens_the_lock_of_those_who_may_vote(ask: Ask, ben: Any, cy: Any) -> None:
    votes = {"needed": 2, "of": ["ana", "ben"]}
    question = escalated(ask(care={"votes": votes, "first": ["ana", "ben"], "escalate_seconds": 60}))
    assert locks.lock_on(question, standing_of(ben, [question.room])) is None
    assert locks.lock_on(question, standing_of(cy, [question.room])) == Lock.VOTES


# ---- pages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["room", "question", "inbox"])
@pytest.mark.parametrize(
    ("care", "sentence"),
    [
        (FIRST_ANA, rf"Only Ana Costa can answer this until {CLOCK_TIME}"),
        (
            {"first": {"people": ["ana"], "role": "manager"}},
            rf"Only Ana Costa and managers can answer this until {CLOCK_TIME}",
        ),
        (
            {"votes": {"needed": 2, "of": ["ana", "cy", "dee"]}},
            "Only Ana Costa, Cy Park and dee can vote on this",
        ),
    ],
)
def test_who_may_not_decide_yet_sees_why_before_a_click(
    ask: Ask, ana: Any, ben: Any, cy: Any, dee: Any, place: str, care: Any, sentence: str
) -> None:
    question = ask(care=care)
    address = {
        "room": f"/rooms/{question.room.slug}",
        "question": f"/rooms/{question.room.slug}/questions/{question.pk}",
        "inbox": f"/?question={question.pk}",
    }[place]
    page = signed_in(ben).get(address)
    assert re.search(sentence, text_of(page))
    html = page.content.decode()
    assert f'aria-describedby="lock-{question.pk}"' in html
    options = re.findall(r'<input [^>]*name="choice-0"[^>]*>', html)
    assert [option.endswith("disabled>") for option in options] == [True, True]
    assert f"questions/{question.pk}/answer" not in html
    assert "Skip this question" not in html
    # Who decides has the form.
    theirs = signed_in(ana).get(address).content.decode()
    assert f"questions/{question.pk}/answer" in theirs
    assert "is-locked" not in theirs


def test_the_refusal_stays(ask: Ask, ben: Any) -> None:
    question = ask(care=FIRST_ANA)
    address = f"/rooms/{question.room.slug}/questions/{question.pk}/answer"
    assert signed_in(ben).post(address, {"choice-0": "0"}).status_code == 403


def test_who_may_not_undo_has_no_button_for_it(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care={**FIRST_ANA, "undo_seconds": 60})
    signed_in(ana).post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    assert "undo-form" in signed_in(ana).get("/rooms/ops").content.decode()
    assert "undo-form" not in signed_in(ben).get("/rooms/ops").content.decode()


def test_what_others_decide_does_not_count_in_the_inbox(ask: Ask, ana: Any, ben: Any) -> None:
    mine, theirs = ask(), ask(care=FIRST_ANA)
    page = signed_in(ben).get("/")
    context = page.context
    assert (context["calling_total"], context["needed_total"], context["others_total"]) == (1, 1, 1)
    assert context["attended_counts"][mine.room_id] == 1
    assert "<title>(1) Inbox" in page.content.decode()
    shown, others = page.content.decode().split('id="ab-group-others"')
    assert f'id="row-{mine.pk}"' in shown
    assert f'id="row-{theirs.pk}"' not in shown
    assert f'id="row-{theirs.pk}"' in others
    assert f'id="card-{mine.pk}"' in others  # the card of the first row that needs them
    assert signed_in(ana).get("/").context["calling_total"] == 2
    escalated(theirs)
    assert signed_in(ben).get("/").context["calling_total"] == 2


class OnlyAnaAnswers(Permissions):
    """All see what they see by default; only Ana answers."""

    def may_answer(self, user: Any, room: Room) -> bool:
        return bool(user.get_username() == "ana")


@pytest.fixture
def own_rules(settings: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": "tests.rooms.test_locks.OnlyAnaAnswers"}


def test_who_may_only_watch_sees_so_before_a_click(ask: Ask, own_rules: None, ana: Any, ben: Any) -> None:
    question = ask()
    page = signed_in(ben).get("/rooms/ops")
    assert "You can read this room, but not answer in it" in text_of(page)
    assert f"questions/{question.pk}/answer" not in page.content.decode()
    inbox = signed_in(ben).get("/")
    assert inbox.context["calling_total"] == 0
    assert f'id="row-{question.pk}"' in inbox.content.decode().split('id="ab-group-others"')[1]
    assert signed_in(ana).get("/").context["calling_total"] == 1


# ---- streams ---------------------------------------------------------------------------------------------


def sent_to(changes: list[frames.AnyFrame], user: Any, room: Room) -> str:
    standing = standing_of(user, [room])
    return frames.encode_frames(changes, user.pk, "en", False, standing).decode()


def events(sent: str) -> list[str]:
    return re.findall(r"^event: (.*)$", sent, re.MULTILINE)


def count_in(sent: str) -> str:
    (count,) = re.findall(r"event: count-ops\n(?:id: .*\n)?data: (\d+)", sent)
    return count


def test_a_new_question_comes_locked_to_those_who_may_not_decide_it(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care=FIRST_ANA)
    _, changes = frames_after(question.room_id, question.revision - 1, ["en"])
    to_ana, to_ben = sent_to(changes, ana, question.room), sent_to(changes, ben, question.room)
    assert "question" in events(to_ana)
    assert "is-locked" not in to_ana
    assert "others" in events(to_ben)
    assert "question" not in events(to_ben)
    assert "Only Ana Costa can answer this until" in to_ben
    assert (count_in(to_ana), count_in(to_ben)) == ("1", "0")


def test_a_room_that_is_new_to_a_page_comes_with_its_locks(ask: Ask, ben: Any) -> None:
    locked, free = ask(care=FIRST_ANA), ask()
    _, changes = open_frames(locked.room_id)
    assert events(sent_to(changes, ben, locked.room)) == ["others", "question", "count-ops"]
    assert count_in(sent_to(changes, ben, free.room)) == "1"


def test_escalation_unlocks_the_card_of_an_open_page(ask: Ask, ana: Any, ben: Any) -> None:
    question = ask(care=FIRST_ANA)
    room = question.room
    before = question.revision
    question = escalated(question)
    _, changes = frames_after(question.room_id, before, ["en"])
    to_ben = sent_to(changes, ben, room)
    # The card first: it is as new as its marks, which would make it look old.
    assert events(to_ben) == [f"unlock-{question.pk}", f"marks-{question.pk}", "count-ops"]
    assert f"questions/{question.pk}/answer" in to_ben
    assert "is-locked" not in to_ben
    assert count_in(to_ben) == "1"
    html = signed_in(ana).get("/rooms/ops").content.decode()
    assert f'sse-swap="card-{question.pk}"' in html
    assert "unlock-" not in html


def test_a_locked_card_listens_for_its_unlocking(ask: Ask, ben: Any) -> None:
    question = ask(care=FIRST_ANA)
    html = signed_in(ben).get("/rooms/ops").content.decode()
    assert f'sse-swap="card-{question.pk},unlock-{question.pk}"' in html


def test_who_does_not_vote_stays_locked_out_after_escalation(ask: Ask, cy: Any) -> None:
    votes = {"needed": 2, "of": ["ana", "ben"]}
    question = ask(care={"votes": votes, "first": ["ana", "ben"], "escalate_seconds": 60})
    before = question.revision
    question = escalated(question)
    _, changes = frames_after(question.room_id, before, ["en"])
    sent = sent_to(changes, cy, question.room)
    assert events(sent) == [f"marks-{question.pk}", "count-ops"]
    assert count_in(sent) == "0"


def test_a_card_is_rendered_once_for_all_who_see_it_alike(ask: Ask, ana: Any, room: Room) -> None:
    users = [get_user_model().objects.create_user(f"person-{number}") for number in range(5)]
    question = ask(care=FIRST_ANA)
    _, changes = frames_after(room.pk, question.revision - 1)
    sent = {sent_to(changes, user, room) for user in users}
    assert len(sent) == 1
    (card,) = [frame for frame in changes if frame.event == "question"]
    assert isinstance(card, frames.FrameByStanding)
    # One for people who may decide, one for people who are locked out.
    assert len(card._made) == 2


def test_a_watchers_count_is_nothing(ask: Ask, own_rules: None, ana: Any, ben: Any) -> None:
    question = ask()
    _, changes = frames_after(question.room_id, question.revision - 1)
    assert count_in(sent_to(changes, ana, question.room)) == "1"
    assert count_in(sent_to(changes, ben, question.room)) == "0"
    assert "others" in events(sent_to(changes, ben, question.room))
