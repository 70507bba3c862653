"""Anonymising a person: another name replaces theirs wherever this app stores it.

The audit log covers names with digests. So the entry of a change is redacted (`audit.redact`) in the
transaction that replaces the name in the rows it is about. It refers to an entry, one per room, that says
that a person was anonymised. What the person chose and wrote stays; that it was them cannot be read from it.
`rooms/privacy/people.py` runs these steps.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from rooms import audit
from rooms.audit import Action, Actor, actor_of
from rooms.db.transactions import alias, writing
from rooms.lifecycle.actors import Person
from rooms.lifecycle.delivering import memory_as_now
from rooms.lifecycle.identities import Identity
from rooms.lifecycle.revisions import announce, locked, next_revision
from rooms.models import (
    AgentKey,
    Answer,
    AuditEntry,
    Ending,
    Invitation,
    Membership,
    Message,
    Notice,
    NoticePreferences,
    NoticeRule,
    Preferences,
    Presence,
    PushSubscription,
    Question,
    Room,
    Webhook,
)

# Messages or audit entries per transaction: a few dozen milliseconds, for which a click may have to wait.
BATCH = 100

# Rows that only the person needs, and rows that stay without the person.
OWN: tuple[Any, ...] = (NoticePreferences, NoticeRule, PushSubscription, Preferences, Presence, Notice)
CREATED: tuple[Any, ...] = (AgentKey, Invitation, Webhook)


@dataclass
class Reasons:
    """The audit entries that say that this person was anonymised: one in the chain of each room concerned."""

    identity: Identity
    by: Person | None = None
    _known: dict[int | None, AuditEntry] = field(default_factory=dict)

    @property
    def actor(self) -> Actor:
        if self.by and self.by.pk == self.identity.user_id:
            return Actor(AuditEntry.ActorType.PERSON, self.identity.alias)
        return actor_of(self.by)

    def for_chain(self, chain: int | None) -> AuditEntry:
        if chain not in self._known:
            room = Room.objects.filter(pk=chain).first() if chain is not None else None
            named = {"actor_type": self.actor.type, "actor": self.actor.name, "subject": self.identity.alias}
            entry = audit.with_digest(
                AuditEntry(
                    room=room.slug if room else "",
                    chain=room.pk if room else None,
                    action=Action.PERSON_ANONYMISED,
                    **named,
                )
            )
            audit.record_all([entry])
            self._known[chain] = entry
        return self._known[chain]

    def count_redacted(self) -> int:
        """How many entries refer to these."""
        return AuditEntry.objects.filter(redacted_by__in=[entry.pk for entry in self._known.values()]).count()


# ---- rows of the person, and messages --------------------------------------------------------------------


def forget_settings(identity: Identity, by: Person | None, *, memberships: bool = True) -> None:
    """Delete what belongs to the person alone, and their memberships; keys and links that they made stay."""
    if identity.user_id is None:
        return
    with writing(), audit.acting_as(by):
        for model in OWN:
            model.objects.filter(user=identity.user_id).delete()
        for model in CREATED:
            model.objects.filter(created_by=identity.user_id).update(created_by=None)
        if memberships:
            for membership in Membership.objects.filter(user=identity.user_id).select_related("room", "user"):
                membership.delete()


def anonymise_messages(identity: Identity) -> int:
    """Their messages, with the other name; returns how many there were."""
    written = Q(user=identity.user_id)
    if identity.user_id is None:
        names = identity.names - {identity.shown}
        written = Q(user=None, sender__in=names, sender_type=Message.SenderType.HUMAN)
    count = 0
    while found := list(Message.objects.filter(written).values_list("pk", flat=True)[:BATCH]):
        with writing():
            count += Message.objects.filter(pk__in=found).update(user=None, sender=identity.shown)
    return count


def anonymise_rooms(identity: Identity, actor: Actor) -> list[Room]:
    """The rooms whose care names the person: their managers have to name another one."""
    changed = []
    for room in Room.objects.filter(care__isnull=False):
        if care_without(room.care, identity) == room.care:
            continue
        with writing():
            current = Room.objects.using(alias()).select_for_update().get(pk=room.pk)
            care = care_without(current.care, identity)
            if care != current.care:
                Room.objects.filter(pk=room.pk).update(care=care)
                audit.record(Action.ROOM_CHANGED, current, actor, care=care)
                changed.append(room)
    return changed


def care_without(care: Any, identity: Identity) -> Any:
    """The care of a question or room with the other user name."""
    if not isinstance(care, dict):
        return care
    first, votes = care.get("first"), care.get("votes")
    if first and first.get("people"):
        care = {**care, "first": {**first, "people": [*map(identity.without_name, first["people"])]}}
    if votes and votes.get("of"):
        care = {**care, "votes": {**votes, "of": [*map(identity.without_name, votes["of"])]}}
    return care


# ---- questions -------------------------------------------------------------------------------------------


def questions_naming(identity: Identity) -> dict[int, list[str]]:
    """The ids of all questions that name the person in answer, votes, care or end; by room."""
    given = Q(answer__user=identity.user_id)
    if identity.user_id is None:
        given = Q(answer__user=None, answer__username__in=identity.usernames)
    ended = _any_of(Q(ended__by__username=name) for name in identity.usernames)
    found = set(Question.objects.filter(given).order_by().values_list("room_id", "pk"))
    found |= set(Question.objects.filter(ended).order_by().values_list("room_id", "pk"))
    # JSON has no index: all questions with votes or care are read once.
    judged = Question.objects.filter(Q(votes__isnull=False) | Q(care__isnull=False)).order_by("pk")
    for room_id, pk, votes, care in judged.values_list("room_id", "pk", "votes", "care").iterator():
        if any(map(identity.is_voter, votes or ())) or care_without(care, identity) != care:
            found.add((room_id, pk))
    by_room: dict[int, list[str]] = defaultdict(list)
    for room_id, pk in sorted(found):
        by_room[room_id].append(pk)
    return by_room


def anonymise_questions(room_id: int, question_ids: Collection[str], reasons: Reasons) -> None:
    """Replace the name in these questions of a room and in their audit entries, in one transaction."""
    with writing():
        Room.objects.using(alias()).select_for_update().filter(pk=room_id).first()
        entries: dict[str, list[AuditEntry]] = defaultdict(list)
        for entry in AuditEntry.objects.filter(subject__in=question_ids).order_by("pk"):
            entries[entry.subject].append(entry)
        revision = next_revision(room_id)
        for question in Question.objects.with_answer().filter(pk__in=question_ids):
            _anonymise_question(question, entries[question.pk], reasons, revision)
        announce(room_id, revision)


def _anonymise_question(
    question: Question, entries: list[AuditEntry], reasons: Reasons, revision: int
) -> None:
    identity, answer = reasons.identity, question.answer_or_none
    before = _contents(question, entries)
    own_names = {vote["name"] for vote in question.votes or () if identity.is_voter(vote)}
    if answer and _is_theirs(answer, identity):
        answer.user_id, answer.username, answer.person_name = None, identity.alias, identity.shown
    if answer:
        answer.choices = [_notes_without(choice, own_names, identity.shown) for choice in answer.choices]
        answer.save(update_fields=["user", "username", "person_name", "choices"])
    question.votes = question.votes and [_vote_without(vote, identity) for vote in question.votes]
    question.care = care_without(question.care, identity)
    ended = question.ended
    if ended and ended["by"] and ended["by"]["username"] in identity.usernames:
        question.ended = {**ended, "by": {"username": identity.alias, "name": identity.shown}}
        Ending.objects.filter(question=question.pk).update(sender=identity.shown)
    question.revision = revision
    question.save(update_fields=["votes", "care", "ended", "revision"])
    after = _contents(question, entries)
    for entry in entries:
        fields = _fields_without_name(entry, identity)
        old, new = before.get(entry.pk, ""), after.get(entry.pk, "")
        # What does not match before is left as it is: `verify_audit` goes on reporting it.
        if old != new and audit.is_content(old, entry.content):
            fields["content"] = audit.content_digest(new)
        if fields:
            audit.redact(entry, reasons.for_chain(entry.chain), **fields)


def _is_theirs(answer: Answer, identity: Identity) -> bool:
    if identity.user_id is None:
        return answer.user_id is None and answer.username in identity.usernames
    return bool(answer.user_id == identity.user_id)


def _contents(question: Question, entries: list[AuditEntry]) -> dict[str, str]:
    """What the digests of the entries cover that describe the current state, by the id of the entry."""
    texts = {
        audit.last_about(entries, {Action.ASKED}): audit.asked_content(question),
        audit.last_about(entries, audit.TURNING): audit.voted_content(question),
    }
    if not question.is_open:
        settled = audit.settled_content(question, question.status, question.answer_or_none)
        texts[audit.last_about(entries, audit.SETTLING)] = settled
    return {entry.pk: text for entry, text in texts.items() if entry}


def _vote_without(vote: Any, identity: Identity) -> Any:
    if not identity.is_voter(vote):
        return vote
    # Not the id of the account either, which it may have again after a restore.
    return {**vote, "user_id": identity.alias, "username": identity.alias, "name": identity.shown}


def _notes_without(choice: dict[str, Any], names: Collection[str], shown: str) -> dict[str, Any]:
    """A choice of several voters has lines such as "Ana: as before" in its notes."""
    notes = choice.get("notes")
    if not notes:
        return choice
    for name in names:
        lines = notes.split("\n")
        notes = "\n".join(
            f"{shown}{line.removeprefix(name)}" if line.startswith(f"{name}: ") else line for line in lines
        )
    return {**choice, "notes": notes}


def anonymise_earlier_answers(identity: Identity) -> None:
    """What open cards show of earlier answers of this person, after those were anonymised."""
    for question in Question.objects.open().filter(memories__isnull=False).select_related("room"):
        shown = question.memories or []
        if not any(memory.get("person") in identity.names or memory.get("notes") for memory in shown):
            continue
        with locked(question) as current:
            # None once it is settled, or when the earlier questions were deleted.
            memories = current.memories or []
            earlier = {memory["question_id"] for memory in memories}
            now = Answer.objects.filter(question__in=earlier).in_bulk(field_name="question_id")
            left = [memory_as_now(memory, now.get(memory["question_id"])) for memory in memories]
            if left != memories:
                revision = next_revision(current.room_id)
                Question.objects.filter(pk=current.pk).update(memories=left, revision=revision)
                announce(current.room_id, revision, current.pk)


# ---- the audit log ---------------------------------------------------------------------------------------


def redact_entries(reasons: Reasons) -> None:
    """All entries that still name the person: as actor, as member, in details."""
    last = ""
    while chunk := list(_entries_naming(reasons.identity).filter(pk__gt=last).order_by("pk")[:BATCH]):
        with writing():
            # The rows of rooms are locked in the order of their ids, as everywhere.
            for chain in sorted({entry.chain for entry in chunk if entry.chain is not None}):
                Room.objects.using(alias()).select_for_update().filter(pk=chain).first()
            for entry in chunk:
                if fields := _fields_without_name(entry, reasons.identity):
                    audit.redact(entry, reasons.for_chain(entry.chain), **fields)
        last = chunk[-1].pk


def _entries_naming(identity: Identity) -> Any:
    conditions = [
        Q(actor_type=AuditEntry.ActorType.PERSON, actor__in=identity.usernames),
        Q(action=Action.ROOM_CHANGED, details__has_key="care"),
        *(Q(details__person=name) | Q(details__user=name) for name in identity.usernames),
    ]
    if identity.user_id is not None:
        conditions.append(Q(action__in=audit.MEMBER_ACTIONS, subject=str(identity.user_id)))
    return AuditEntry.objects.filter(_any_of(conditions))


def _fields_without_name(entry: AuditEntry, identity: Identity) -> dict[str, Any]:
    """The fields of the entry that change."""
    details = {name: _detail_without(name, value, identity) for name, value in entry.details.items()}
    is_about_them = entry.action in audit.MEMBER_ACTIONS and (
        (identity.user_id is not None and entry.subject == str(identity.user_id))
        or entry.details.get("user") in identity.usernames
    )
    is_by_them = entry.actor_type == AuditEntry.ActorType.PERSON and entry.actor in identity.usernames
    after = {
        "actor": identity.alias if is_by_them else entry.actor,
        "subject": identity.alias if is_about_them else entry.subject,
        "details": details,
    }
    return {name: value for name, value in after.items() if value != getattr(entry, name)}


def _detail_without(name: str, value: Any, identity: Identity) -> Any:
    match name:
        case "user" | "person":
            return identity.without_name(value)
        case "care":
            return care_without(value, identity)
        case _:
            return value


def _any_of(conditions: Iterable[Q]) -> Q:
    return reduce(or_, conditions)
