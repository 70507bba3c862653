"""Export of a person's data as JSON: all that this app stores about them and of what they did."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.backends import db
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.utils import timezone as django_timezone

from rooms import audit
from rooms.db import timezone
from rooms.lifecycle import name_of
from rooms.models import (
    AgentKey,
    Answer,
    AuditEntry,
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
    Webhook,
)
from rooms.privacy.usernames import named, periods_of
from rooms.signals import exporting_person

# For times: ISO 8601.
Encoder = DjangoJSONEncoder

Row = dict[str, Any]

NOTICE_COLUMNS = ("id", "kind", "channel", "question", "created_at", "sent_at", "failed_at", "last_error")


def data_of(user: AbstractBaseUser) -> Row:
    """Everything, as JSON-like values. Secrets of devices, keys, links and sessions are left out."""
    user_id: Any = user.pk
    created: Row = {"created_by": user_id}
    return {
        "exported_at": timezone.now(),
        "account": _account(user),
        "memberships": _rows(Membership.objects.filter(user=user_id), "room__slug", "role", "joined_at"),
        "answers": list(_answers(user_id)),
        "votes": list(_votes(user_id)),
        "closed_questions": _closed(user),
        "messages": _rows(
            Message.objects.filter(user=user_id).order_by("id"),
            *("id", "room__slug", "question", "sender", "content", "created_at"),
        ),
        "preferences": _preferences(user_id),
        "notification_preferences": _rows(
            NoticePreferences.objects.filter(user=user_id),
            *("push", "mail", "quiet_from", "quiet_to", "time_zone", "escalations_wait", "language"),
        ),
        "notification_rules": _rows(NoticeRule.objects.filter(user=user_id), "room__slug", "push", "mail"),
        "devices": _rows(
            PushSubscription.objects.filter(user=user_id),
            "label",
            "endpoint",
            "created_at",
            "last_success_at",
        ),
        "notifications": _rows(Notice.objects.filter(user=user_id).order_by("id"), *NOTICE_COLUMNS),
        "presence": _rows(Presence.objects.filter(user=user_id), "until"),
        "keys": _rows(AgentKey.objects.filter(**created), "room__slug", "label", "lookup", "created_at"),
        "invitations": _rows(Invitation.objects.filter(**created), "room__slug", "created_at", "ends_at"),
        "webhooks": _rows(Webhook.objects.filter(**created), "room__slug", "label", "kind", "created_at"),
        "sessions": list(_sessions(user)),
        "audit": _audit(user),
        **_of_other_apps(user),
    }


def _of_other_apps(user: AbstractBaseUser) -> Row:
    """What the receivers of the signal add."""
    added: Row = {}
    replies: Any = exporting_person.send(type(user), user=user)
    for _, data in replies:
        added |= data or {}
    return added


def _rows(rows: Any, *columns: str) -> list[Row]:
    """These columns; the one of a related row has the name of the relation."""
    return [{name.partition("__")[0]: value for name, value in row.items()} for row in rows.values(*columns)]


def _account(user: AbstractBaseUser) -> Row:
    email = getattr(user, user.get_email_field_name(), "")
    times = {name: getattr(user, name, None) for name in ("date_joined", "last_login")}
    return {"id": user.pk, "username": user.get_username(), "name": name_of(user), "email": email, **times}


def _answers(user_id: Any) -> Iterator[Row]:
    answers = Answer.objects.filter(user=user_id).select_related("question", "room").order_by("answered_at")
    for answer in answers.iterator():
        yield {
            **{"id": answer.pk, "question": answer.question_id, "room": answer.room.slug},
            **{"username": answer.username, "name": answer.person_name},
            **{"asked": [prompt["question"] for prompt in answer.question.prompts]},
            **{"choices": answer.choices, "reason": answer.reason, "asks_back": answer.asks_back},
            **{"via": answer.via, "through": answer.through, "at": answer.answered_at},
        }


def _votes(user_id: Any) -> Iterator[Row]:
    """Votes are JSON without an index: the questions with votes are read once."""
    voted = Question.objects.filter(votes__isnull=False).select_related("room").order_by("pk")
    for question in voted.only("votes", "prompts", "room__slug").iterator():
        asked = [prompt["question"] for prompt in question.prompts]
        for vote in question.votes or ():
            if vote["user_id"] == str(user_id):
                yield {"question": question.pk, "room": question.room.slug, "asked": asked, **vote}


def _closed(user: AbstractBaseUser) -> list[Row]:
    """Questions that they withdrew or closed."""
    by_them = named("ended__by__username", "settled_at", periods_of(user))
    return _rows(Question.objects.filter(by_them).order_by("pk"), "id", "room__slug", "ended", "settled_at")


def _preferences(user_id: Any) -> Row | None:
    found = Preferences.objects.filter(user=user_id).first()
    if found is None:
        return None
    names = ("always_submit", "one_tap", "keyboard", "notify", "theme", "undo_seconds")
    muted = found.muted_rooms.order_by("slug").values_list("slug", flat=True)
    return {**{name: getattr(found, name) for name in names}, "muted_rooms": list(muted)}


def _sessions(user: AbstractBaseUser) -> Iterator[Row]:
    """Sessions that are stored in the database: until when, and whether the password is still the same."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(store, db.SessionStore):
        return
    # A column of Django, not of ours: naive in a portal with USE_TZ = False.
    alive = store.get_model_class().objects.filter(expire_date__gt=django_timezone.now())
    for session in alive.iterator():
        data = session.get_decoded()
        if data.get(SESSION_KEY) == str(user.pk):
            is_valid = data.get(HASH_SESSION_KEY) == user.get_session_auth_hash()
            yield {"ends_at": session.expire_date, "is_valid": is_valid}


def _audit(user: AbstractBaseUser) -> list[Row]:
    """Entries by them and about them: by ids where there are any, else by their names at the time."""
    user_id: Any = user.pk
    periods = periods_of(user)
    own = Answer.objects.filter(user=user_id)
    others = Answer.objects.filter(username__in={each.name for each in periods}).exclude(user=user_id)
    about_them = Q(action__in=audit.MEMBER_ACTIONS, subject=str(user_id))
    answered = Q(action__in=audit.SETTLING, subject__in=own.values("question"))
    answered_by_others = Q(action__in=audit.SETTLING, subject__in=others.values("question"))
    by_them = Q(actor_type=AuditEntry.ActorType.PERSON) & named("actor", "at", periods)
    by_name = (by_them | named("details__person", "at", periods)) & ~answered_by_others
    entries = AuditEntry.objects.filter(about_them | answered | by_name).order_by("pk")
    return _rows(entries, "id", "at", "room", "action", "actor", "subject", "details")
