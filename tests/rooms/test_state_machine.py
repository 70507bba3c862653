"""Everything that can happen, in every order: what is final stays, and replay equals a fresh page."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.live import events
from rooms.models import Answer, Message, Question, Room
from rooms.rendering import cards

ASK = {
    "agent": {"name": "bot"},
    "questions": [{"question": "Which?", "options": ["This", "That"]}],
}
# The logic is the same on both; PostgreSQL takes longer for each step.
EXAMPLES = {"sqlite": 500, "postgresql": 150, "mysql": 50}
# Each kind of care by itself and with every other; Ben has no role.
CARE = st.fixed_dictionaries(
    {},
    optional={
        "first": st.just({"people": ["ana"], "role": "manager"}),
        "votes": st.sampled_from([2, {"needed": 2, "of": ["ana", "ben"]}]),
        "undo_seconds": st.just(10),
        "escalate_seconds": st.just(60),
    },
)
FINAL = {"answered", "declined", "expired", "withdrawn"}


class Page:
    """The cards, marks and messages of an open page, changed only by events, as live.js does."""

    def __init__(self, room: Room) -> None:
        self.revision = Room.objects.get(pk=room.pk).revision
        questions = Question.objects.with_answer().filter(room=room)
        self.shown = {question.pk: self._read(cards.render_card(question)) for question in questions}
        self.messages = set(Message.objects.filter(room=room).values_list("pk", flat=True))

    @staticmethod
    def _read(html: str) -> dict[str, str]:
        status = re.search(r'data-status="(\w+)"', html)
        return ({"status": status.group(1)} if status else {}) | Page._marks(html)

    @staticmethod
    def _marks(html: str) -> dict[str, str]:
        found = re.search(
            r'<(span|div) class="ab-(?:marks|status)".*?data-revision="(\d+)".*?(?:</div>|</span>\n)',
            html,
            re.DOTALL,
        )
        assert found, html
        return {"marks": re.sub(r"\s+", " ", found.group(0)), "revision": found.group(2)}

    def replay(self, room: Room) -> "Page":
        self.revision, changes = events.frames_after(room.pk, self.revision)
        for frame in changes:
            html = frame.encode(None, "en", many_rooms=False).decode()
            body = "\n".join(re.findall(r"^data: (.*)$", html, re.MULTILINE))
            kind, _, name = frame.event.partition("-")
            if kind in ("card", "marks") and name in self.shown:
                if int(self._marks(body)["revision"]) > int(self.shown[name]["revision"]):
                    self.shown[name] |= self._read(body)
            elif kind in ("question", "entry"):
                message = re.search(r'id="message-(\w+)"', body)
                card = re.search(r'id="card-(\w+)"', body)
                if message:
                    self.messages.add(message.group(1))
                elif card:
                    self.shown.setdefault(card.group(1), self._read(body))
        return self


def attempt(verb: Callable[[], Question]) -> Question | Exception:
    """What the verb leaves, or why it refuses."""
    try:
        return verb()
    except (lifecycle.AlreadySettled, lifecycle.NotTheirTurn, lifecycle.NeedsPeople) as refusal:
        return refusal


class Life(RuleBasedStateMachine):
    """Agents and people do what they can; the machine holds only what the promises say."""

    questions = Bundle("questions")
    people: list[Any] = []
    runs = 0

    @initialize(target=questions, care=st.one_of(st.just({"undo_seconds": 10}), CARE))
    def a_room_with_a_question(self, care: dict[str, Any]) -> str:
        Life.runs += 1
        self.room = lifecycle.create_room(f"life-{Life.runs}", is_open=True)
        self.key, self.key_text = access.create_key(self.room, label="bot")
        self.final: dict[str, tuple[Any, ...]] = {}
        self.revision = 0
        self.pages = [Page(self.room)]
        # Most of what can happen happens to a question, so that there is one from the beginning.
        return self.ask(timeout=True, default=False, care=care)

    def read(self, question_id: str) -> Question:
        return Question.objects.with_answer().get(pk=question_id)

    # ---- what agents do

    @rule(
        target=questions,
        timeout=st.booleans(),
        default=st.booleans(),
        care=CARE,
    )
    def ask_one(self, timeout: bool, default: bool, care: dict[str, Any]) -> str:
        return self.ask(timeout, default, care)

    def ask(self, timeout: bool, default: bool, care: dict[str, Any]) -> str:
        # A default is refused where votes, named people or managers come first.
        default = default and not care.keys() & {"first", "votes", "escalate_seconds"}
        body = (
            ASK
            | ({"timeout_seconds": 60} if timeout else {})
            | ({"default": {"Which?": "This"}} if default else {})
            | ({"care": care} if care else {})
        )
        question, is_new = lifecycle.ask(self.room, self.key, parse_ask(body))
        assert is_new
        return question.pk

    @rule(question=questions, number=st.integers(0, 2))
    def ask_again(self, question: str, number: int) -> None:
        first, _ = lifecycle.ask(self.room, self.key, parse_ask(ASK), f"key-{number}")
        again, is_new = lifecycle.ask(self.room, self.key, parse_ask(ASK), f"key-{number}")
        assert (again.pk, is_new) == (first.pk, False)

    @rule(question=questions)
    def withdraw(self, question: str) -> None:
        self.settle(lambda: lifecycle.withdraw(self.read(question)), question, "withdrawn")

    @rule(
        question=questions,
        how=st.sampled_from([lifecycle.wait_started, lifecycle.wait_ended, lifecycle.wait_paused]),
    )
    def wait_or_stop(self, question: str, how: Any) -> None:
        how(question)

    @rule(question=questions)
    def vanish(self, question: str) -> None:
        """Its lease runs out, and a sweep notices."""
        past = timezone.now() - timedelta(seconds=1)
        Question.objects.filter(pk=question, waiting_until__isnull=False).update(waiting_until=past)
        lifecycle.sweep()
        assert not (self.read(question).is_open and self.read(question).agent_active)

    @rule(question=questions)
    def come_back(self, question: str) -> None:
        lifecycle.renew_leases([question])
        found = self.read(question)
        assert found.agent_active or not found.is_open

    @rule(question=questions)
    def deliver(self, question: str) -> None:
        before = self.read(question)
        lifecycle.deliver(question)
        after = self.read(question)
        assert (after.delivered_at is not None) == (not before.is_open)

    @rule()
    def revoke(self) -> None:
        access.revoke_keys(self.room.keys.all())
        with pytest.raises(access.BadKey):
            access.key_from_header(f"Bearer {self.key_text}")
        self.key, self.key_text = access.create_key(self.room, label="next")

    # ---- what people do, and time

    @rule(question=questions, person=st.integers(0, 1), label=st.sampled_from(["This", "That"]))
    def answer(self, question: str, person: int, label: str) -> None:
        chosen = [{"question": "Which?", "selectedOptions": [label]}]
        before = self.read(question)
        self.settle(
            lambda: lifecycle.answer(
                self.read(question), chosen, via=Answer.Via.WEB, user=self.people[person]
            ),
            question,
            "answered",
            # What a careful question comes to, by the promises alone.
            otherwise=self.vote(before, self.people[person].username, label),
        )

    @rule(question=questions, label=st.sampled_from(["This", "That"]))
    def all_people_answer(self, question: str, label: str) -> None:
        for person in (0, 1):
            self.answer(question, person, label)

    @staticmethod
    def vote(before: Question, name: str, label: str) -> str | None:
        """Where this vote leads: "refused", "open", "held", or None for settled."""
        care = before.care or {}
        if care.get("first") and before.escalates_at and name != "ana":
            return "refused"
        votes = {vote["username"]: vote["choices"][0]["selectedOptions"] for vote in before.votes or ()}
        votes[name] = [label]
        needed = care["votes"]["needed"] if care.get("votes") else 1
        if list(votes.values()).count([label]) < needed:
            return "open"
        return "held" if care.get("undo_seconds") else None

    @rule(question=questions, person=st.integers(0, 1))
    def undo(self, question: str, person: int) -> None:
        before, user = self.read(question), self.people[person]
        match attempt(lambda: lifecycle.undo(before, user)):
            case lifecycle.AlreadySettled(question=late):
                assert not before.is_held
                assert late.status == before.status
            case lifecycle.NotTheirTurn():
                assert before.care["first"]
                assert user.username != "ana"
            case opened:
                assert before.is_held
                assert (opened.status, opened.held_until) == ("open", None)
                assert not [vote for vote in opened.votes if vote in before.decided_by]

    @rule(question=questions)
    def let_the_window_close(self, question: str) -> None:
        past = timezone.now() - timedelta(seconds=1)
        held = Question.objects.open().filter(pk=question, held_until__isnull=False)
        was_held = held.update(held_until=past)
        lifecycle.sweep()
        if was_held:
            settled = self.read(question)
            assert settled.status == "answered"
            assert settled.answer.username == settled.decided_by[-1]["username"]

    @rule(question=questions)
    def escalate(self, question: str) -> None:
        past = timezone.now() - timedelta(seconds=1)
        Question.objects.open().filter(pk=question, escalates_at__isnull=False).update(escalates_at=past)
        lifecycle.sweep()
        found = self.read(question)
        assert not (found.is_open and found.escalates_at)

    @rule(question=questions)
    def report_from_the_terminal(self, question: str) -> None:
        before = self.read(question)
        chosen = [{"question": "Which?", "selectedOptions": ["This"]}]
        care = before.care or {}
        match attempt(lambda: lifecycle.answer(before, chosen, via=Answer.Via.TERMINAL, key=self.key)):
            case lifecycle.AlreadySettled(question=late):
                assert not before.is_open or late.status == "expired"
            case lifecycle.NeedsPeople():
                assert care["first"] or care["votes"]
            case _:
                assert before.is_open
                assert not care.get("first")
                assert not care.get("votes")

    @rule(question=questions, person=st.integers(0, 1), asks_back=st.booleans())
    def decline(self, question: str, person: int, asks_back: bool) -> None:
        verb = lifecycle.ask_back if asks_back else lifecycle.decline
        before = self.read(question)
        is_first = (before.care or {}).get("first") and before.escalates_at and person
        self.settle(
            lambda: verb(self.read(question), self.people[person], "Why?"),
            question,
            "declined",
            otherwise="refused" if is_first else None,
        )

    @rule(question=questions)
    def let_it_expire(self, question: str) -> None:
        past = timezone.now() - timedelta(seconds=1)
        timed = Question.objects.open().filter(pk=question, expires_at__isnull=False, held_until=None)
        due = timed.update(expires_at=past)
        lifecycle.sweep()
        if due:
            assert self.read(question).status == "expired"

    @rule(content=st.sampled_from(["hello", "a\r\nb"]))
    def say(self, content: str) -> None:
        lifecycle.say(self.room, self.people[0], content)

    @rule()
    def open_a_page(self) -> None:
        self.pages.append(Page(self.room))

    @rule()
    def restart(self) -> None:
        """A new process knows only the database."""
        cards.rendered_cards.clear()
        cards.rendered_marks.clear()

    # ---- what always holds

    def settle(self, verb: Any, question: str, status: str, otherwise: str | None = None) -> None:
        """`otherwise`: where an undecided question goes instead of being settled."""
        before = self.read(question)
        match attempt(verb):
            case lifecycle.AlreadySettled(question=late) if before.is_held:
                assert late.is_held
            case lifecycle.AlreadySettled(question=late):
                assert late.status == "expired" if before.is_open else late.status in FINAL
            case lifecycle.NotTheirTurn():
                assert (before.is_open, otherwise) == (True, "refused")
            case found:
                assert before.is_open
                # Over what people have decided only the agent goes: it takes its question back.
                assert not before.is_held or status == "withdrawn"
                assert ("held" if found.is_held else found.status) == (otherwise or status)
                assert self.read(question).revision == found.revision

    @invariant()
    def what_is_final_never_changes(self) -> None:
        for question in Question.objects.with_answer().filter(room=self.room):
            answer = question.answer_or_none
            state = (
                question.status,
                question.settled_at,
                answer and (answer.pk, answer.choices, answer.user_id),
            )
            if question.is_open:
                assert question.pk not in self.final
                assert answer is None
            else:
                assert self.final.setdefault(question.pk, state) == state

    @invariant()
    def revisions_only_grow(self) -> None:
        revision = Room.objects.get(pk=self.room.pk).revision
        assert revision >= self.revision
        self.revision = revision
        positions = [
            *Question.objects.filter(room=self.room).values_list("position", flat=True),
            *Message.objects.filter(room=self.room).values_list("position", flat=True),
        ]
        assert len(positions) == len(set(positions))
        newest = Question.objects.filter(room=self.room).order_by("-revision").first()
        assert newest is None or newest.revision <= revision

    def teardown(self) -> None:
        """Every page that was opened on the way gets there by replay."""
        if not hasattr(self, "pages"):
            return
        fresh = Page(self.room)
        for page in self.pages:
            page.replay(self.room)
            assert (page.revision, page.shown, page.messages) == (fresh.revision, fresh.shown, fresh.messages)


@pytest.mark.slow
@pytest.mark.django_db
def test_no_order_of_events_breaks_a_promise() -> None:
    users = get_user_model()
    Life.people = [users.objects.create_user(name) for name in ("ana", "ben")]
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=EXAMPLES[connection.vendor],
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
