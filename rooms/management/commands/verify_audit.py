"""`python manage.py verify_audit`: check that the audit log is complete and unchanged."""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.db.models import QuerySet

from rooms import audit
from rooms.audit import Action, is_intact
from rooms.db.transactions import alias
from rooms.models import AgentKey, Answer, AuditEntry, GroupMembership, Membership, Question, Room

# Rows per query: few enough for any memory, many enough that the number of queries does not matter.
CHUNK = 500
# Time between two progress messages.
PROGRESS_SECONDS = 5

CHAIN_FIELDS = ("room", "action", "subject", "digest", "previous")
MEMBERS = {Action.MEMBER_ADDED, Action.MEMBER_CHANGED}
DELETING = {Action.QUESTION_DELETED, Action.OLD_REMOVED}

# Yields the findings of one row, given its entries in the order in which they were written.
Check = Callable[[Any, list[AuditEntry], datetime | None], Iterator[str]]


class Command(BaseCommand):
    """One line for each finding, and exit code 1 if there is any."""

    help = (
        "Check that every audit entry is unchanged and none is missing, that questions, answers, keys and "
        "members are as their entries say, and that PostgreSQL still protects the entries. Changes nothing; "
        "can run at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py verify_audit && echo all is well"

    def handle(self, **options: Any) -> None:
        self._reported_at = time.monotonic()
        found = 0
        for finding in self._findings():
            self.stdout.write(finding)
            found += 1
        if found:
            raise CommandError(f"The audit has {found} finding{'s' if found > 1 else ''}.")
        if since := covered_since():
            self.stdout.write(f"What was asked and answered is covered since {since:%Y-%m-%d %H:%M} UTC.")
        self.stdout.write(f"All is well: {AuditEntry.objects.count()} entries.")

    def _findings(self) -> Iterator[str]:
        yield from missing_guard()
        chains, missing = Chains(), MissingQuestions()
        for chunk in self._chunks("entries", AuditEntry.objects.all()):
            for entry in chunk:
                if not is_intact(entry):
                    yield f"Entry {entry.pk} ({entry.action} {entry.subject}) is not as it was written."
                chains.add(entry)
            missing.add(chunk)
            yield from unexplained_redactions(chunk)
        yield from missing.findings()
        for chain in chains.broken():
            yield from check_chain(chain)
        began = beginning()
        for name, rows, subject, check in (
            ("questions", Question.objects.select_related("answer"), "pk", check_question),
            ("keys", AgentKey.objects.all(), "lookup", check_key),
            ("memberships", Membership.objects.select_related("room", "user"), "user_id", check_member),
            ("groups", GroupMembership.objects.select_related("room", "group"), "audit_subject", check_group),
        ):
            for chunk in self._chunks(name, rows):
                suspects = [row.pk for row, wrong in findings_of(chunk, subject, check, began) if wrong]
                # A row may change between the reads of it and of its entries: check again before reporting.
                again = list(rows.filter(pk__in=suspects).order_by("pk")) if suspects else []
                for _, wrong in findings_of(again, subject, check, began):
                    yield from wrong

    def _chunks(self, name: str, rows: QuerySet[Any]) -> Iterator[list[Any]]:
        """All rows in the order of their ids, a few at a time."""
        rows, count = rows.order_by("pk"), 0
        chunk = list(rows[:CHUNK])
        while chunk:
            yield chunk
            count += len(chunk)
            if time.monotonic() - self._reported_at >= PROGRESS_SECONDS:
                self.stderr.write(f"{count} {name} checked …")
                self._reported_at = time.monotonic()
            chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:CHUNK])


def beginning() -> datetime | None:
    """When the audit log began: older rows have no entries."""
    first = AuditEntry.objects.filter(action=Action.AUDIT_BEGAN).first()
    return first.at if first and is_intact(first) else None


def findings_of(
    rows: list[Any], subject: str, check: Check, began: datetime | None
) -> Iterator[tuple[Any, list[str]]]:
    subjects = {str(getattr(row, subject)) for row in rows}
    entries = defaultdict(list)
    for entry in AuditEntry.objects.filter(subject__in=subjects).order_by("pk"):
        entries[entry.subject].append(entry)
    for row in rows:
        yield row, list(check(row, entries[str(getattr(row, subject))], began))


# ---- expected entries of each row ------------------------------------------------------------------------


def check_question(question: Question, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    asked = [entry for entry in entries if entry.action == Action.ASKED]
    if len(asked) != 1 and (asked or not is_older(question.asked_at, began)):
        yield f"Question {question.pk} has {len(asked)} entries that it was asked, not 1."
    recorded = [(entry.action, entry.actor) for entry in entries if entry.action in audit.SETTLING]
    if not recorded and is_older(question.settled_at, began):
        return
    answer = question.answer_or_none
    if answer is None or answer.via != Answer.Via.WEB:
        # The question then has no user name to compare with: the actor may be any agent key or admin.
        recorded = [(action, "") for action, _ in recorded]
    expected = [] if question.is_open else [outcome(question, answer)]
    if recorded != expected:
        state, entry = in_words(expected) or "open", in_words(recorded) or "nothing"
        yield f"Question {question.pk} is {state}; its entries say: {entry}."
    else:
        yield from check_content(question, entries)


def check_content(question: Question, entries: list[AuditEntry]) -> Iterator[str]:
    """Compare the rows with the digests of their entries; entries from older versions have no digest."""

    def differs(entry: AuditEntry | None, content: str) -> bool:
        # A changed entry is reported separately, and proves nothing about the question.
        return entry is not None and not audit.is_content(content, entry.content) and is_intact(entry)

    asked, voted, settled = (
        audit.last_about(entries, actions) for actions in ({Action.ASKED}, audit.TURNING, audit.SETTLING)
    )
    if differs(asked, audit.asked_content(question)):
        yield f"Question {question.pk} is not as it was asked."
    if differs(voted, audit.voted_content(question)):
        yield f"The votes of question {question.pk} are not as they were cast."
    elif asked and not voted and question.votes:
        yield f"Question {question.pk} has votes; its entries say nothing of any."
    if differs(settled, audit.settled_content(question, question.status, question.answer_or_none)):
        yield f"The answer to question {question.pk} is not as it was given."


def outcome(question: Question, answer: Answer | None) -> tuple[str, str]:
    """The action that led to the status of the question, and the user name of its actor."""
    action = Action.ASKED_BACK if answer and answer.asks_back else question.status
    return action, answer.username if answer and answer.via == Answer.Via.WEB else ""


def in_words(settled: list[tuple[str, str]]) -> str:
    return ", ".join(f"{action} by {name}" if name else action for action, name in settled)


def check_key(key: AgentKey, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    for action, at in ((Action.KEY_CREATED, key.created_at), (Action.KEY_REVOKED, key.revoked_at)):
        found = sum(entry.action == action for entry in entries)
        if found != (at is not None) and (found or not is_older(at, began)):
            yield f"Key abk_{key.lookup}_… has {found} entries {action}, not {int(at is not None)}."
    for entry in entries:
        scopes = entry.details.get("scopes") if entry.action == Action.KEY_CREATED else None
        if scopes is not None and scopes != key.scopes:
            now, then = ", ".join(key.scopes), ", ".join(scopes)
            yield f"Key abk_{key.lookup}_… may {now}; it was made to {then}."


def check_member(membership: Membership, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    roles = roles_in(entries, "membership", membership.pk)
    if roles[-1:] != [membership.role] and (roles or not is_older(membership.joined_at, began)):
        yield from wrong_role(membership.user.get_username(), membership, roles)


def check_group(
    membership: GroupMembership, entries: list[AuditEntry], began: datetime | None
) -> Iterator[str]:
    roles = roles_in(entries, "group_membership", membership.pk)
    if roles[-1:] != [membership.role]:
        yield from wrong_role(f"The group {membership.group}", membership, roles)


def roles_in(entries: list[AuditEntry], name: str, pk: int) -> list[Any]:
    """The roles that this membership was given, in order."""
    given = [entry.details for entry in entries if entry.action in MEMBERS]
    return [details.get("role") for details in given if details.get(name) == pk]


def wrong_role(who: str, membership: Membership | GroupMembership, roles: list[Any]) -> Iterator[str]:
    last = roles[-1] if roles else "nothing"
    yield f"{who} is {membership.role} of {membership.room.slug}; the last entry says: {last}."


def is_older(at: datetime | None, began: datetime | None) -> bool:
    return at is not None and began is not None and at < began


class MissingQuestions:
    """Finds questions that are missing, although no entry says that they or their room were deleted.

    Entries come in the order of their ids. So only the questions between an ask and the removal of it are in
    memory, however many were removed over the years.
    """

    def __init__(self) -> None:
        # The entry of each question's ask, as long as no later entry explains why the question is missing.
        self._asked: dict[str, AuditEntry] = {}

    def add(self, entries: list[AuditEntry]) -> None:
        asked = {entry.subject: entry for entry in entries if entry.action == Action.ASKED and entry.content}
        existing = Question.objects.filter(pk__in=asked).values_list("pk", flat=True)
        for pk in set(asked).difference(existing):
            self._asked[pk] = asked[pk]
        for entry in entries:
            self._explain(entry)

    def _explain(self, entry: AuditEntry) -> None:
        if entry.action in DELETING and is_intact(entry):
            for pk in deleted_questions(entry):
                self._asked.pop(pk, None)

    def findings(self) -> Iterator[str]:
        if not self._asked:
            return
        # Clocks of several machines differ: the entry of a deletion may come before that of the ask.
        chains = {entry.chain for entry in self._asked.values() if entry.chain is not None}
        for entry in AuditEntry.objects.filter(chain__in=chains, action__in=DELETING).iterator(CHUNK):
            self._explain(entry)
        rooms = set(Room.objects.filter(pk__in=chains).values_list("pk", flat=True))
        for pk, entry in sorted(self._asked.items()):
            if entry.chain in rooms:
                yield f"Question {pk} of room {entry.room} is missing; no entry says that it was deleted."


def deleted_questions(entry: AuditEntry) -> list[str]:
    """The ids of the questions that this entry says were deleted."""
    return entry.details["questions"] if entry.action == Action.OLD_REMOVED else [entry.subject]


def unexplained_redactions(entries: list[AuditEntry]) -> Iterator[str]:
    """Entries without their names, although no entry says that the person was anonymised."""
    redacted = [entry for entry in entries if entry.redacted_by]
    if not redacted:
        return
    reasons = AuditEntry.objects.filter(
        pk__in={entry.redacted_by for entry in redacted}, action=Action.PERSON_ANONYMISED
    )
    known = {entry.pk for entry in reasons if is_intact(entry)}
    for entry in redacted:
        if entry.redacted_by not in known:
            yield f"Entry {entry.pk} ({entry.action} {entry.subject}) lost its names; no entry says why."


def covered_since() -> datetime | None:
    """When the first entry with digests of content was written, if there are older ones."""
    if not AuditEntry.objects.filter(chain=None).exclude(room="").exists():
        return None
    first = AuditEntry.objects.exclude(chain=None).first()
    return first.at.astimezone(UTC) if first else None


# ---- the chain of each room ------------------------------------------------------------------------------


class Chains:
    """Follows the hash chains of all rooms at the same time, in any order of their entries.

    Ids follow the clocks of several machines, so a few entries may come before their predecessor.
    """

    def __init__(self) -> None:
        # Read first: entries that are written during the check come after these heads.
        self._heads = dict(Room.objects.exclude(audit_head="").values_list("pk", "audit_head"))
        self._last: dict[int, str] = {}
        self._early: dict[int, dict[str, str]] = defaultdict(dict)

    def add(self, entry: AuditEntry) -> None:
        if entry.chain is None:
            return
        early = self._early[entry.chain]
        early[entry.previous] = entry.digest
        last = self._last.get(entry.chain, "")
        while last in early:
            last = early.pop(last)
            if last == self._heads.get(entry.chain):
                del self._heads[entry.chain]
        self._last[entry.chain] = last

    def broken(self) -> list[int]:
        """Chains that do not lead from their first entry to their head, or have entries beside that path."""
        return sorted({*self._heads, *(chain for chain, early in self._early.items() if early)})


def check_chain(chain: int) -> Iterator[str]:
    """Check one chain again, alone: entries that were being written during the first pass are complete."""
    # Read the head first: then all entries that lead to it are found.
    room = Room.objects.filter(pk=chain).first()
    entries = list(AuditEntry.objects.filter(chain=chain).only(*CHAIN_FIELDS))
    digests = {"", *(entry.digest for entry in entries)}
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.previous not in digests:
            yield f"The entry before {entry.pk} ({entry.action} {entry.subject}) in {entry.room} is missing."
        elif entry.previous in seen:
            yield f"The entries {seen[entry.previous]} and {entry.pk} in {entry.room} follow the same one."
        seen[entry.previous] = entry.pk
    if room and room.audit_head not in digests:
        yield f"The last entry of {room.slug} is missing."


def missing_guard() -> Iterator[str]:
    """Report if the trigger that prevents changes of entries on PostgreSQL was removed."""
    connection = connections[alias()]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_trigger"
            " WHERE tgrelid = %s::regclass AND tgname = %s AND tgenabled IN ('O', 'A')",
            [AuditEntry._meta.db_table, "ask_bridge_append_only"],
        )
        if not cursor.fetchone():
            yield "The trigger ask_bridge_append_only is missing or disabled: entries can be changed."
