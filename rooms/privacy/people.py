"""Anonymising of people: in all rooms, step by step, each step in transactions of its own.

A portal calls `anonymise` before it deletes an account, or sets DELETED_PEOPLE to "anonymous": then every
deletion of an account does it, in whatever way it is deleted.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.utils.translation import gettext, override

from rooms import lifecycle
from rooms.conf import setting
from rooms.db.interpreter import yield_to_clicks
from rooms.db.transactions import alias, writing
from rooms.history import erasing, writer
from rooms.lifecycle import Identity, Person, Reasons
from rooms.models import Room

# Questions per transaction: each takes several statements, and a click may have to wait for the transaction.
BATCH = 25
# A reader that has read a question just before may write the old name just after: look again.
PASSES = 3


class UnknownPerson(LookupError):
    """No account and no stored answer has this user name."""


@dataclass(frozen=True)
class Report:
    """What was found, to be printed."""

    alias: str
    questions: int
    messages: int
    entries: int
    # Their care named the person: a manager has to name another one.
    rooms: list[Room]


def anonymise(user: AbstractBaseUser, by: Person | None = None) -> Report:
    """Replace the name of this person everywhere, and end their memberships. The account itself stays."""
    report = _anonymise(Reasons(lifecycle.identity_of(user, anonymous_name()), by))
    # Not within the deletion of an account: there it would be part of its transaction.
    erasing.erase()
    return report


def anonymise_username(username: str, by: Person | None = None) -> Report:
    """The same by user name, also of a person whose account was deleted before."""
    users: Any = get_user_model()
    try:
        return anonymise(users._default_manager.get_by_natural_key(username), by)
    except users.DoesNotExist:
        identity = lifecycle.identity_without_account(username, anonymous_name())
    report = _anonymise(Reasons(identity, by))
    if not (report.questions or report.messages or report.entries):
        raise UnknownPerson(username)
    erasing.erase()
    return report


def anonymous_name() -> str:
    """The name that pages show instead, in the language of the site."""
    with override(settings.LANGUAGE_CODE):
        return gettext("Anonymous")


def _anonymise(reasons: Reasons, *, memberships: bool = True) -> Report:
    identity = reasons.identity
    lifecycle.forget_settings(identity, reasons.by, memberships=memberships)
    messages = lifecycle.anonymise_messages(identity)
    questions = 0
    for _ in range(PASSES):
        by_room = lifecycle.questions_naming(identity)
        if not by_room:
            break
        for room_id, question_ids in by_room.items():
            questions += len(question_ids)
            for start in range(0, len(question_ids), BATCH):
                _anonymise_questions(room_id, question_ids[start : start + BATCH], reasons)
    lifecycle.anonymise_earlier_answers(identity)
    rooms = lifecycle.anonymise_rooms(identity, reasons.actor)
    lifecycle.redact_entries(reasons)
    forget_in_admin_log(identity)
    return Report(identity.alias, questions, messages, reasons.count_redacted(), rooms)


def _anonymise_questions(room_id: int, question_ids: list[str], reasons: Reasons) -> None:
    with writing():
        lifecycle.anonymise_questions(room_id, question_ids, reasons)
        writer.rewrite(question_ids)
    # An account is deleted in one transaction: there the pause would only prolong its locks.
    if not connections[alias()].in_atomic_block:
        yield_to_clicks()


# ---- deleted accounts ------------------------------------------------------------------------------------


def before_deletion(instance: Any, **signal: Any) -> None:
    """Receiver of `pre_delete` of the user model. The memberships are deleted with the account."""
    if setting("DELETED_PEOPLE") == "anonymous":
        reasons = Reasons(lifecycle.identity_of(instance, anonymous_name()))
        _anonymise(reasons, memberships=False)
        instance._ask_bridge_anonymised = reasons


def after_deletion(instance: Any, **signal: Any) -> None:
    """Receiver of `post_delete`: the ends of the memberships were written to the audit log meanwhile."""
    reasons = getattr(instance, "_ask_bridge_anonymised", None)
    if reasons:
        lifecycle.redact_entries(reasons)
        forget_in_admin_log(reasons.identity)


# ---- the log of Django's admin ---------------------------------------------------------------------------


def forget_in_admin_log(identity: Identity) -> None:
    """Entries about the account, and about rows of this app that are named after the person."""
    if not apps.is_installed("django.contrib.admin"):
        return
    from django.contrib.admin.models import LogEntry

    names = identity.usernames | identity.names
    if identity.user_id is not None:
        user_type = ContentType.objects.get_for_model(get_user_model(), for_concrete_model=False)
        about = LogEntry.objects.filter(content_type=user_type, object_id=str(identity.user_id))
        about.update(object_repr=identity.alias)
    for entry in LogEntry.objects.filter(content_type__app_label="ask_bridge").iterator():
        text, message = entry.object_repr, entry.change_message
        if _names_one(text, names):
            text = identity.alias
        if _names_one(message, names) or _names_one(message, _escaped(names)):
            message = _message_without(message, names, identity.alias)
        if (text, message) != (entry.object_repr, entry.change_message):
            LogEntry.objects.filter(pk=entry.pk).update(object_repr=text, change_message=message)


def _names_one(text: str, names: frozenset[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def _escaped(names: frozenset[str]) -> frozenset[str]:
    return frozenset(json.dumps(name)[1:-1] for name in names)


def _message_without(message: str, names: frozenset[str], alias: str) -> str:
    """Django stores a list of changes as JSON; the row of a table inside the form is its `object`."""
    try:
        changes = json.loads(message)
    except ValueError:
        return alias
    for change in changes if isinstance(changes, list) else ():
        for told in change.values():
            if isinstance(told, dict) and _names_one(str(told.get("object", "")), names):
                told["object"] = alias
    return json.dumps(changes)
