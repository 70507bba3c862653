"""The user names of a person, each with the time at which it was theirs.

Audit entries and ends of questions have names without ids, because they outlive accounts. The same name may
have been a deleted person's before, and may be another person's since this one was renamed.
"""

from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q

from rooms import audit
from rooms.db import timezone
from rooms.models import Answer, AuditEntry


class Period(NamedTuple):
    name: str
    since: datetime | None
    until: datetime | None = None


def periods_of(user: AbstractBaseUser) -> list[Period]:
    """Their user name since the account exists, and earlier ones that are stored with its id."""
    name, joined = str(user.get_username()), _joined(user)
    last: dict[str, datetime] = {}
    for used, at in _stored(Q(user=user.pk), Q(subject=str(user.pk))):
        last[used] = max(at, last.get(used, at))
    last.pop(name, None)
    starts = [at for at in (joined, *last.values()) if at]
    earlier = [Period(used, joined, _end(user, used, at)) for used, at in last.items()]
    return [*earlier, Period(name, max(starts, default=None))]


def named(field: str, time: str, periods: list[Period]) -> Q:
    """The field has one of the names, at a time when it was theirs."""
    found = Q()
    for name, since, until in periods:
        bounds = {f"{time}__gte": since, f"{time}__lt": until}
        found |= Q(**{field: name}, **{bound: at for bound, at in bounds.items() if at})
    return found


def _end(user: AbstractBaseUser, name: str, last: datetime) -> datetime | None:
    """When another person first had a name that this person had at the time `last`."""
    others = _stored(
        Q(username=name, answered_at__gt=last) & ~Q(user=user.pk),
        Q(details__user=name, at__gt=last) & ~Q(subject=str(user.pk)),
    )
    users = get_user_model()
    holders = users._default_manager.filter(**{users.USERNAME_FIELD: name}).exclude(pk=user.pk)
    starts = [_joined(holder) or last for holder in holders]
    return min([*(at for _, at in others), *starts], default=None)


def _stored(answers: Q, members: Q) -> list[tuple[str, datetime]]:
    """User names that are stored with the id of their person, with the times."""
    entries = AuditEntry.objects.filter(members, action__in=audit.MEMBER_ACTIONS)
    found = [
        *Answer.objects.filter(answers).values_list("username", "answered_at"),
        *entries.values_list("details__user", "at"),
    ]
    return [(str(name), at) for name, at in found if name]


def _joined(user: Any) -> datetime | None:
    """When the account began, if the user model knows that."""
    joined = getattr(user, "date_joined", None)
    if not isinstance(joined, datetime):
        return None
    if joined.tzinfo is None:  # of a portal without USE_TZ
        return timezone.make_aware(joined, timezone.get_default_timezone())
    return joined
