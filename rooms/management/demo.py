"""Sample history of a room: sessions of agents with questions, answers and messages.

The one exception to "only `lifecycle` writes": each of its functions is a transaction of some milliseconds
at the current time, so a million entries would take hours and all be of today. Here the rows are created as
`lifecycle` would have left them, audit entries included, and stored in batches. A commit holds whole sessions
of agents, so that the room is consistent after each commit and concurrent readers miss nothing.
"""

import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import connections

from rooms import audit, lifecycle
from rooms.audit import Action, actor_of
from rooms.contract import ids
from rooms.contract.colors import color_of
from rooms.db import timezone
from rooms.db.transactions import alias, writing
from rooms.management import demo_texts as texts
from rooms.management.demo_cast import Person, about, agents_of, asked, people_of
from rooms.models import AgentKey, Answer, AuditEntry, Ending, Message, Question, Room

# Entries per commit: few enough that other writers do not wait long, many enough that commits cost little.
ENTRIES_PER_COMMIT = 2_000
# Messages and questions of one session of an agent, at least and at most.
ENTRIES_PER_SESSION = (8, 30)
# Time between two events of a session; less if the session has to be shorter.
PACE_SECONDS = 30.0
# The most revisions of the room for one entry: a question that is asked, waited for, left, settled and
# delivered.
EVENTS_PER_ENTRY = 5
# Questions among all entries; the rest are messages and log lines.
QUESTIONS_SHARE = 0.4
# Answers that come after the agent stopped waiting.
LEFT_SHARE = 0.1
# How questions end, in percent.
ENDINGS = {
    "answered": 76,
    "answered in the terminal": 6,
    "skipped": 5,
    "asked back": 3,
    "expired": 5,
    "withdrawn": 5,
}
STATUSES = {
    Action.ANSWERED: Question.Status.ANSWERED,
    Action.EXPIRED: Question.Status.EXPIRED,
    Action.WITHDRAWN: Question.Status.WITHDRAWN,
}


def fill(room: Room, entries: int, open_count: int, days: int, random: Random) -> Iterator[int]:
    """Add questions and messages to the room; yields the number stored after each commit."""
    agents, people = agents_of(room), people_of(room)
    now = timezone.now()
    # New entries have to be later than the existing ones.
    begin = now - timedelta(days=days)
    if room.revision:
        begin = max(begin, min(room.changed_at, now))
    stored = 0
    while stored < entries:
        with writing():
            # The lock on the room's row keeps other writers from taking a revision in between.
            revision = Room.objects.select_for_update().values_list("revision", flat=True).get(pk=room.pk)
            past = Past(room, revision, agents, people, random)
            goal = min(stored + ENTRIES_PER_COMMIT, entries)
            while stored < goal:
                # Open questions come last; a session has either settled or open questions.
                settled_left = max(0, entries - open_count - stored)
                length = min(random.randint(*ENTRIES_PER_SESSION), settled_left or goal - stored)
                start = begin + (now - begin) * (stored / entries)
                past.add_session(length, start, (now - begin) * (length / entries), is_over=settled_left > 0)
                stored += length
            past.store()
        yield stored


def refresh_statistics() -> None:
    """Update the statistics of PostgreSQL's planner for the new rows, as autovacuum would a minute later."""
    connection = connections[alias()]
    if connection.vendor == "postgresql":
        tables = [model._meta.db_table for model in (Question, Answer, Ending, Message, AuditEntry)]
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(tables)}")


class Past:
    """Sample events of a room after a revision: first created in memory, then stored."""

    def __init__(
        self,
        room: Room,
        revision: int,
        agents: Sequence[AgentKey],
        people: Sequence[Person],
        random: Random,
    ) -> None:
        self.room, self.revision = room, revision
        self._agents, self._people, self._random = agents, people, random
        self._at = self._start = timezone.now()
        self._pace = timedelta()
        self._events = 0
        self._questions: list[Question] = []
        self._answers: list[Answer] = []
        self._endings: list[Ending] = []
        self._messages: list[Message] = []
        self._entries: list[AuditEntry] = []

    def store(self) -> None:
        Question.objects.bulk_create(self._questions)
        Answer.objects.bulk_create(self._answers)
        Ending.objects.bulk_create(self._endings)
        Message.objects.bulk_create(self._messages)
        audit.record_all(self._entries)
        Room.objects.filter(pk=self.room.pk).update(revision=self.revision, changed_at=self._at)
        AgentKey.objects.filter(pk__in=[key.pk for key in self._agents]).update(last_used_at=self._at)

    # ---- events

    def add_session(self, length: int, start: datetime, time: timedelta, *, is_over: bool) -> None:
        """One session of an agent within this time; one that is not over has only open questions."""
        self._start, self._events = start, 0
        self._pace = min(timedelta(seconds=PACE_SECONDS), time / (length * EVENTS_PER_ENTRY + 1))
        agent = self._random.choice(self._agents)
        service = self._random.choice(texts.SERVICES)
        session_id = secrets.token_hex(8)
        if not is_over:
            for _ in range(length):
                self._leave(self._ask(agent, service, session_id))
            return
        pending: list[Question] = []
        for _ in range(length):
            # People answer with a delay, and not always in the order of the questions.
            while pending and self._random.random() < 0.6:
                self._settle(pending.pop(self._random.randrange(len(pending))), agent, service)
            if self._random.random() < QUESTIONS_SHARE:
                pending.append(self._ask(agent, service, session_id))
            else:
                self._say(agent, service)
        for question in pending:
            self._settle(question, agent, service)

    def _next(self) -> int:
        """The room's next revision, a little later."""
        self.revision += 1
        self._at = self._start + self._pace * (self._events + self._random.random())
        self._events += 1
        return self.revision

    def _record(
        self, action: Action, actor: audit.Actor, question: Question, content: str, **details: str
    ) -> None:
        entry = AuditEntry(
            id=ids.id_at("e", self._at),
            at=self._at,
            room=self.room.slug,
            chain=self.room.pk,
            content=audit.content_digest(content),
            action=action,
            actor_type=actor.type,
            actor=actor.name,
            subject=question.pk,
            details=details,
        )
        self._entries.append(audit.with_digest(entry))

    def _ask(self, agent: AgentKey, service: str, session_id: str) -> Question:
        number = self._random.randrange(len(texts.ASKS))
        template = asked(number, service)
        tool_use_id = f"toolu_{secrets.token_hex(12)}"
        named = template.ask.model_copy(update={"session_id": session_id, "tool_use_id": tool_use_id})
        context = {
            "text": about(service, self._random.choice(texts.CONTEXTS)),
            "branch": self._random.choice(texts.BRANCHES),
        }
        position = self._next()
        question = Question(
            id=ids.id_at("q", self._at),
            room_id=self.room.pk,
            key_id=agent.pk,
            agent_name=agent.label,
            agent_color=color_of(agent.label),
            session_id=session_id,
            tool_use_id=tool_use_id,
            idempotency_hash=lifecycle.idempotency_hash_of(agent, named, ""),
            body_hash=template.body_hash,
            prompts=template.prompts,
            context={name: text for name, text in context.items() if text},
            default_choices=template.default_choices,
            asked_at=self._at,
            position=position,
        )
        self._questions.append(question)
        content = audit.asked_content(question)
        self._record(Action.ASKED, actor_of(agent), question, content, agent=question.agent_name)
        question.revision = self._next()
        question.agent_active = question.is_attended = True
        question.last_seen_at = self._at
        question.waiting_until = self._at + timedelta(seconds=lifecycle.LEASE_SECONDS)
        return question

    def _leave(self, question: Question) -> None:
        """The agent stopped waiting."""
        question.revision = self._next()
        question.agent_active = question.is_attended = False
        question.waiting_until = self._at

    def _settle(self, question: Question, agent: AgentKey, service: str) -> None:
        (ending,) = self._random.choices(list(ENDINGS), list(ENDINGS.values()))
        is_left = ending == "answered" and self._random.random() < LEFT_SHARE
        if is_left:
            self._leave(question)
        question.revision = question.settled_position = self._next()
        question.settled_at = self._at
        question.is_attended = False
        if not is_left:
            # Open waits renew their lease until the question is settled.
            question.last_seen_at = self._at
            question.waiting_until = self._at + timedelta(seconds=lifecycle.LEASE_SECONDS)
        action, actor, given = self._end(question, ending, agent, service)
        question.status = STATUSES.get(action, Question.Status.DECLINED)
        if given:
            given.id = ids.id_at("a", self._at)
            given.question_id, given.room_id = question.pk, self.room.pk
            given.answered_at, given.position = self._at, question.settled_position
            self._answers.append(given)
        else:
            ended = lifecycle.ending_by(actor)
            ended.id = ids.id_at("x", self._at)
            ended.question_id, ended.room_id = question.pk, self.room.pk
            ended.ended_at, ended.position = self._at, question.settled_position
            self._endings.append(ended)
        via = {"via": str(given.via)} if given else {}
        content = audit.settled_content(question, question.status, given)
        self._record(action, actor, question, content, **via)
        if given and given.via == Answer.Via.TERMINAL:
            # The agent reported it, so it is delivered.
            question.delivered_at = self._at
        elif not is_left and action != Action.WITHDRAWN:
            question.revision = self._next()
            question.delivered_at = self._at

    def _end(
        self, question: Question, ending: str, agent: AgentKey, service: str
    ) -> tuple[Action, audit.Actor, Answer | None]:
        """The action and actor for the audit log, and the answer if there is one."""
        person = self._random.choice(self._people)
        by_person: dict[str, Any] = {"via": Answer.Via.WEB, **person._asdict()}
        match ending:
            case "answered":
                given = Answer(choices=self._choose(question, service), **by_person)
                return Action.ANSWERED, person.actor, given
            case "answered in the terminal":
                given = Answer(
                    choices=self._choose(question, service),
                    via=Answer.Via.TERMINAL,
                    through=agent.label,
                )
                return Action.ANSWERED, actor_of(agent), given
            case "skipped":
                reason = self._random.choice(texts.SKIP_REASONS)
                return Action.DECLINED, person.actor, Answer(reason=reason, **by_person)
            case "asked back":
                reason = about(service, self._random.choice(texts.REPLIES))
                return Action.ASKED_BACK, person.actor, Answer(reason=reason, asks_back=True, **by_person)
            case "expired":
                # The sweep settles it a little after its deadline.
                question.expires_at = question.asked_at + (self._at - question.asked_at) * 0.99
                default = question.default_choices
                by_default = None if default is None else Answer(via=Answer.Via.DEFAULT, choices=default)
                return Action.EXPIRED, audit.SYSTEM, by_default
            case _:
                return Action.WITHDRAWN, actor_of(agent), None

    def _choose(self, question: Question, service: str) -> list[dict[str, Any]]:
        """Random options for every prompt, sometimes a free text instead."""
        choices = []
        for prompt in question.prompts:
            labels = [option["label"] for option in prompt["options"]]
            most = len(labels) if prompt["multiSelect"] else 1
            selected = self._random.sample(labels, self._random.randint(1, most))
            own_words = ""
            if self._random.random() < 0.05:
                selected, own_words = [], about(service, self._random.choice(texts.OWN_WORDS))
            choices.append(
                {"question": prompt["question"], "selectedOptions": selected, "customInput": own_words}
            )
        return choices

    def _say(self, agent: AgentKey, service: str) -> None:
        position = self._next()
        kind, candidates = self._random.choices(
            [
                (Message.Kind.LOG, texts.LOGGED),
                (Message.Kind.MESSAGE, texts.SAID_BY_AGENTS),
                (Message.Kind.MESSAGE, texts.SAID_BY_PEOPLE),
            ],
            (50, 30, 20),
        )[0]
        sender: dict[str, Any] = {"key_id": agent.pk, "sender": agent.label}
        sender_type = Message.SenderType.AGENT
        if candidates is texts.SAID_BY_PEOPLE:
            person = self._random.choice(self._people)
            sender = {"user_id": person.user_id, "sender": person.person_name}
            sender_type = Message.SenderType.HUMAN
        message = Message(
            id=ids.id_at("m", self._at),
            room_id=self.room.pk,
            sender_type=sender_type,
            kind=kind,
            content=about(service, self._random.choice(candidates)),
            created_at=self._at,
            position=position,
            **sender,
        )
        self._messages.append(message)
