"""Identities of people: all names under which a person is stored, and those that replace them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from rooms import audit
from rooms.contract import ids
from rooms.lifecycle.actors import ALIAS_PREFIX
from rooms.models import Answer, AuditEntry, HistoryEntry, Message
from rooms.profiles import name_of

# Of the alias, after its prefix: 40 random bits.
ALIAS_CHARACTERS = 8


@dataclass(frozen=True)
class Identity:
    """All names of one person, and the ones that replace them."""

    # None if the account is deleted.
    user_id: Any
    usernames: frozenset[str]
    names: frozenset[str]
    # A user name that is unique and cannot be guessed: two anonymous voters stay two.
    alias: str
    shown: str

    def is_voter(self, vote: Mapping[str, Any]) -> bool:
        if self.user_id is None:
            return vote["username"] in self.usernames
        return bool(vote["user_id"] == str(self.user_id))

    def without_name(self, username: Any) -> Any:
        return self.alias if username in self.usernames else username


def identity_of(user: AbstractBaseUser, shown: str) -> Identity:
    """A person with an account; earlier user names included, unless another person has them now."""
    answers, members = Answer.objects.filter(user=user.pk), AuditEntry.objects.filter(subject=str(user.pk))
    former = {
        *answers.values_list("username", flat=True).distinct(),
        *members.filter(action__in=audit.MEMBER_ACTIONS).values_list("details__user", flat=True),
    }
    users = get_user_model()
    taken = users._default_manager.filter(**{f"{users.USERNAME_FIELD}__in": former - {None}})
    former -= {other.get_username() for other in taken if other.pk != user.pk}
    names = {
        name_of(user),
        *answers.values_list("person_name", flat=True).distinct(),
        *Message.objects.filter(user=user.pk).values_list("sender", flat=True).distinct(),
        *HistoryEntry.objects.filter(user=user.pk).values_list("person_name", flat=True).distinct(),
    }
    usernames = _texts({user.get_username(), *former})
    return Identity(user.pk, usernames, _texts(names), _new_alias(), shown)


def identity_without_account(username: str, shown: str) -> Identity:
    """A person whose account is deleted, by the user name that answers and audit entries still have."""
    answers = Answer.objects.filter(user=None, username=username)
    names = answers.values_list("person_name", flat=True).distinct()
    return Identity(None, frozenset({username}), _texts(names), _new_alias(), shown)


def _texts(values: Iterable[Any]) -> frozenset[str]:
    return frozenset(str(value) for value in values if value)


def _new_alias() -> str:
    return ALIAS_PREFIX + ids.new_nonce()[:ALIAS_CHARACTERS]
