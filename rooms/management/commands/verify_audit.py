"""`python manage.py verify_audit`: whether the audit is complete and still says what was written."""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.db.models import QuerySet

from rooms.audit import Action, is_intact
from rooms.database import alias
from rooms.models import AgentKey, Answer, AuditEntry, Membership, Question

# Read at a time: few enough for any memory, many enough that the queries do not count.
CHUNK = 500
# A run that takes longer than this says how far it is.
PROGRESS_SECONDS = 5

SETTLING = {Action.ANSWERED, Action.DECLINED, Action.ASKED_BACK, Action.EXPIRED, Action.WITHDRAWN}
MEMBERS = {Action.MEMBER_ADDED, Action.MEMBER_CHANGED}

# What is wrong with one row, given its entries in the order in which they were written.
Check = Callable[[Any, list[AuditEntry], datetime | None], Iterator[str]]


class Command(BaseCommand):
    """One line for each finding, and exit code 1 if there is any."""

    help = (
        "Check that every audit entry is unchanged, that questions, keys and members have the entries that "
        "they should have, and that PostgreSQL still guards them. Changes nothing; may run at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py verify_audit && echo all is well"

    def handle(self, **options: Any) -> None:
        self._told_at = time.monotonic()
        found = 0
        for finding in self._findings():
            self.stdout.write(finding)
            found += 1
        if found:
            raise CommandError(f"The audit has {found} finding{'s' if found > 1 else ''}.")
        self.stdout.write(f"All is well: {AuditEntry.objects.count()} entries.")

    def _findings(self) -> Iterator[str]:
        yield from missing_guard()
        for chunk in self._chunks("entries", AuditEntry.objects.all()):
            for entry in chunk:
                if not is_intact(entry):
                    yield f"Entry {entry.pk} ({entry.action} {entry.subject}) is not as it was written."
        began = beginning()
        for name, rows, subject, check in (
            ("questions", Question.objects.select_related("answer"), "pk", check_question),
            ("keys", AgentKey.objects.all(), "lookup", check_key),
            ("memberships", Membership.objects.select_related("room", "user"), "user_id", check_member),
        ):
            for chunk in self._chunks(name, rows):
                suspects = [row.pk for row, wrong in looked_at(chunk, subject, check, began) if wrong]
                # A row may change between the reads of it and of its entries: what is wrong stays wrong.
                again = list(rows.filter(pk__in=suspects).order_by("pk")) if suspects else []
                for _, wrong in looked_at(again, subject, check, began):
                    yield from wrong

    def _chunks(self, name: str, rows: QuerySet[Any]) -> Iterator[list[Any]]:
        """All rows in the order of their ids, a few at a time."""
        rows, count = rows.order_by("pk"), 0
        chunk = list(rows[:CHUNK])
        while chunk:
            yield chunk
            count += len(chunk)
            if time.monotonic() - self._told_at >= PROGRESS_SECONDS:
                self.stderr.write(f"{count} {name} checked …")
                self._told_at = time.monotonic()
            chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:CHUNK])


def beginning() -> datetime | None:
    """What is older has no entries: the site was in use before there was an audit."""
    first = AuditEntry.objects.filter(action=Action.AUDIT_BEGAN).first()
    return first.at if first and is_intact(first) else None


def looked_at(
    rows: list[Any], subject: str, check: Check, began: datetime | None
) -> Iterator[tuple[Any, list[str]]]:
    subjects = {str(getattr(row, subject)) for row in rows}
    entries = defaultdict(list)
    for entry in AuditEntry.objects.filter(subject__in=subjects).order_by("pk"):
        entries[entry.subject].append(entry)
    for row in rows:
        yield row, list(check(row, entries[str(getattr(row, subject))], began))


# ---- what should be there --------------------------------------------------------------------------------


def check_question(question: Question, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    asked = [entry for entry in entries if entry.action == Action.ASKED]
    if len(asked) != 1 and (asked or not is_older(question.asked_at, began)):
        yield f"Question {question.pk} has {len(asked)} entries that it was asked, not 1."
    said = [(entry.action, entry.actor) for entry in entries if entry.action in SETTLING]
    if not said and is_older(question.settled_at, began):
        return
    answer = question.answer_or_none
    if answer is None or answer.via != Answer.Via.WEB:
        # Nobody's name is with the question then, so that of an agent's key or an admin may be anything.
        said = [(action, "") for action, _ in said]
    expected = [] if question.is_open else [outcome(question, answer)]
    if said != expected:
        state, entry = in_words(expected) or "open", in_words(said) or "nothing"
        yield f"Question {question.pk} is {state}; its entries say: {entry}."


def outcome(question: Question, answer: Answer | None) -> tuple[str, str]:
    """The action that led to the question's status, and whose it was."""
    action = Action.ASKED_BACK if answer and answer.asks_back else question.status
    return action, answer.username if answer and answer.via == Answer.Via.WEB else ""


def in_words(settled: list[tuple[str, str]]) -> str:
    return ", ".join(f"{action} by {name}" if name else action for action, name in settled)


def check_key(key: AgentKey, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    for action, at in ((Action.KEY_CREATED, key.created_at), (Action.KEY_REVOKED, key.revoked_at)):
        found = sum(entry.action == action for entry in entries)
        if found != (at is not None) and (found or not is_older(at, began)):
            yield f"Key abk_{key.lookup}_… has {found} entries {action}, not {int(at is not None)}."


def check_member(membership: Membership, entries: list[AuditEntry], began: datetime | None) -> Iterator[str]:
    said = [
        entry.details.get("role")
        for entry in entries
        if entry.action in MEMBERS and entry.details.get("membership") == membership.pk
    ]
    if said[-1:] != [membership.role] and (said or not is_older(membership.joined_at, began)):
        user, last = membership.user.get_username(), said[-1] if said else "nothing"
        yield f"{user} is {membership.role} of {membership.room.slug}; the last entry says: {last}."


def is_older(at: datetime | None, began: datetime | None) -> bool:
    return at is not None and began is not None and at < began


def missing_guard() -> Iterator[str]:
    """On PostgreSQL a trigger keeps everybody from changing entries, unless somebody took it away."""
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
